package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// A Hash is a SHA-256 digest.
type Hash [sha256.Size]byte

// HashText returns the SHA-256 of the UTF-8 bytes of text.
func HashText(text string) Hash { return sha256.Sum256([]byte(text)) }

// String returns 64 lower-case hex digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h is all zero bytes, which stands for "no hash".
func (h Hash) IsZero() bool { return h == Hash{} }

// ParseHash reads the 64 hex digits that [Hash.String] writes.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return h, fmt.Errorf("hash %q: %d characters, not %d", s, len(s), 2*len(h))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("hash %q: %w", s, err)
	}
	return h, nil
}

// A Span says where a chunk stands in its document's text form: bytes half-open from 0, lines inclusive from 1,
// pages inclusive from 1, or 0 where the format has none.
type Span struct {
	StartByte, EndByte int
	StartLine, EndLine int
	StartPage, EndPage int
}

// Stamps are the settings that shaped a collection's data.
type Stamps struct {
	Chunker   string // configuration hash of the chunker of the latest sync; documents cut by another are stale
	Analyser  string // version of the analyser that makes terms
	Model     string // embedder; "" while the collection has no vectors
	Dimension int    // of the vectors; 0 while unknown
}

// A Document is what a source became. Text is its text form: spans count its bytes.
type Document struct {
	ID         string // docId: any non-empty UTF-8 string
	Root       string // the root it was synced from, "" for none
	Source     string
	Title      string
	MediaType  string
	Text       string
	SourceHash Hash   // of the raw bytes of the source
	Reader     string // name and version of the reader that made Text
	Mark       string // opaque: what the caller compares to see cheaply that a source did not change (size, time); not part of the revision
	Metadata   string // canonical JSON object, "" for none
	ConfigHash string // hash of the chunker's settings that cut Text
}

// A Chunk is one piece of a document as the chunker cut it; its place in the slice is its position.
type Chunk struct {
	Span        Span
	HeadingPath []string
	Context     string // what stands before Text in the lexical index and for the embedder (title, headings); may be ""
	Text        string // must equal Document.Text[StartByte:EndByte]
	EmbedHash   Hash   // of the whole input that the embedder gets for this chunk; equal inputs share one vector
}

// IndexText returns the text that the lexical index sees.
func (c *Chunk) IndexText() string {
	if c.Context == "" {
		return c.Text
	}
	return c.Context + "\n" + c.Text
}

// A Version is a document with the chunks that it was cut into.
type Version struct {
	Document Document
	Chunks   []Chunk
}

// A Change says what one [Writer.Replace] did to one document.
type Change struct {
	ID        string
	Added     bool // no version of it was served before
	Unchanged bool // all that was given was stored already; nothing was written
	Kept      int  // chunks whose index and text are those of the version before
	Changed   int  // chunks whose index was kept with other text (none until edits are aligned)
	New       int  // chunks under an index that the version before did not have
	Removed   int  // chunks of the version before whose index is no longer there
	NoVector  int  // chunks of the new version that have no vector yet
}

// A Fingerprint is what a sync compares to see whether a source changed.
type Fingerprint struct {
	Root         string
	Source       string
	Title        string
	SourceHash   Hash
	ContentHash  Hash // of the text form
	MetadataHash Hash // of the canonical JSON; [HashText]("") for none
	Reader       string
	Mark         string
	ConfigHash   string
	Failed       bool // a failure is recorded beside the version served
}

// A Failure is a source that yielded no document; a version synced earlier is still served.
type Failure struct {
	ID     string // docId
	Root   string
	Source string
	Code   string // of the error table, such as "no-text" or "unreadable"
	Reason string
	Hint   string
	At     time.Time
}

// A Root is a folder or file that was synced into a collection.
type Root struct {
	Path    string
	Kind    string
	Options string // JSON, the caller's
}

// An Embedding is the vector of one embedder input.
type Embedding struct {
	Hash   Hash // [Chunk.EmbedHash]
	Vector []float32
}

// DocMeta is what a document shows to filters and access rules.
type DocMeta struct {
	ID        string
	Source    string
	Title     string
	MediaType string
	Metadata  string // canonical JSON object or ""
	Decoded   any    // what [Options.Decode] made of Metadata, once per snapshot state; shared, not to be changed

	row    int64
	digest Hash
}

// A DocumentRow is a stored document. Text is filled by [Snapshot.Document] only.
type DocumentRow struct {
	Document
	ContentHash Hash
	Chunks      int
	State       State
	Stale       bool // cut by another chunker configuration than the one asked about
	Failure     *Failure
	SyncedAt    time.Time // when this version was stored
	GoneAt      time.Time // when it was removed; zero unless State is Gone
	NextIndex   int       // chunk index that the next new text gets
}

// State says whether a document is served.
type State int

// States of a document. A document that never had a version and only a failure is Absent.
const (
	Absent State = iota
	Current
	Gone
)

// A ChunkRow is a stored chunk with what its document says of it.
type ChunkRow struct {
	ID       int64 // row id; stable only inside one snapshot
	Index    int   // chunkIndex of its key
	Position int   // order in the document
	Chunk
	ContentHash Hash
	HasVector   bool

	DocID      string
	Source     string
	Title      string
	MediaType  string
	Metadata   string
	ConfigHash string
}

// A Hit is a chunk with the score of one leg.
type Hit struct {
	ID    int64  // chunk row id
	Key   string // evidence key, as [Options.Key] writes it
	Score float64
}

// A Past is one text that a key has had.
type Past struct {
	Index       int
	ContentHash Hash
	First       Span // where it first stood
	FirstSeen   time.Time
	LastSeen    time.Time // last time a sync stored the document with it
	GoneAt      time.Time // zero while it stands under this key
}

// Counts are a collection's numbers.
type Counts struct {
	Documents     int // served
	Chunks        int
	WithoutVector int
	Stale         int // served documents cut by another chunker configuration
	Failed        int // recorded failures, with or without a version served
}

// State filters of [Snapshot.Documents].
const (
	AnyState     = "" // current ones and failures without a version, not the gone
	StateCurrent = "current"
	StateStale   = "stale"
	StateFailed  = "failed"
	StateGone    = "gone"
)
