package exhibit

import "context"

// Span is where a chunk stands in the text form of its document. Bytes are half-open and 0-based; lines and pages are
// 1-based and inclusive. Pages are 0 where the format has none.
type Span struct {
	StartByte, EndByte int
	StartLine, EndLine int
	StartPage, EndPage int
}

// BlockKind says what a block of a document is.
type BlockKind uint8

// The kinds of block that readers tell apart.
const (
	BlockParagraph BlockKind = iota
	BlockHeading
	BlockListItem
	BlockTable
	BlockCode
	BlockQuote
	BlockRaw // markup that is neither prose nor code
)

// Block is one piece of a document's structure. Blocks of a document ascend and do not overlap.
type Block struct {
	Kind       BlockKind
	Level      int    // of a heading, from 1; of a list item, its depth from 1; otherwise 0
	Start, End int    // bytes in the document's text, half-open
	Title      string // the plain text of a heading
	Header     int    // of a table: where its header rows end, as an offset in the document's text; 0 for none
	Rows       []int  // offsets at which the block may be cut: rows of a table, lines or statements of code
}

// Document is one source in its text form, as a Reader makes it and a sync stores it.
type Document struct {
	DocID     string // chosen by the caller or the reader; see ValidDocID
	Source    string // what a person opens: a path or an address
	Title     string
	MediaType string // RFC 6838 name without parameters
	Text      string // UTF-8; every span counts in it
	Blocks    []Block
	Metadata  Metadata
	Warnings  []string // what the reader had to repair or leave out
}

// Source is what a Reader reads: the bytes of one file and what is known about them.
type Source struct {
	DocID     string
	Path      string // what a person opens; decides the type where the content does not
	MediaType string // "" to detect it
	Data      []byte // owned by the caller, not kept
}

// Reader turns one source into a document. Implementations are safe for concurrent use and answer equal input with
// equal output. The error wraps ErrNoText where the source yields no text, and ErrUnsupportedMedia where this reader
// does not read it.
type Reader interface {
	Read(ctx context.Context, src Source) (Document, error)
}

// TextKind tells an embedder what it is given.
type TextKind uint8

// What an embedder is given: a question, or a passage that may answer one.
const (
	Passage TextKind = iota
	Query
)

// EmbeddingModel names the model behind an embedder. Vectors of different models are never compared.
type EmbeddingModel struct {
	Name      string
	Dimension int // 0 where it is known only after the first answer
}

// Embedder turns texts into vectors of length 1. It answers one vector a text, in order, each of the model's
// dimension and finite; the same text gets the same vector however texts are batched. It honours ctx and is safe for
// concurrent use.
type Embedder interface {
	Model() EmbeddingModel
	Embed(ctx context.Context, kind TextKind, texts []string) ([][]float32, error)
}
