package project

import (
	"slices"
	"strings"
	"unicode"

	"github.com/exhibit-rag/exhibit/internal/chunk"
)

// longestWord is how far back, in bytes, a cut between two clusters goes to end after a whole word.
const longestWord = 48

// gradeGrapheme is the last of the grades of cuts.
const gradeGrapheme = 2

// cutAt returns the block with its text ended at an offset, and its span with it. The content hash stays that of the
// whole chunk. The last page is kept: which page the cut text ends on is not known.
func (b *block) cutAt(end int) block {
	out := *b
	e := &out.evidence
	e.Text, e.Cut = b.whole[:end], true
	if s := e.Span; s != nil && s.EndByte-s.StartByte == len(b.whole) {
		span := *s
		span.EndByte = span.StartByte + end
		if span.StartLine > 0 {
			span.EndLine = span.StartLine + strings.Count(e.Text, "\n")
		}
		e.Span = &span
	}
	return out
}

// cuts are the places where one text may be cut.
type cuts struct {
	text      string
	graphemes []int // ends of clusters, ascending
	layout    layout
	reach     int
}

func newCuts(text string, reach int) *cuts {
	c := &cuts{text: text, layout: layoutOf(text), reach: reach}
	for _, end := range chunk.Graphemes(text) {
		if end > reach {
			break
		}
		c.graphemes = append(c.graphemes, end)
	}
	return c
}

// grades returns the ends at which the text may be cut, the better ends first: sentences and rows, lines, graphemes.
func (c *cuts) grades() [][]int {
	var sentences []int
	for _, end := range chunk.Sentences(c.text) {
		if end > c.reach {
			break
		}
		if !c.layout.inRow(end) {
			sentences = append(sentences, end)
		}
	}
	var rows, lines []int
	for _, l := range c.layout {
		lines = append(lines, l.end)
		if l.kind == rowLine || l.kind == codeLine {
			rows = append(rows, l.end)
		}
	}
	return [][]int{c.allowed(append(sentences, rows...)), c.allowed(lines), c.allowed(c.graphemes)}
}

// allowed returns the offsets without the white space before them, ascending, as far as they are within reach, lie
// inside the text, do not divide a cluster and do not take a table from its header.
func (c *cuts) allowed(ends []int) []int {
	var out []int
	for _, end := range ends {
		if end > c.reach {
			continue
		}
		end = len(strings.TrimRightFunc(c.text[:end], unicode.IsSpace))
		if end == 0 || end == len(c.text) || c.layout.inHeader(end) {
			continue
		}
		if _, ok := slices.BinarySearch(c.graphemes, end); ok {
			out = append(out, end)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wordEnd returns the end of the last whole word before an offset that stands inside a word, if that is at most
// longestWord bytes earlier, and 0 otherwise.
func (c *cuts) wordEnd(end int) int {
	if strings.TrimLeftFunc(c.text[end:], unicode.IsSpace) != c.text[end:] {
		return 0
	}
	space := strings.LastIndexFunc(c.text[:end], unicode.IsSpace)
	if space < max(1, end-longestWord) {
		return 0
	}
	if list := c.allowed([]int{space}); len(list) == 1 {
		return list[0]
	}
	return 0
}

type lineKind uint8

const (
	proseLine  lineKind = iota
	headerLine          // of a table, the line under it included
	rowLine             // of a table
	codeLine            // between fences, they included
)

// textLine is one line, its line break included.
type textLine struct {
	start, end int
	kind       lineKind
}

// layout says of each line what it is.
type layout []textLine

// layoutOf finds the tables and fenced code of Markdown. A row without a header above it, as in the later part of a
// table, is one that begins with a bar.
func layoutOf(text string) layout {
	var out layout
	fence, table, at := "", false, 0
	for line := range strings.SplitAfterSeq(text, "\n") {
		if line == "" {
			break
		}
		trimmed := strings.TrimSpace(line)
		kind := proseLine
		switch {
		case fence != "":
			kind = codeLine
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			kind, table = codeLine, false
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
		case delimiterRow(trimmed) && len(out) > 0 && strings.Contains(text[out[len(out)-1].start:at], "|"):
			kind, table = headerLine, true
			out[len(out)-1].kind = headerLine
		case table && strings.Contains(trimmed, "|"), strings.HasPrefix(trimmed, "|"):
			kind = rowLine
		default:
			table = false
		}
		out = append(out, textLine{at, at + len(line), kind})
		at += len(line)
	}
	return out
}

// delimiterRow reports whether a line is what stands under the header of a table: |---|:--:|
func delimiterRow(line string) bool {
	return strings.Contains(line, "|") && strings.Contains(line, "-") && strings.Trim(line, "|-: \t") == ""
}

// lineAt returns the line that an offset ends or stands in.
func (l layout) lineAt(end int) (textLine, bool) {
	i, _ := slices.BinarySearchFunc(l, end, func(t textLine, end int) int { return t.end - end })
	if i == len(l) {
		return textLine{}, false
	}
	return l[i], true
}

// inRow reports whether an offset ends or stands in a line that is cut as a whole.
func (l layout) inRow(end int) bool {
	t, ok := l.lineAt(end)
	return ok && t.kind != proseLine
}

// inHeader reports whether a cut would leave a header without any of its rows, or only a part of it.
func (l layout) inHeader(end int) bool {
	t, ok := l.lineAt(end)
	return ok && t.kind == headerLine && end > t.start
}
