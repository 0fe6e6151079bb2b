// Package exhibit answers a question over a knowledge base with evidence: chunks of documents, each with a stable
// identity, the exact span where it stands in its source, and an account of every candidate that was left out.
//
// # Where to begin
//
// A program that wants the whole product, offline, uses the package local, which opens a store, syncs a folder with
// the built-in encoder and looks questions up. A program that already has a search of its own implements
// [KnowledgeSearchPort] and puts [Retriever] over it: identity, fusion, deduplication, the cap per document, the
// ledger and the projection are then the same, over hits that Exhibit did not store.
//
// # What a lookup is
//
//	query → recall (one or more legs) → identify → fuse by key → [rerank] → deduplicate
//	      → cap per document → return-n → project
//
// Every hit that a leg returns becomes part of a candidate, and every candidate ends in exactly one state: returned,
// or dropped for one [Reason]. [Ledger] holds that account, and [Ledger.Check] proves that it adds up.
//
// # What the package does not do
//
// It reads no files, no flags and no environment, keeps no default path, opens no socket and starts nothing at
// import. Parsers, encoders, stores and servers are packages of their own that import this one.
package exhibit
