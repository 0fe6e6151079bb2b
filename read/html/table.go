package html

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/exhibit-rag/exhibit"
)

// maxSpan bounds what a cell may claim to span.
const maxSpan = 64

// table writes a table as rows of | cell |; what is no table of data is read as text.
func (w *writer) table(n *html.Node) {
	w.flush()
	rows, caption := tableRows(n)
	if layout(n, rows) {
		w.children(n)
		w.flush()
		return
	}
	if caption != nil {
		w.children(caption)
		w.flush()
	}
	grid, heads := w.grid(rows)
	columns := 0
	for _, r := range grid {
		columns = max(columns, len(r))
	}
	var s strings.Builder
	b := exhibit.Block{Kind: exhibit.BlockTable}
	for i, r := range grid {
		if i > 0 {
			s.WriteByte('\n')
			if i > 1 || heads == 0 {
				b.Rows = append(b.Rows, s.Len())
			}
		}
		s.WriteByte('|')
		for k := range columns {
			cell := ""
			if k < len(r) {
				cell = r[k]
			}
			s.WriteString(" " + cell + " |")
		}
		if i == 0 {
			s.WriteString("\n|" + strings.Repeat("---|", columns))
		}
		if i == heads-1 && i < len(grid)-1 {
			b.Header = s.Len() + 1
		}
	}
	if heads > 0 && len(grid) > heads {
		b.Rows = append([]int{b.Header}, b.Rows...)
		for len(b.Rows) > 1 && b.Rows[1] <= b.Header {
			b.Rows = append(b.Rows[:1], b.Rows[2:]...)
		}
	}
	if s.Len() > 0 {
		w.block(b, s.String(), "")
	}
}

// tableRows returns the rows of a table, not those of tables inside it, and its caption.
func tableRows(n *html.Node) (rows []*html.Node, caption *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode:
		case c.Data == "tr":
			rows = append(rows, c)
		case c.Data == "thead" || c.Data == "tbody" || c.Data == "tfoot":
			inner, _ := tableRows(c)
			rows = append(rows, inner...)
		case c.Data == "caption":
			caption = c
		}
	}
	return rows, caption
}

func cells(row *html.Node) []*html.Node {
	var out []*html.Node
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && (c.Data == "td" || c.Data == "th") {
			out = append(out, c)
		}
	}
	return out
}

// layout tells whether a table only places things on the page: one column, one row without a heading cell, or tables, headings or code
// inside it.
func layout(n *html.Node, rows []*html.Node) bool {
	columns := 0
	heads := false
	for _, r := range rows {
		cs := cells(r)
		columns = max(columns, len(cs))
		for _, c := range cs {
			heads = heads || c.Data == "th"
		}
	}
	if columns < 2 || len(rows) < 2 && !heads {
		return true
	}
	if attr(n, "role") == "presentation" {
		return true
	}
	for d := range n.Descendants() {
		if d.Type == html.ElementNode {
			switch d.Data {
			case "table", "h1", "h2", "pre", "form":
				return true
			}
		}
	}
	return false
}

// grid returns the cells' texts, a cell that spans rows repeated in each, and the number of rows at the top that are headings.
func (w *writer) grid(rows []*html.Node) (grid [][]string, heads int) {
	type hanging struct {
		rows int
		text string
	}
	var down []hanging // by column
	for _, r := range rows {
		var out []string
		all, any := true, false
		hang := func() {
			for len(out) < len(down) && down[len(out)].rows > 0 {
				d := &down[len(out)]
				d.rows--
				out = append(out, d.text)
			}
		}
		for _, c := range cells(r) {
			hang()
			all, any = all && c.Data == "th", true
			text := w.cell(c)
			wide, deep := spanOf(c, "colspan"), spanOf(c, "rowspan")
			for i := range wide {
				for len(down) <= len(out) {
					down = append(down, hanging{})
				}
				if i > 0 {
					text = ""
				}
				down[len(out)] = hanging{deep - 1, text}
				out = append(out, text)
			}
		}
		hang()
		if !any || strings.TrimSpace(strings.Join(out, "")) == "" {
			continue
		}
		inHead := r.Parent != nil && r.Parent.Data == "thead"
		if (all || inHead) && heads == len(grid) {
			heads++
		}
		grid = append(grid, out)
	}
	if heads == len(grid) {
		heads = 0
	}
	return grid, heads
}

// cell returns a cell's text on one line.
func (w *writer) cell(c *html.Node) string {
	inner := newWriter(w.main)
	inner.children(c)
	inner.flush()
	s := strings.Join(strings.Fields(inner.text.String()), " ")
	return strings.ReplaceAll(s, "|", `\|`)
}

func spanOf(c *html.Node, name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attr(c, name)))
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxSpan)
}
