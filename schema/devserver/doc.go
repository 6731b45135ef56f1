// Package devserver runs a PostgreSQL server of one's own, from binaries that are already installed: the
// server behind "reprise up" and "reprise down", and the one that the tests use.
//
//	srv, err := devserver.New(devserver.Options{})
//	err = srv.Start(ctx)                        // creates it, starts it, or attaches to it
//	err = srv.CreateDatabase(ctx, "reprise")
//	pool, err := schema.Open(ctx, srv.URL("reprise"), schema.Options{})
//
// The server outlives the process that started it; [Server.Stop] ends it and keeps its data. It is reached
// through a unix socket in a directory that only its owner can enter, so it needs no password and takes no
// port. TCP on loopback is an option ([Options.TCP]), with a password, because a port is open to every user
// of the machine.
//
// PostgreSQL refuses to run as root: started by root, the server runs as the user postgres or nobody.
//
// It is for development and tests. It takes no backups and it is not tuned; production brings its own URL.
package devserver
