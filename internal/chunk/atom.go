package chunk

import (
	"math"
	"strings"
)

// grade says how good a cut after an atom is. The order of the constants is that of preference, worst first.
type grade uint8

const (
	atGrapheme grade = iota // inside a word
	atWord
	atClause
	atHeading  // before a heading without a body, or after text that introduces what follows
	atDeepLine // between lines of code of one inner block
	atLine
	atSentence
	atOpening // between lines of code where the indentation returns to the outermost
	atRow     // between table rows and list items
	atParagraph
	grades
)

// penalty is the cost of cutting at each grade, in shares of the target size: a sentence end is preferred to a paragraph end that is
// more than .3 of a piece further from the target. Set by looking at the pieces of real documents, not by an evaluation.
func (g grade) penalty() float64 {
	return [grades]float64{atGrapheme: 3, atWord: 1.5, atClause: 1, atHeading: .9, atDeepLine: .5, atLine: .35,
		atSentence: .3, atOpening: .15, atRow: .1, atParagraph: 0}[g]
}

// atom is a stretch of text that is not cut. The atoms of a section follow each other without gaps but for white space and what lies
// between blocks.
type atom struct {
	start, end int
	tokens     int32
	block      int32 // index in cutter.blocks
	after      grade
}

// cutter cuts one section.
type cutter struct {
	text   string
	cfg    Config
	count  func(string) int
	path   []string
	blocks []Block
	limit  int // most tokens of a piece, without its heading path
	atoms  []atom
	gap    int32 // tokens of what stands between the block before and the next atom
	pieces []Piece
}

// maxAtoms bounds the memory for a section: beyond it, all pieces but the last two are made of what has been seen so far.
const maxAtoms = 1 << 16

func (c *cutter) tokens(start, end int) int32 {
	start, end = trim(c.text, start, end)
	if start == end {
		return 0
	}
	return int32(min(max(c.count(c.text[start:end]), 1), math.MaxInt32/2))
}

// cutBlocks fills c.atoms.
func (c *cutter) cutBlocks() {
	for i, b := range c.blocks {
		if i > 0 {
			c.gap = c.tokens(c.blocks[i-1].End, b.Start) // what stands between blocks is in the piece too
		}
		switch {
		case len(b.Rows) > 0:
			c.rows(i, b.Rows)
		case b.Kind == Table || b.Kind == Code:
			c.rows(i, lineStarts(c.text, b.Start, b.End))
		case b.Kind == Heading:
			c.add(b.Start, b.End, i, atSentence)
		default:
			c.prose(i)
		}
		if n := len(c.atoms); n > 0 && int(c.atoms[n-1].block) == i {
			c.atoms[n-1].after = c.blockGrade(i)
		}
	}
}

// push adds an atom.
func (c *cutter) push(a atom) {
	a.tokens += c.gap
	c.gap = 0
	c.atoms = append(c.atoms, a)
	if len(c.atoms) >= maxAtoms {
		c.drain()
	}
}

// white lets the last atom end where white space after it does, which may carry a better grade.
func (c *cutter) white(end, block int, g grade) {
	if n := len(c.atoms); n > 0 && int(c.atoms[n-1].block) == block {
		c.atoms[n-1].end, c.atoms[n-1].after = end, max(c.atoms[n-1].after, g)
	}
}

// blockGrade is the grade of a cut after block i.
func (c *cutter) blockGrade(i int) grade {
	b := c.blocks[i]
	if i+1 < len(c.blocks) && c.blocks[i+1].Kind == Heading || b.Kind == Heading {
		return atHeading
	}
	start, end := trim(c.text, b.Start, b.End)
	if s := c.text[start:end]; b.Kind != Code && (strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")) {
		return atHeading
	}
	if b.Kind == ListItem && i+1 < len(c.blocks) && c.blocks[i+1].Kind == ListItem {
		if c.blocks[i+1].Level > b.Level || i == 0 || c.blocks[i-1].Kind != ListItem {
			return atSentence // what belongs to an item, or a first item alone beside its introduction
		}
		return atRow
	}
	return atParagraph
}

// prose adds the sentences of block i.
func (c *cutter) prose(i int) {
	b := c.blocks[i]
	for s, e := range Sentences(c.text[b.Start:b.End]) {
		g := atSentence
		if blankLineEnd(c.text[b.Start+s : b.Start+e]) {
			g = atParagraph
		}
		c.add(b.Start+s, b.Start+e, i, g)
	}
}

// rows adds the rows of block i that begin at the given offsets. The header of a table stays with its first row.
func (c *cutter) rows(i int, starts []int) {
	b := c.blocks[i]
	begin := b.Start
	for _, s := range append(starts[:len(starts):len(starts)], b.End) {
		if s <= begin || s <= b.Header && s < b.End {
			continue
		}
		g := atRow
		if b.Kind != Table {
			g = lineGrade(c.text, begin, s, b)
		}
		c.add(begin, s, i, g)
		begin = s
	}
}

// lineGrade is the grade of a cut at s, the start of a line of block b, after a row that begins at prev.
func lineGrade(text string, prev, s int, b Block) grade {
	line, _, _ := strings.Cut(text[s:b.End], "\n")
	body := strings.TrimLeft(line, " \t")
	deep := len(line) > len(body)
	blank := blankLineEnd(text[b.Start:s])
	switch {
	case strings.TrimSpace(body) == "":
		return atGrapheme // the cut belongs after the blank line
	case strings.IndexByte("})]", body[0]) >= 0 || deep && !blank:
		return atDeepLine
	case blank && !deep:
		return atParagraph
	case blank || indented(text[prev:s]):
		return atOpening
	}
	return atLine
}

func indented(row string) bool {
	return strings.HasPrefix(row, " ") || strings.HasPrefix(row, "\t")
}

// add adds one atom, or, where it is longer than a piece should be, fragments of it.
func (c *cutter) add(start, end, block int, g grade) {
	s, e := trim(c.text, start, end)
	if s == e {
		c.white(end, block, g)
		return
	}
	most := int32(min(c.cfg.MaxTokens, c.limit))
	n := most + 1
	if e-s <= int(most) {
		n = int32(e - s) // no encoder makes more tokens than bytes; only sums matter below the limit
	}
	if e-s <= 16*int(most) {
		n = c.tokens(s, e)
	}
	if n <= most {
		c.push(atom{start, end, n, int32(block), g})
		return
	}
	c.fragments(start, end, block, g)
}

// lineStarts returns the offsets in text of the lines within the range, without the first.
func lineStarts(text string, start, end int) []int {
	var out []int
	for {
		n := strings.IndexByte(text[start:end], '\n')
		if n < 0 || start+n+1 >= end {
			return out
		}
		start += n + 1
		out = append(out, start)
	}
}

// blankLineEnd tells whether s ends with a line break and at least one blank line.
func blankLineEnd(s string) bool {
	breaks := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case '\n':
			if breaks++; breaks == 2 {
				return true
			}
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return false
}
