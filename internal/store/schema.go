package store

// Format is the number of the store format that this program writes. It stands in the file as PRAGMA user_version.
const Format = 1

// applicationID marks a SQLite file as a store of this program ("Exhb").
const applicationID = 0x45786862

// pageSize holds five vectors of 384 numbers with little waste; SQLite's 4096 would hold two.
const pageSize = 8192

// schema makes every table of format 1. docs/decisions/0003-store-format.md says what each is for and what was rejected.
//
// Times are Unix microseconds, hashes are 32-byte blobs, seq is the collection's sequence number at which a row came.
const schema = `
CREATE TABLE meta(
  key   TEXT PRIMARY KEY,
  value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE collections(
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  name      TEXT NOT NULL UNIQUE,
  chunker   TEXT NOT NULL,
  analyser  TEXT NOT NULL,
  model     TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  seq       INTEGER NOT NULL,  -- raised by every write transaction that touches the collection
  acc       BLOB NOT NULL,     -- sum of the digests of its current documents, mod 2^256
  base_seq  INTEGER NOT NULL,  -- the derived file written last is of this seq; 0 none
  dead_from INTEGER NOT NULL   -- table dead is complete for seq above this
);

CREATE TABLE roots(
  collection INTEGER NOT NULL,
  path       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  options    TEXT NOT NULL,
  PRIMARY KEY(collection, path)
) WITHOUT ROWID;

-- A row stays when its document goes (state 2): it keeps the index counter.
CREATE TABLE documents(
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  collection   INTEGER NOT NULL,
  doc_id       TEXT NOT NULL,
  root         TEXT NOT NULL,
  source       TEXT NOT NULL,
  title        TEXT NOT NULL,
  media_type   TEXT NOT NULL,
  metadata     TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  source_hash  BLOB NOT NULL,
  reader       TEXT NOT NULL,
  mark         TEXT NOT NULL,
  config_hash  TEXT NOT NULL,
  next_index   INTEGER NOT NULL,
  chunks       INTEGER NOT NULL,
  state        INTEGER NOT NULL,  -- 1 current, 2 gone
  synced_at    INTEGER NOT NULL,
  gone_at      INTEGER NOT NULL,
  digest       BLOB NOT NULL,     -- what a current document adds to collections.acc
  UNIQUE(collection, doc_id)
);

CREATE TABLE texts(
  document INTEGER PRIMARY KEY,
  text     TEXT NOT NULL
);

CREATE TABLE failures(
  collection INTEGER NOT NULL,
  doc_id     TEXT NOT NULL,
  root       TEXT NOT NULL,
  source     TEXT NOT NULL,
  code       TEXT NOT NULL,
  reason     TEXT NOT NULL,
  hint       TEXT NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY(collection, doc_id)
) WITHOUT ROWID;

-- Current chunks only. context, text, embed_hash of a row never change; the rest may.
CREATE TABLE chunks(
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  collection   INTEGER NOT NULL,
  document     INTEGER NOT NULL,
  idx          INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  start_byte   INTEGER NOT NULL,
  end_byte     INTEGER NOT NULL,
  start_line   INTEGER NOT NULL,
  end_line     INTEGER NOT NULL,
  start_page   INTEGER NOT NULL,
  end_page     INTEGER NOT NULL,
  heading_path TEXT NOT NULL,     -- JSON list of strings
  content_hash BLOB NOT NULL,     -- of text
  embed_hash   BLOB NOT NULL,
  seq          INTEGER NOT NULL,
  vseq         INTEGER NOT NULL,  -- seq at which its vector came; 0 = it has none
  context      TEXT NOT NULL,
  text         TEXT NOT NULL
);
CREATE UNIQUE INDEX chunks_key ON chunks(document, idx);
CREATE INDEX chunks_document ON chunks(document, position);
CREATE INDEX chunks_seq      ON chunks(collection, seq);
CREATE INDEX chunks_vseq     ON chunks(collection, vseq);
CREATE INDEX chunks_embed    ON chunks(embed_hash);
CREATE INDEX chunks_content  ON chunks(content_hash);

-- Chunk rows that went, so that a reader learns it without reading all ids.
CREATE TABLE dead(
  collection INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  chunk      INTEGER NOT NULL,
  PRIMARY KEY(collection, seq, chunk)
) WITHOUT ROWID;

-- Every text that every key has had: the span is where it first stood.
CREATE TABLE history(
  document     INTEGER NOT NULL,
  idx          INTEGER NOT NULL,
  content_hash BLOB NOT NULL,
  start_byte   INTEGER NOT NULL,
  end_byte     INTEGER NOT NULL,
  start_line   INTEGER NOT NULL,
  end_line     INTEGER NOT NULL,
  start_page   INTEGER NOT NULL,
  end_page     INTEGER NOT NULL,
  first_seen   INTEGER NOT NULL,
  last_seen    INTEGER NOT NULL,
  gone_at      INTEGER NOT NULL,  -- 0 while the text stands under this key
  PRIMARY KEY(document, idx, content_hash)
) WITHOUT ROWID;

CREATE TABLE embeddings(
  id    INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  hash  BLOB NOT NULL,
  vec   BLOB NOT NULL,  -- float32, little endian
  UNIQUE(hash, model)
);
`
