package schema

import "errors"

var (
	// ErrNotMigrated means that the database lacks something this program needs: run "reprise migrate".
	ErrNotMigrated = errors.New(`the database is not migrated: run "reprise migrate"`)

	// ErrNewer means that the database was migrated by a newer program: use that one. Nothing is done to
	// the database.
	ErrNewer = errors.New("the database belongs to a newer version of reprise: upgrade this one")

	// ErrDuplicateVersions means that the archive to adopt has two events for one version of an order, so
	// that "the newest version wins" has no answer. The error around it names some; settle them first.
	ErrDuplicateVersions = errors.New("the archive has more than one event for the same version of an order")

	// ErrForeignTable means that a table which Reprise would adopt is not the one it knows. The error
	// around it says what differs.
	ErrForeignTable = errors.New("a table of that name exists and is another one")

	// ErrURL means that the database URL cannot be used as it is. The error around it says why, without
	// repeating the URL: it may hold a password.
	ErrURL = errors.New("unusable database URL")

	// ErrUnverifiedTLS means that the connection would go over a network without proof of who answers.
	ErrUnverifiedTLS = errors.New("unverified connection to another host: " +
		"add sslmode=verify-full (and sslrootcert=FILE) to the database URL, " +
		"or name the exception there (sslmode=require, prefer or disable)")
)
