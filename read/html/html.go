// Package html reads web pages. The text form is not the page's markup but its main content written as Markdown, so spans, and what is
// cited, are those of that text.
package html

import (
	"bytes"
	"context"
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
)

// MediaType is the media type of HTML.
const MediaType = "text/html"

// maxReadability is the size in bytes above which the main content is not looked for, since that takes more than linear time.
const maxReadability = 4 << 20

// Reader reads HTML in any encoding. The zero value is ready and safe for concurrent use.
type Reader struct{}

var _ exhibit.Reader = Reader{}

// Read implements exhibit.Reader. The main content is what readability finds, if that is at least seven tenths of the words that stand
// outside navigation, headers, footers and asides; else it is all of those. The title is the page's.
//
// Of links, only absolute addresses are kept; emphasis and images are not, but for the alternative text of an image if it has several
// words. Tables used for layout are read as text.
func (Reader) Read(ctx context.Context, src exhibit.Source) (exhibit.Document, error) {
	doc, err := source.Document(ctx, src, MediaType, declared(src.Data))
	if err != nil {
		return exhibit.Document{}, err
	}
	root, err := html.Parse(strings.NewReader(doc.Text))
	if err != nil {
		doc.Warnings = append(doc.Warnings, "the page cannot be parsed and is read without structure: "+err.Error())
		doc.Text, doc.Blocks = flat(doc.Text)
	} else {
		doc.Text, doc.Blocks, doc.Title = content(root, len(doc.Text), title(root))
	}
	if len(doc.Blocks) == 0 {
		return exhibit.Document{}, source.NoText(src, len(src.Data))
	}
	return doc, nil
}

// declared returns the encoding that the page names in a meta element of its first kilobytes, or "".
func declared(data []byte) string {
	z := html.NewTokenizer(bytes.NewReader(data[:min(len(data), 4096)]))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if token.Data != "meta" {
				continue
			}
			for _, a := range token.Attr {
				name := a.Val
				if a.Key == "content" {
					_, name, _ = strings.Cut(strings.ToLower(a.Val), "charset=")
				} else if a.Key != "charset" {
					continue
				}
				if name = strings.Trim(name, " \t\r\n\"';"); name != "" {
					return name
				}
			}
		}
	}
}

// content renders the main content of a page of so many bytes, and shortens its title.
func content(root *html.Node, size int, title string) (string, []exhibit.Block, string) {
	page := render(root, true)
	if len(page.blocks) == 0 {
		page = render(root, false) // all of it is navigation, header or footer
	}
	text, blocks := page.done()
	if size > maxReadability {
		return text, blocks, title
	}
	prepare(root, page.main)
	base := &url.URL{Scheme: "about", Opaque: "blank"}
	article, err := readability.FromDocument(root, base)
	if err != nil || article.Node == nil {
		return text, blocks, title
	}
	// Readability takes the site's name off the title, and now and then makes one up.
	if t := strings.Join(strings.Fields(article.Title()), " "); t != "" && strings.Contains(title, t) {
		title = t
	}
	if main := render(article.Node, true); 10*words(main) >= 7*words(page) {
		text, blocks = main.done()
	}
	return text, blocks, title
}

// prepare takes out of a page what is no content, and notes in attributes what readability changes: the levels of headings and the
// languages of code.
func prepare(n *html.Node, main bool) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type != html.ElementNode:
		case c.Data != "head" && leaveOut(c, main):
			n.RemoveChild(c)
		case len(c.Data) == 2 && c.Data[0] == 'h' && c.Data[1] >= '1' && c.Data[1] <= '6':
			c.Attr = append(c.Attr, html.Attribute{Key: levelAttr, Val: c.Data[1:]})
		case c.Data == "pre":
			if l := language(c); l != "" {
				c.Attr = append(c.Attr, html.Attribute{Key: languageAttr, Val: l})
			}
		}
		prepare(c, main)
		c = next
	}
}

// The attributes that prepare sets.
const (
	levelAttr    = "data-exhibit-level"
	languageAttr = "data-exhibit-language"
)

func words(w *writer) int { return len(strings.Fields(w.text.String())) }

// title returns the text of the title element, else of the first h1.
func title(root *html.Node) string {
	for _, name := range [...]string{"title", "h1"} {
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && n.Data == name && n.Namespace == "" {
				if t := strings.Join(strings.Fields(textOf(n)), " "); t != "" {
					return t
				}
			}
		}
	}
	return ""
}

// textOf returns the text below a node as it stands.
func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// flat takes the text out of markup that is nested too deeply to be parsed.
func flat(markup string) (string, []exhibit.Block) {
	w := newWriter(false)
	z := html.NewTokenizer(strings.NewReader(markup))
	hidden := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			w.flush()
			return w.done()
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			token := z.Token()
			switch {
			case hidden == "" && token.Type == html.StartTagToken && dropped(token.Data):
				hidden = token.Data
			case token.Data == hidden && token.Type == html.EndTagToken:
				hidden = ""
			}
			if isBlock(token.Data) {
				w.flush()
			}
		case html.TextToken:
			if hidden == "" {
				w.inline(string(z.Text()))
			}
		}
	}
}
