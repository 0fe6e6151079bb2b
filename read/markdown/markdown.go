// Package markdown reads Markdown (CommonMark with GFM tables) and MDX. The text form is the file's own text, so spans are those of the
// source; the blocks say where its structure stands.
package markdown

import (
	"context"
	"fmt"
	"strings"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
	"github.com/exhibit-rag/exhibit/read/plain"
)

// The media types that Reader reads.
const (
	MediaType    = "text/markdown"
	MediaTypeMDX = "text/mdx"
)

// Reader reads Markdown and MDX. The zero value is ready and safe for concurrent use.
type Reader struct{}

var _ exhibit.Reader = Reader{}

// Read implements exhibit.Reader. Front matter (YAML between lines ---, or the plain values of TOML between lines +++) becomes title
// and metadata and is in no block. The title is that of the front matter, else of the first heading of level 1.
//
// No block covers HTML comments, tags without text, rules, and the import and export lines of MDX; they stay in the text.
func (Reader) Read(ctx context.Context, src exhibit.Source) (exhibit.Document, error) {
	doc, err := source.Document(ctx, src, MediaType, "")
	if err != nil {
		return exhibit.Document{}, err
	}
	front := parseFront(doc.Text)
	doc.Title, doc.Metadata = front.title, front.metadata
	doc.Warnings = append(doc.Warnings, front.warnings...)
	if tooDeep(doc.Text) {
		doc.Warnings = append(doc.Warnings, fmt.Sprintf("a line opens more than %d lists or quotes; the file is read as plain text", maxNesting))
		doc.Blocks = plain.Blocks(doc.Text)
	} else {
		doc.Blocks = blocks(doc.Text, front.end, doc.MediaType == MediaTypeMDX)
	}
	if len(doc.Blocks) == 0 {
		return exhibit.Document{}, source.NoText(src, len(src.Data))
	}
	if doc.Title == "" {
		doc.Title = firstTitle(doc.Blocks)
	}
	return doc, nil
}

// Blocks returns the structure of a Markdown text without front matter; that of plain text, if a line opens more than a hundred lists or
// quotes.
func Blocks(text string) []exhibit.Block {
	if tooDeep(text) {
		return plain.Blocks(text)
	}
	return blocks(text, 0, false)
}

// firstTitle returns the first heading of level 1, or where there is none, the heading that the text begins with, if no other is of its
// level or above.
func firstTitle(blocks []exhibit.Block) string {
	title, top := "", 0
	for i, b := range blocks {
		switch {
		case b.Kind != exhibit.BlockHeading:
		case b.Level == 1:
			return strings.Join(strings.Fields(b.Title), " ")
		case i == 0:
			title, top = strings.Join(strings.Fields(b.Title), " "), b.Level
		case b.Level <= top:
			title = ""
		}
	}
	return title
}
