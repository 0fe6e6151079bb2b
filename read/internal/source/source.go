// Package source holds what all readers of text begin with: decoding, and the errors for sources without text.
package source

import (
	"context"
	"strings"
	"unicode"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/charset"
)

// Name is what errors call a source: its path, or its docId where it has none.
func Name(src exhibit.Source) string {
	if src.Path != "" {
		return src.Path
	}
	return src.DocID
}

// Document decodes the source and returns a document with its text and what is known from outside. MediaType is what the document is
// where the source does not say; declared is the encoding that the source itself names, or "". The error is that of ctx, or wraps
// ErrUnsupportedMedia for binary data and ErrNoText for a text of nothing but white space.
func Document(ctx context.Context, src exhibit.Source, mediaType, declared string) (exhibit.Document, error) {
	if err := ctx.Err(); err != nil {
		return exhibit.Document{}, err
	}
	t, err := charset.Decode(src.Data, declared)
	if err != nil {
		return exhibit.Document{}, &exhibit.Error{Op: "read", Source: Name(src), Kind: exhibit.ErrUnsupportedMedia, Err: err,
			Hint: "this file is binary; exclude it, or convert it to text"}
	}
	doc := exhibit.Document{DocID: src.DocID, Source: src.Path, MediaType: src.MediaType, Text: t.Text, Warnings: t.Warnings}
	if doc.MediaType == "" {
		doc.MediaType = mediaType
	}
	if !HasText(t.Text) {
		return exhibit.Document{}, NoText(src, len(src.Data))
	}
	return doc, nil
}

// NoText is the error for a source that yields no text.
func NoText(src exhibit.Source, size int) error {
	e := &exhibit.Error{Op: "read", Source: Name(src), Kind: exhibit.ErrNoText, Hint: "add text to the file, or exclude it"}
	if size == 0 {
		e.Hint = "the file is empty; add text to it, or exclude it"
	}
	return e
}

// HasText tells whether a text has a character that is seen: neither white space nor a control or format character.
func HasText(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf)
	}) >= 0
}

// HasWord tells whether a text has a letter or a digit.
func HasWord(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) >= 0
}
