// Package importer brings archives of events into evento_arquivado.
//
//	report, err := importer.Import(ctx, pool, importer.Options{Files: []string{"day.ndjson.gz"}})
//
// It promises that
//   - nothing is overwritten and nothing is changed on the way: an event that cannot be stored as it is, or that
//     contradicts the archive, is rejected with its line and the reason, and the rest is imported;
//   - importing a file again changes nothing, also after a crash in the middle of it: an event that the archive
//     holds already, with the same content, is skipped;
//   - memory does not grow with the file, except in the formats whose positions have to be derived.
//
// It reads no network and executes nothing that a file or a mapping says.
package importer
