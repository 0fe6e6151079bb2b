// Package store is the embedded store: one SQLite file as the only truth, and what is derived from it.
//
// # What lies in the folder
//
//	exhibit.db            documents, chunks, history, tombstones, failures, vectors: everything that counts (SQLite, WAL)
//	exhibit.db-wal, -shm  SQLite's own, present while the store is open or after a crash
//	exhibit.lock          who writes; the lock itself is the operating system's, so it ends with its process
//	derived/              postings, vectors and keys of one collection at one sequence number; may be deleted at any time
//
// # Who may do what
//
// Any number of processes read, one writes. A [Writer] holds the lock for a whole sync; SQLite's write transaction lasts
// only while one batch of documents is replaced, so nothing is locked while texts are read or embedded.
// A [Snapshot] is one revision: a SQLite read transaction, the derived file, and in memory what changed since that file was written.
//
// # Sequence numbers
//
// Each write transaction raises its collection's sequence number by one. A chunk row never changes what is indexed of it (its text,
// its context, the hash of its embedder's input): where one of these changes the row goes, its id is noted in table dead, and a new row comes.
// So a reader that knows the state at one sequence number reaches a later one by asking for three lists: rows newer than it,
// ids that died since, rows whose vector arrived since. Ids rise, so ordinals of a segment ascend by id.
//
// # Trust
//
// Derived files are never trusted further than their header: store, collection, sequence number, accumulator, analyser, model, dimension
// must all be those of the transaction that reads, or the file is ignored and its content is made again in memory from the rows.
//
// Everything here speaks strings, bytes and numbers; the package knows nothing of the evidence that is made of them.
package store
