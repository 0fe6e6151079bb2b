// Package code reads text that is made of lines rather than of prose: source code of any language, configuration, logs, and tables of
// comma- or tab-separated values. It knows no grammar: lines, blank lines and indentation say where such a text may be cut.
package code

import (
	"context"
	"strings"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
)

// Reader reads source code and other text made of lines. The zero value is ready and safe for concurrent use.
type Reader struct{}

var _ exhibit.Reader = Reader{}

// Read implements exhibit.Reader. Text of the media types text/csv and text/tab-separated-values is one table whose first row is its
// header; all else is one block of code that may be cut at every line.
func (Reader) Read(ctx context.Context, src exhibit.Source) (exhibit.Document, error) {
	doc, err := source.Document(ctx, src, "text/plain", "")
	if err != nil {
		return exhibit.Document{}, err
	}
	switch doc.MediaType {
	case "text/csv", "text/tab-separated-values":
		doc.Blocks = []exhibit.Block{table(doc.Text)}
	default:
		doc.Blocks = []exhibit.Block{{Kind: exhibit.BlockCode, Start: 0, End: len(doc.Text), Rows: lineStarts(doc.Text)}}
	}
	return doc, nil
}

// table makes one block of comma-separated values. A line break inside quotes ends no row; where quotes do not balance, every line is
// a row.
func table(text string) exhibit.Block {
	b := exhibit.Block{Kind: exhibit.BlockTable, Start: 0, End: len(text)}
	pos, quotes := 0, 0
	for line := range strings.Lines(text) {
		pos += len(line)
		if quotes += strings.Count(line, `"`); quotes%2 == 0 && pos < len(text) {
			b.Rows = append(b.Rows, pos)
		}
	}
	if quotes%2 != 0 {
		b.Rows = lineStarts(text)
	}
	if len(b.Rows) > 0 {
		b.Header = b.Rows[0]
	}
	return b
}

// lineStarts returns where the lines of text begin, without the first.
func lineStarts(text string) []int {
	var out []int
	pos := 0
	for line := range strings.Lines(text) {
		if pos > 0 {
			out = append(out, pos)
		}
		pos += len(line)
	}
	return out
}
