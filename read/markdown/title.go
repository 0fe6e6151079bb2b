package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxTitle is the most bytes of a heading whose inline syntax is looked at; a longer one is taken as it is written.
const maxTitle = 4 << 10

// titler makes plain text of the inline syntax of headings.
type titler struct{ p parser.Parser }

func newTitler() *titler {
	return &titler{parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()[len(parser.DefaultBlockParsers())-1:]...), // paragraphs alone
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	)}
}

// title returns a heading's text without markup and without an id in braces at its end.
func (w *walker) title(h *ast.Heading) string {
	var raw strings.Builder
	for i := range h.Lines().Len() {
		line := h.Lines().At(i)
		raw.WriteString(strings.TrimSpace(w.body[line.Start:min(line.Stop, len(w.body))]))
		raw.WriteByte(' ')
	}
	s := strings.TrimSpace(raw.String())
	if i := strings.LastIndex(s, "{#"); i > 0 && strings.HasSuffix(s, "}") && !strings.ContainsAny(s[i:], " \t") {
		s = strings.TrimSpace(s[:i])
	}
	if len(s) > maxTitle || !strings.ContainsAny(s, "*_`[]<>\\&!~") {
		return s
	}
	return w.titler.plain(s)
}

func (t *titler) plain(s string) string {
	src := []byte(s)
	var b strings.Builder
	_ = ast.Walk(t.p.Parse(text.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			v := n.Segment.Value(src)
			if !n.IsRaw() && n.Parent().Kind() != ast.KindCodeSpan {
				v = unescape(v)
			}
			b.Write(v)
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(src))
		case *ast.RawHTML:
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
