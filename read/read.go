// Package read turns files and folders into documents.
//
// [Walk] lists the files of a folder, honouring ignore files; [File] reads the bytes of one; [Detect] names the type of some bytes;
// [Default] is the Reader that passes a source on to the reader of its type. Each family of formats has a package of its own below this
// one, the only place that knows the format's parser.
package read

import (
	"context"
	"errors"
	"fmt"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/chunk"
	"github.com/exhibit-rag/exhibit/read/code"
	"github.com/exhibit-rag/exhibit/read/html"
	"github.com/exhibit-rag/exhibit/read/internal/source"
	"github.com/exhibit-rag/exhibit/read/markdown"
	"github.com/exhibit-rag/exhibit/read/plain"
)

// Version names the rules by which sources become documents. It changes when a source may be read into other text, blocks, title or
// metadata than before, so that documents read by older rules can be read again.
const Version = "read 1"

// Default returns the Reader of all formats that this module reads. A source without a media type gets the one that Detect finds; the
// document carries it. The error of a source that no reader reads wraps exhibit.ErrUnsupportedMedia and says what it is.
func Default() exhibit.Reader { return dispatcher{} }

type dispatcher struct{}

func (dispatcher) Read(ctx context.Context, src exhibit.Source) (exhibit.Document, error) {
	if len(src.Data) == 0 {
		return exhibit.Document{}, source.NoText(src, 0)
	}
	if src.MediaType == "" {
		src.MediaType = Detect(nameOf(src), src.Data)
	}
	r := readerOf(src.MediaType)
	if r == nil {
		return exhibit.Document{}, unsupported(src)
	}
	doc, err := r.Read(ctx, src)
	if err != nil {
		return exhibit.Document{}, err
	}
	if err := chunk.Check(doc.Text, Structure(doc.Blocks)); err != nil {
		return exhibit.Document{}, &exhibit.Error{Op: "read", Source: source.Name(src), Err: fmt.Errorf("structure of %s: %w", src.MediaType, err)}
	}
	return doc, nil
}

func nameOf(src exhibit.Source) string {
	if src.Path != "" {
		return src.Path
	}
	return src.DocID
}

// readerOf returns the reader of a media type, or nil.
func readerOf(mediaType string) exhibit.Reader {
	switch mediaType {
	case markdown.MediaType, markdown.MediaTypeMDX:
		return markdown.Reader{}
	case html.MediaType, "application/xhtml+xml":
		return html.Reader{}
	case plain.MediaType, "message/rfc822", "text/x-rst", "text/x-asciidoc", "text/x-org", "text/x-tex", "text/vtt", "application/x-subrip":
		return plain.Reader{}
	}
	if isLines(mediaType) {
		return code.Reader{}
	}
	return nil
}

func unsupported(src exhibit.Source) error {
	e := &exhibit.Error{Op: "read", Source: source.Name(src), Kind: exhibit.ErrUnsupportedMedia,
		Err: fmt.Errorf("%s is not read yet", src.MediaType), Hint: "convert it to text, Markdown or HTML, or exclude it"}
	if src.MediaType == binary {
		e.Err, e.Hint = errors.New("binary data of no known type"), "exclude it"
	}
	return e
}

// Structure converts the blocks of a document to those that the chunker takes.
func Structure(blocks []exhibit.Block) []chunk.Block {
	out := make([]chunk.Block, len(blocks))
	for i, b := range blocks {
		out[i] = chunk.Block{Kind: kindOf(b.Kind), Level: b.Level, Start: b.Start, End: b.End, Title: b.Title, Header: b.Header, Rows: b.Rows}
	}
	return out
}

func kindOf(k exhibit.BlockKind) chunk.Kind {
	switch k {
	case exhibit.BlockHeading:
		return chunk.Heading
	case exhibit.BlockListItem:
		return chunk.ListItem
	case exhibit.BlockTable:
		return chunk.Table
	case exhibit.BlockCode:
		return chunk.Code
	case exhibit.BlockQuote:
		return chunk.Quote
	case exhibit.BlockRaw:
		return chunk.Raw
	}
	return chunk.Paragraph
}
