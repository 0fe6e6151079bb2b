// Package chunk cuts the text of one document into pieces small enough to be embedded and cited, structure first.
//
// A reader describes the text by blocks (headings, paragraphs, list items, tables, code). [Cut] walks them and returns pieces: byte
// ranges of the text, each with the path of headings above it. The rules, in the order in which they win:
//
//  1. A piece lies in one section, the run of blocks between two headings. Sections are never merged, however short: of 5,948 pieces of
//     the documentation of MCP two have four tokens or fewer, and what is found under a heading of its own is cited most exactly.
//  2. A section that fits is one piece. One that does not is cut into pieces of about equal size, at the best boundary near the
//     target: paragraph, list item or table row, sentence, line, clause, word, and only at the very last grapheme cluster.
//  3. Tables and code are cut between rows and lines alone, unless one row is longer than a whole piece.
//  4. Heading lines are not text of a piece; they are its heading path. A heading that heads nothing is appended to the text before it
//     (or put before the text after it), so that its words can be found.
//  5. A last piece that is tiny is joined to the one before it.
//
// Size is counted in tokens by a function of the caller. Everything here is deterministic and free of shared state: all functions may be
// called from any number of goroutines at once.
package chunk

import (
	"fmt"
	"strings"
)

// Kind says what a block is.
type Kind uint8

// The kinds of block, in the order of exhibit.BlockKind. Raw is text of which nothing is known; it is cut like a paragraph.
const (
	Paragraph Kind = iota
	Heading
	ListItem
	Table
	Code
	Quote
	Raw
)

// String returns the kind's name in lower case, as `list-item`.
func (k Kind) String() string {
	switch k {
	case Heading:
		return "heading"
	case Paragraph:
		return "paragraph"
	case ListItem:
		return "list-item"
	case Table:
		return "table"
	case Code:
		return "code"
	case Quote:
		return "quote"
	case Raw:
		return "raw"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Block is one structural element of a text. All offsets are bytes of the text; Start and End are half-open.
type Block struct {
	Kind Kind
	// Level is the rank of a heading (1 is the highest) or the depth of a list item, from 1.
	Level      int
	Start, End int
	// Title is a heading's text without markup.
	Title string
	// Header is where the header rows of a table end; 0 means that it has none.
	Header int
	// Rows are the offsets at which the block may be cut: starts of table rows, statements or lines, ascending, within the block.
	// A table or code block without rows is cut at its lines. Any other block with rows is cut at them and not at sentences.
	Rows []int
}

// Piece is one chunk of a document.
type Piece struct {
	// Start and End are the half-open byte range in the text: never empty, never white at either end.
	Start, End int
	// HeadingPath holds the titles of the headings above the piece, outermost first; nil without any.
	HeadingPath []string
	// Context is text of the document that the piece needs to be understood but does not hold: the header rows of a table that
	// was begun in an earlier piece. It counts towards the size.
	Context string
	// Kind is that of the piece's blocks where all are of one kind, and Raw where they are mixed.
	Kind Kind
}

// Check tells whether blocks describe text: within it, ascending, not overlapping, at code point boundaries. The error names the first
// block that does not. A reader that fails it has a fault; [Cut] stays safe regardless and leaves such blocks out.
func Check(text string, blocks []Block) error {
	end := 0
	for i, b := range blocks {
		if err := checkOne(text, b, end); err != nil {
			return fmt.Errorf("block %d (%s, bytes %d to %d): %w", i, b.Kind, b.Start, b.End, err)
		}
		end = b.End
	}
	return nil
}

func checkOne(text string, b Block, after int) error {
	switch {
	case b.Start < 0 || b.End > len(text) || b.Start >= b.End:
		return fmt.Errorf("not a range within the %d bytes of the text", len(text))
	case b.Start < after:
		return fmt.Errorf("begins before byte %d, where the block before it ends", after)
	case !boundary(text, b.Start) || !boundary(text, b.End):
		return fmt.Errorf("begins or ends inside a character")
	case b.Header != 0 && (b.Header <= b.Start || b.Header > b.End || !boundary(text, b.Header)):
		return fmt.Errorf("header ends at byte %d, outside the block", b.Header)
	}
	prev := b.Start - 1
	for _, r := range b.Rows {
		if r <= prev || r > b.End || !boundary(text, r) {
			return fmt.Errorf("row at byte %d is out of order or outside the block", r)
		}
		prev = r
	}
	return nil
}

// Cut cuts text into pieces, ascending and, without overlap, disjoint. Every byte of a block that is neither white space nor a heading's
// is in one piece (with OverlapTokens 0, in exactly one). A nil list of blocks makes the text one block of kind Raw.
//
// Count returns the number of encoder tokens of a string; it is called about once for every sentence, row or line, never on a string
// above some kilobytes, and not at all for a section of fewer bytes than cfg.MaxTokens. Counts of parts are added up, so sizes are
// close to, not exactly, those of the whole. Cfg must be valid (see [Config.Validate]).
func Cut(text string, blocks []Block, cfg Config, count func(string) int) []Piece {
	cfg = cfg.withDefaults()
	if len(blocks) == 0 {
		blocks = []Block{{Kind: Raw, Start: 0, End: len(text)}}
	}
	var pieces []Piece
	for _, s := range sections(text, blocks) {
		c := cutter{text: text, cfg: cfg, count: count, path: s.path, blocks: s.body}
		pieces = append(pieces, c.section()...)
	}
	return pieces
}

// ContextText is how a piece's heading path and context are written before it where both are read as one text: the path joined by
// " › ", then the context, each on a line of its own. It is empty when there is neither.
func (p Piece) ContextText() string {
	path := strings.Join(p.HeadingPath, " › ")
	switch {
	case p.Context == "":
		return path
	case path == "":
		return p.Context
	}
	return path + "\n" + p.Context
}
