package markdown

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
)

// walker turns the syntax tree of a text, or of a part of it, into blocks.
type walker struct {
	body   string
	mdx    bool
	titler *titler
	out    []exhibit.Block
	skips  []exhibit.Block // ranges that were seen and are no text
}

// blocks returns the structure of text from the offset base on.
func blocks(txt string, base int, mdx bool) []exhibit.Block {
	// Only blocks are parsed; inline syntax is of use in headings alone, and costs most of the time.
	p := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
	)
	titler := newTitler()
	var out []exhibit.Block
	bounds := segments(txt, base)
	for i, start := range bounds[:len(bounds)-1] {
		w := &walker{body: txt[start:bounds[i+1]], mdx: mdx, titler: titler}
		root := p.Parse(text.NewReader([]byte(w.body)))
		for n := root.FirstChild(); n != nil; n = n.NextSibling() {
			w.top(n)
		}
		w.fillGaps()
		w.shift(start)
		out = append(out, w.out...)
	}
	return out
}

// shift moves the blocks to where the part that was parsed stands in the text.
func (w *walker) shift(by int) {
	for i := range w.out {
		b := &w.out[i]
		b.Start, b.End = b.Start+by, b.End+by
		if b.Header > 0 {
			b.Header += by
		}
		for k := range b.Rows {
			b.Rows[k] += by
		}
	}
}

// maxNesting is how many containers (quotes, lists) may be opened on one line. The parser's time grows with its square.
const maxNesting = 100

// tooDeep tells whether a line opens more containers than maxNesting.
func tooDeep(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) <= maxNesting {
			continue
		}
		lists, quotes := 0, 0
		for i := 0; i < len(line) && strings.IndexByte(" \t>-+*0123456789.)", line[i]) >= 0; i++ {
			switch {
			case line[i] == '>':
				quotes++
			case i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t') && strings.IndexByte("-+*.)", line[i]) >= 0:
				lists++
			}
		}
		if lists+quotes > maxNesting {
			return true
		}
	}
	return false
}

// top handles a node that stands in no container: only there do headings head what follows.
func (w *walker) top(n ast.Node) {
	if h, ok := n.(*ast.Heading); ok {
		if start, end, ok := w.extent(n); ok {
			start, end = w.lineStart(start), w.headingEnd(h, end)
			w.add(exhibit.Block{Kind: exhibit.BlockHeading, Level: h.Level, Start: start, End: end, Title: w.title(h)})
		}
		return
	}
	w.node(n, exhibit.BlockParagraph, 0, -1)
}

// node handles any other node. Kind and level are those of the container; from, if not -1, is where the block begins that the first of
// its text belongs to: the marker of a list item.
func (w *walker) node(n ast.Node, kind exhibit.BlockKind, level, from int) {
	switch n := n.(type) {
	case *ast.List:
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			w.item(item, level+1, from)
			from = -1
		}
	case *ast.Blockquote:
		if start, end, ok := w.extent(n); ok {
			w.add(exhibit.Block{Kind: exhibit.BlockQuote, Start: or(from, start), End: end})
		}
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		w.code(n, from)
	case *ast.HTMLBlock:
		w.html(n)
	case *extast.Table:
		w.table(n, from)
	case *ast.ThematicBreak:
		w.skip(n.Pos(), w.lineEnd(n.Pos()))
	default:
		start, end, ok := w.extent(n)
		if !ok {
			return
		}
		if s := w.body[start:end]; w.mdx && module(s) || strings.HasPrefix(s, "<") && !htmlHasText(s) {
			w.skip(start, end)
			return
		}
		if n.Kind() == ast.KindLinkReferenceDefinition {
			kind, level = exhibit.BlockRaw, 0
		}
		w.add(exhibit.Block{Kind: kind, Level: level, Start: or(from, start), End: end})
	}
}

// item handles a list item: its first text begins at its marker; further blocks of it stand beside.
func (w *walker) item(item ast.Node, level, from int) {
	from = or(from, item.Pos())
	for c := item.FirstChild(); c != nil; c = c.NextSibling() {
		before := len(w.out)
		if list, ok := c.(*ast.List); ok {
			w.node(list, exhibit.BlockListItem, level, from)
		} else {
			w.node(c, exhibit.BlockListItem, level, from)
		}
		if len(w.out) > before {
			from = -1
		}
	}
}

func (w *walker) code(n ast.Node, from int) {
	lines := n.Lines()
	start, end, ok := w.extent(n)
	if !ok {
		return
	}
	var rows []int
	for i := 1; i < lines.Len(); i++ {
		rows = append(rows, w.lineStart(lines.At(i).Start))
	}
	if f, ok := n.(*ast.FencedCodeBlock); ok {
		if lines.Len() == 0 {
			end = w.lineEnd(start)
		}
		end = w.fenceEnd(f.Pos(), end)
	}
	b := exhibit.Block{Kind: exhibit.BlockCode, Start: or(from, start), End: end}
	for _, r := range rows {
		if r > b.Start && r < b.End {
			b.Rows = append(b.Rows, r)
		}
	}
	w.add(b)
}

// fenceEnd returns where the closing fence after end ends, or end where there is none. The tree does not hold it.
func (w *walker) fenceEnd(open, end int) int {
	if open < 0 || open >= len(w.body) {
		return end
	}
	mark := w.body[open]
	next := end
	if next > 0 && next < len(w.body) && w.body[next-1] != '\n' {
		next = min(next+1, len(w.body))
	}
	line := strings.TrimLeft(w.body[next:w.lineEnd(next)], " \t>")
	line = strings.TrimRight(line, " \t\r\n")
	if len(line) >= 3 && strings.Trim(line, string(mark)) == "" {
		return w.lineEnd(next)
	}
	return end
}

func (w *walker) table(n *extast.Table, from int) {
	header := n.FirstChild()
	if header == nil || header.Pos() < 0 {
		return
	}
	start := w.lineStart(header.Pos())
	rule := w.nextLine(header.Pos()) // the line |---|---|
	b := exhibit.Block{Kind: exhibit.BlockTable, Start: or(from, max(start, header.Pos())), Header: w.nextLine(rule), End: w.lineEnd(rule)}
	for row := header.NextSibling(); row != nil; row = row.NextSibling() {
		if row.Pos() >= b.Header {
			b.Rows = append(b.Rows, w.lineStart(row.Pos()))
			b.End = w.lineEnd(row.Pos())
		}
	}
	b.Header = min(b.Header, b.End)
	w.add(b)
}

// module tells whether a paragraph of MDX is an import or export of a JavaScript module.
func module(s string) bool {
	if strings.HasPrefix(s, "export ") {
		for _, word := range [...]string{"export const ", "export let ", "export default ", "export function ", "export {", "export * "} {
			if strings.HasPrefix(s, word) {
				return true
			}
		}
		return false
	}
	return strings.HasPrefix(s, "import ") && (strings.Contains(s, " from ") || strings.ContainsAny(s[7:min(len(s), 9)], "'\"{"))
}

// fillGaps makes blocks of text that the tree does not hold, such as definitions of links, so that no words are lost.
func (w *walker) fillGaps() {
	slices.SortStableFunc(w.out, func(a, b exhibit.Block) int { return cmp.Compare(a.Start, b.Start) })
	seen := append(slices.Clone(w.out), w.skips...)
	slices.SortStableFunc(seen, func(a, b exhibit.Block) int { return cmp.Compare(a.Start, b.Start) })
	pos := 0
	var gaps []exhibit.Block
	for _, b := range append(seen, exhibit.Block{Start: len(w.body), End: len(w.body)}) {
		if b.Start > pos {
			s := w.body[pos:b.Start]
			start := pos + len(s) - len(strings.TrimLeft(s, " \t\r\n>"))
			end := pos + len(strings.TrimRight(s, " \t\r\n"))
			if start < end && source.HasWord(w.body[start:end]) {
				gaps = append(gaps, exhibit.Block{Kind: exhibit.BlockRaw, Start: start, End: end})
			}
		}
		pos = max(pos, b.End)
	}
	if len(gaps) > 0 {
		w.out = append(w.out, gaps...)
		slices.SortStableFunc(w.out, func(a, b exhibit.Block) int { return cmp.Compare(a.Start, b.Start) })
	}
}

// add adds a block after trimming white space at its ends; an empty one is dropped, and one that begins inside the block before it is
// shortened.
func (w *walker) add(b exhibit.Block) {
	if n := len(w.out); n > 0 {
		b.Start = max(b.Start, w.out[n-1].End)
	}
	if b.Start >= b.End {
		return
	}
	for !utf8.RuneStart(w.body[b.Start]) {
		b.Start--
	}
	s := w.body[b.Start:b.End]
	b.End = b.Start + len(strings.TrimRight(s, " \t\r\n"))
	b.Start += len(s) - len(strings.TrimLeft(s, " \t\r\n"))
	if b.Start >= b.End {
		return
	}
	b.Header = min(b.Header, b.End)
	b.Rows = slices.DeleteFunc(b.Rows, func(r int) bool { return r <= b.Start || r >= b.End })
	w.out = append(w.out, b)
}

func (w *walker) skip(start, end int) {
	if start >= 0 && start < end {
		w.skips = append(w.skips, exhibit.Block{Start: start, End: end})
	}
}

// extent returns the range from where a node begins to where the last line of it and its descendants ends.
func (w *walker) extent(n ast.Node) (start, end int, ok bool) {
	start, end = len(w.body), -1
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || n.Type() == ast.TypeInline {
			return ast.WalkSkipChildren, nil
		}
		if p := n.Pos(); p >= 0 {
			start, end = min(start, p), max(end, min(w.lineEnd(p), len(w.body)))
		}
		if lines := n.Lines(); lines != nil && lines.Len() > 0 {
			start = min(start, lines.At(0).Start)
			end = max(end, min(lines.At(lines.Len()-1).Stop, len(w.body)))
		}
		if f, ok := n.(*ast.FencedCodeBlock); ok {
			end = max(end, w.fenceEnd(f.Pos(), end))
		}
		return ast.WalkContinue, nil
	})
	return start, end, start < end
}

func (w *walker) lineStart(pos int) int {
	return strings.LastIndexByte(w.body[:min(pos, len(w.body))], '\n') + 1
}

// lineEnd returns the offset of the end of the line at pos, before its line feed.
func (w *walker) lineEnd(pos int) int {
	pos = min(pos, len(w.body)) // the parser's positions can be off after tabs
	if n := strings.IndexByte(w.body[pos:], '\n'); n >= 0 {
		return pos + n
	}
	return len(w.body)
}

func (w *walker) nextLine(pos int) int { return min(w.lineEnd(pos)+1, len(w.body)) }

// headingEnd adds the line of = or - below a heading of the setext form.
func (w *walker) headingEnd(h *ast.Heading, end int) int {
	line := w.lineStart(h.Pos())
	if strings.HasPrefix(strings.TrimLeft(w.body[line:w.lineEnd(line)], " \t"), "#") && h.Lines().Len() <= 1 {
		return w.lineEnd(line)
	}
	end = w.lineEnd(min(end, len(w.body)))
	if end > 0 && w.body[end-1] == '\n' {
		end--
	}
	under := strings.TrimSpace(w.body[w.nextLine(end):w.lineEnd(w.nextLine(end))])
	if under != "" && (strings.Trim(under, "=") == "" || strings.Trim(under, "-") == "") {
		return w.lineEnd(w.nextLine(end))
	}
	return end
}

func or(from, start int) int {
	if from >= 0 {
		return min(from, start)
	}
	return start
}
