package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
)

// html handles a block of HTML (or, in MDX, of components). Comments, scripts and tags without text are no text.
func (w *walker) html(n *ast.HTMLBlock) {
	start, end, ok := w.extent(n)
	if !ok {
		return
	}
	if n.HasClosure() {
		end = max(end, min(n.ClosureLine.Stop, len(w.body)))
	}
	if !htmlHasText(w.body[start:end]) {
		w.skip(start, end)
		return
	}
	b := exhibit.Block{Kind: exhibit.BlockRaw, Start: start, End: end}
	for p := w.nextLine(start); p < end; p = w.nextLine(p) {
		b.Rows = append(b.Rows, p)
	}
	w.add(b)
}

// htmlHasText tells whether there is a letter or digit outside tags, comments, scripts and styles, or in an attribute that is shown, as
// the title of a tab.
func htmlHasText(s string) bool {
	z := html.NewTokenizer(strings.NewReader(s))
	hidden := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.StartTagToken:
			name, _ := z.TagName()
			hidden = string(name) == "script" || string(name) == "style"
			if shown(z) {
				return true
			}
		case html.SelfClosingTagToken:
			if shown(z) {
				return true
			}
		case html.EndTagToken:
			hidden = false
		case html.TextToken:
			if !hidden && source.HasWord(string(z.Text())) {
				return true
			}
		}
	}
}

// shown tells whether the tag at hand has an attribute that a reader sees.
func shown(z *html.Tokenizer) bool {
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "title", "label", "caption", "alt", "summary", "heading":
			if source.HasWord(string(value)) {
				return true
			}
		}
	}
	return false
}

// unescape resolves backslashes and entities.
func unescape(v []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(v)))
}
