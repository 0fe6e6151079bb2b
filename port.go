package exhibit

import "context"

// The names of the legs that Exhibit itself brings. A port of another kind may use any other name.
const (
	LegLexical = "lexical"
	LegDense   = "dense"
)

// SearchRequest is what a leg is asked for.
type SearchRequest struct {
	Collection string
	Query      string
	K          int     // at most this many hits; 1 or more
	Filter     *Filter // the request's own condition; every hit passes it
	Access     *Filter // what the caller may see; every hit passes it, and statistics such as idf are taken over it alone
}

// Hit is one answer of a search port.
//
// Identity is read from Metadata: docId (or doc_id) and chunkIndex (or chunk_index). The typed fields below it are
// what an adapter knows beyond that; each may be left zero.
type Hit struct {
	ID       string  // the store's own id, "" where there is none
	Text     string  // the chunk's exact text
	Score    float64 // higher is better, finite
	Metadata Metadata

	Source      string
	Title       string
	HeadingPath []string
	Span        *Span
	Position    *int   // order in the document, from 0
	ConfigHash  string // the configuration that cut the chunk
}

// KnowledgeSearchPort is the boundary of recall: whatever finds chunks for a question stands behind it.
//
// Search answers at most K hits, best first, every one passing Filter and Access. A K larger than what there is, and
// an empty collection, are no errors. Equal input gives equal output. Implementations honour ctx and are safe for
// concurrent use; exhibittest.TestSearchPort proves an adapter against this contract.
type KnowledgeSearchPort interface {
	Search(ctx context.Context, req SearchRequest) ([]Hit, error)
}

// Score is a score that a port gives to an id it was asked about.
type Score struct {
	Value float64
	OK    bool // false where the port cannot score this id
}

// Scorer is an optional ability of a KnowledgeSearchPort: it scores given hits for a query, as Search would. Fusion
// uses it to complete the scores that a leg is missing. The answer has one entry a hit, in order.
type Scorer interface {
	Scores(ctx context.Context, req SearchRequest, hits []Hit) ([]Score, error)
}

// Leg is one way of recall, by name.
type Leg struct {
	Name string
	Port KnowledgeSearchPort
}

// LegSource is an optional ability of a KnowledgeSearchPort that is made of several: the pipeline then asks each leg
// itself, and keeps its scores and ranks apart.
type LegSource interface {
	Legs() []Leg
}

// Named is an optional ability of a KnowledgeSearchPort: it says which leg it is. Without it a port is "dense".
type Named interface {
	LegName() string
}

// Coverage is an optional ability of a KnowledgeSearchPort: it says how many chunks that the request could see it
// cannot find yet, because they have no vector.
type Coverage interface {
	WithoutVector(ctx context.Context, req SearchRequest) (int, error)
}

// RerankPassage is what a reranker reads of one candidate.
type RerankPassage struct {
	Title       string
	HeadingPath []string
	Text        string
}

// RerankScore is a reranker's score for the passage at Index. Higher is better.
type RerankScore struct {
	Index int
	Score float64
}

// Reranker scores candidates again, knowing question and passage together. It is given all candidates that recall and
// fusion kept, and should answer one score a passage; whatever it answers, the lookup fails open.
type Reranker interface {
	Rerank(ctx context.Context, query string, passages []RerankPassage) ([]RerankScore, error)
}

// Projector renders evidence as an agent receives it, inside its budgets.
type Projector interface {
	Project(ctx context.Context, req ProjectionRequest, evidence []Evidence) (Projection, error)
}

// Overflow says what becomes of a block that does not fit the budget.
type Overflow string

// What becomes of a block that does not fit.
const (
	OverflowSkip   Overflow = "skip"   // it is left out, and later smaller ones still get in (the default)
	OverflowCut    Overflow = "cut"    // it is cut at a boundary of its text and marked as cut
	OverflowStrict Overflow = "strict" // it and all that follow are left out
)

// ProjectionRequest says how evidence is rendered. A zero Format renders nothing.
type ProjectionRequest struct {
	Format        string   // "markdown", "xml", "text", "json" or what else the Projector renders
	MaxTokens     int      // of the rendered form; 0 is no budget
	MaxCharacters int      // Unicode code points of the rendered form; 0 is no budget
	Overflow      Overflow // "" is skip
	Tokenizer     string   // "" is o200k_base
	LookupID      string   // goes into the nonce
	Secret        []byte   // keys the nonce
}

// Projection is evidence as rendered.
type Projection struct {
	Format     string
	Text       string
	Tokens     int
	Tokenizer  string
	Characters int
	Nonce      string

	Kept []Evidence // what was rendered, in order; a block that was cut has its Text and Span cut, and Cut set
	Over []OverBudget
}

// OverBudget names a block that did not fit, and by how much it would overrun the budget.
type OverBudget struct {
	Index      int // in the evidence that was given
	Tokens     int
	Characters int
	Alone      bool // it would not fit even alone
}
