package html

import (
	"strings"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
)

// writer writes blocks of Markdown and remembers where they stand.
type writer struct {
	text   strings.Builder
	blocks []exhibit.Block
	line   strings.Builder // inline text of the block at hand
	space  bool            // white space is due before the next inline text
	main   bool            // leave out navigation, headers, footers and asides

	// of the block at hand
	kind   exhibit.BlockKind
	level  int
	marker string // of a list item or heading, written once
	indent string // of the list around
	depth  int    // of lists
	href   int    // start of the link's text in line, -1 outside
}

func newWriter(main bool) *writer { return &writer{main: main, href: -1} }

// done returns the text, with a final line feed, and its blocks.
func (w *writer) done() (string, []exhibit.Block) {
	if w.text.Len() == 0 {
		return "", nil
	}
	return w.text.String() + "\n", w.blocks
}

// inline adds running text: white space collapses, and none is kept at the ends of a block.
func (w *writer) inline(s string) {
	for s != "" {
		i := strings.IndexAny(s, " \t\r\n\f")
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			w.word(s[:i])
			s = s[i:]
			continue
		}
		w.space = true
		s = s[1:]
	}
}

func (w *writer) word(s string) {
	if w.space && w.line.Len() > 0 && w.line.Len() != w.href && !strings.HasSuffix(w.line.String(), "\n") {
		w.line.WriteByte(' ')
	}
	w.space = false
	w.line.WriteString(s)
}

// breakLine adds a line break inside a block.
func (w *writer) breakLine() {
	w.space = false
	if w.line.Len() > 0 {
		w.line.WriteByte('\n')
	}
}

// flush ends the block at hand.
func (w *writer) flush() {
	s := strings.Trim(w.line.String(), " \t\r\n")
	w.line.Reset()
	w.space = false
	if !source.HasText(s) {
		return
	}
	if w.kind == exhibit.BlockHeading {
		s = strings.Join(strings.Fields(s), " ")
		w.block(exhibit.Block{Kind: w.kind, Level: w.level, Title: s}, w.marker+s, "")
		return
	}
	hang := w.indent
	if w.depth > 0 && w.marker == "" {
		hang += "  "
	}
	first := hang + w.marker
	rest := w.indent + strings.Repeat(" ", utf8.RuneCountInString(w.marker))
	if w.marker == "" {
		rest = hang
	}
	s = strings.ReplaceAll(s, "\n", "\n"+rest)
	b := exhibit.Block{Kind: w.kind}
	if w.depth > 0 {
		b.Kind, b.Level = exhibit.BlockListItem, w.depth
	}
	w.marker = ""
	w.block(b, s, first)
}

// block writes a block, after a blank line or, between items of a list, a line break. Lead stands before it and, where it is
// indentation, outside it. Offsets in b count from the start of s.
func (w *writer) block(b exhibit.Block, s, lead string) {
	if n := len(w.blocks); n > 0 {
		w.text.WriteByte('\n')
		if b.Kind != exhibit.BlockListItem || w.blocks[n-1].Kind != exhibit.BlockListItem {
			w.text.WriteByte('\n')
		}
	}
	mark := strings.TrimLeft(lead, " ")
	w.text.WriteString(lead[:len(lead)-len(mark)])
	start := w.text.Len()
	w.text.WriteString(mark)
	w.text.WriteString(s)
	b.Start, b.End = start, w.text.Len()
	if b.Header > 0 {
		b.Header += start
	}
	for i := range b.Rows {
		b.Rows[i] += start
	}
	w.blocks = append(w.blocks, b)
}
