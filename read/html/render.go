package html

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
)

// render writes what stands below a node. With main, navigation, headers, footers and asides are left out.
func render(root *html.Node, main bool) *writer {
	w := newWriter(main)
	w.children(root)
	w.flush()
	return w
}

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

func (w *writer) node(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		w.inline(n.Data)
		return
	case n.Type != html.ElementNode:
		w.children(n)
		return
	case leaveOut(n, w.main):
		return
	}
	switch n.Data {
	case "br":
		w.breakLine()
	case "h1", "h2", "h3", "h4", "h5", "h6":
		level := int(n.Data[1] - '0')
		if l := attr(n, levelAttr); len(l) == 1 && l[0] >= '1' && l[0] <= '6' {
			level = int(l[0] - '0')
		}
		w.heading(n, level)
	case "ul", "ol", "menu", "dir":
		w.list(n)
	case "dl":
		w.definitions(n)
	case "pre", "listing", "xmp":
		w.pre(n)
	case "table":
		w.table(n)
	case "blockquote":
		w.quote(n)
	case "code", "kbd", "samp":
		w.code(n)
	case "a":
		w.link(n)
	case "img":
		if alt := attr(n, "alt"); strings.Contains(strings.TrimSpace(alt), " ") {
			w.inline(" " + alt + " ")
		}
	case "iframe":
		w.frame(n)
	case "q":
		w.inline(`"`)
		w.children(n)
		w.inline(`"`)
	default:
		if isBlock(n.Data) {
			w.flush()
			w.children(n)
			w.flush()
			return
		}
		w.children(n)
	}
}

// leaveOut tells whether an element is not content; with main, neither are navigation, headers, footers and asides.
func leaveOut(n *html.Node, main bool) bool {
	if dropped(n.Data) || n.Namespace != "" && n.Data != "math" {
		return true
	}
	hidden := false
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			hidden = true
		case "style":
			hidden = hidden || strings.Contains(strings.ReplaceAll(a.Val, " ", ""), "display:none")
		case "role":
			hidden = hidden || main && (a.Val == "navigation" || a.Val == "banner" || a.Val == "contentinfo" || a.Val == "search")
		}
	}
	if hidden || !main {
		return hidden
	}
	switch n.Data {
	case "nav", "footer", "aside":
		return true
	case "header": // of an article it holds the title
		for p := n.Parent; p != nil; p = p.Parent {
			if p.Data == "article" || p.Data == "main" || p.Data == "section" {
				return false
			}
		}
		return true
	}
	return false
}

// dropped tells whether an element never holds text to be read.
func dropped(name string) bool {
	switch name {
	case "head", "script", "style", "noscript", "template", "svg", "canvas", "object", "embed", "audio", "video", "select", "textarea",
		"input", "button", "annotation", "noframes":
		return true
	}
	return false
}

func isBlock(name string) bool {
	switch name {
	case "address", "article", "aside", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt", "fieldset", "figcaption",
		"figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "main", "nav", "ol",
		"p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "blockquote":
		return true
	}
	return false
}

func (w *writer) heading(n *html.Node, level int) {
	w.flush()
	if w.depth > 0 { // a heading inside a list heads nothing beyond its item
		w.children(n)
		w.flush()
		return
	}
	w.kind, w.level, w.marker = exhibit.BlockHeading, level, strings.Repeat("#", level)+" "
	w.children(n)
	w.flush()
	w.kind, w.level, w.marker = exhibit.BlockParagraph, 0, ""
}

func (w *writer) list(n *html.Node) {
	w.flush()
	number := 1
	if s, err := strconv.Atoi(attr(n, "start")); err == nil {
		number = s
	}
	outer, marker := w.indent, w.marker
	if w.depth > 0 {
		w.indent += "  "
	}
	w.depth++
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.Data == "li" && !leaveOut(c, w.main) {
			w.marker = "- "
			if n.Data == "ol" {
				w.marker = strconv.Itoa(number) + ". "
				number++
			}
			w.children(c)
			w.flush()
			continue
		}
		w.node(c)
	}
	w.flush()
	w.depth--
	w.indent, w.marker = outer, marker
	if w.depth > 0 {
		w.marker = "" // what follows in the outer item has had its marker
	}
}

// definitions writes a term as an item and what defines it as an item below.
func (w *writer) definitions(n *html.Node) {
	w.flush()
	outer, marker, depth := w.indent, w.marker, w.depth
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.ElementNode && c.Data == "dt":
				w.depth, w.indent, w.marker = depth+1, outer, "- "
				w.children(c)
			case c.Type == html.ElementNode && c.Data == "dd":
				w.depth, w.indent, w.marker = depth+2, outer+"  ", "- "
				w.children(c)
			case c.Type == html.ElementNode && c.Data == "div":
				walk(c)
			default:
				w.node(c)
			}
			w.flush()
		}
	}
	walk(n)
	w.indent, w.marker, w.depth = outer, marker, depth
}

func (w *writer) pre(n *html.Node) {
	w.flush()
	code := strings.Trim(strings.ReplaceAll(textOf(n), "\r", ""), "\n")
	if !source.HasText(code) {
		return
	}
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	s := fence + language(n) + "\n" + code + "\n" + fence
	b := exhibit.Block{Kind: exhibit.BlockCode}
	pos := 0
	for line := range strings.Lines(s) {
		b.Rows = append(b.Rows, pos)
		pos += len(line)
	}
	b.Rows = b.Rows[2 : len(b.Rows)-1] // neither after the opening fence nor before the closing one
	w.block(b, s, "")
}

// language returns the language named by a class such as language-go, of the element or the code inside it.
func language(n *html.Node) string {
	if l := attr(n, languageAttr); l != "" && !strings.ContainsAny(l, "` \t\n") {
		return l
	}
	for e := n; e != nil; e = e.FirstChild {
		for _, class := range strings.Fields(attr(e, "class")) {
			for _, prefix := range [...]string{"language-", "lang-", "highlight-source-"} {
				if l, ok := strings.CutPrefix(class, prefix); ok && !strings.ContainsAny(l, "`") {
					return l
				}
			}
		}
	}
	return ""
}

func (w *writer) code(n *html.Node) {
	s := strings.Join(strings.Fields(textOf(n)), " ")
	if s == "" {
		return
	}
	if strings.Contains(s, "`") || w.kind == exhibit.BlockHeading {
		w.inline(s)
		return
	}
	w.word("`" + s + "`")
}

// link writes the text of a link and, where its address is absolute and says more than the text, the address.
func (w *writer) link(n *html.Node) {
	href := strings.TrimSpace(attr(n, "href"))
	absolute := strings.HasPrefix(href, "http://") || strings.HasPrefix(href, "https://") || strings.HasPrefix(href, "mailto:")
	text := strings.Join(strings.Fields(textOf(n)), " ")
	if !absolute || text == "" || w.kind == exhibit.BlockHeading || w.href >= 0 || len(href) > 200 || strings.ContainsAny(href, " ()<>\n") ||
		strings.Contains(href, text) || holdsBlock(n) {
		w.children(n)
		return
	}
	w.word("[")
	w.href = w.line.Len()
	w.children(n)
	w.space = false
	w.word("](" + href + ")")
	w.href = -1
}

func holdsBlock(n *html.Node) bool {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && isBlock(d.Data) {
			return true
		}
	}
	return false
}

// quote writes what stands inside with > before each line, as one block.
func (w *writer) quote(n *html.Node) {
	w.flush()
	inner := newWriter(w.main)
	inner.children(n)
	inner.flush()
	if len(inner.blocks) == 0 {
		return
	}
	var b strings.Builder
	for line := range strings.Lines(inner.text.String()) {
		b.WriteString(strings.TrimRight("> "+line, " \n"))
		b.WriteByte('\n')
	}
	w.block(exhibit.Block{Kind: exhibit.BlockQuote}, strings.TrimSuffix(b.String(), "\n"), w.indent)
}

// frame reads a page that stands in an attribute of its frame.
func (w *writer) frame(n *html.Node) {
	doc := attr(n, "srcdoc")
	if doc == "" {
		return
	}
	inner, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		return
	}
	w.flush()
	for c := range inner.Descendants() {
		if c.Type == html.ElementNode && c.Data == "iframe" {
			c.Attr = nil // one frame deep is deep enough
		}
	}
	w.children(inner)
	w.flush()
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
