// Package jsonl reads documents from JSON lines: one object a line, with the fields doc_id (or _id), text, and optionally title, source,
// media_type and metadata.
package jsonl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
)

// Version names the rules by which lines become documents; see read.Version.
const Version = "jsonl 1"

// MaxDocument is the most bytes of text of one document. A line may have twice as many, and one MiB.
const MaxDocument = 64 << 20

// Documents yields the documents of r, in order. Name is what errors and, where a line has none, the documents call their source.
//
// Every line yields a document or an error that names the line; after an error the next line follows, so that one bad line costs no
// other. Only an error of r itself, or of ctx, ends the sequence. Errors wrap exhibit.ErrMalformed, ErrInvalid (an id that is missing or that an
// earlier line has), ErrNoText, ErrTooLarge or ErrUnreadable.
//
// The id may be a string or a whole number. Fields beyond those named become metadata, unless metadata holds one of that name. The text
// is taken as it is; its blocks are those of plain text, or of Markdown where media_type is text/markdown. Empty lines are skipped.
func Documents(ctx context.Context, name string, r io.Reader) iter.Seq2[exhibit.Document, error] {
	return documents(ctx, name, r, MaxDocument)
}

func documents(ctx context.Context, name string, r io.Reader, limit int) iter.Seq2[exhibit.Document, error] {
	return func(yield func(exhibit.Document, error) bool) {
		lines := lineReader{r: bufio.NewReaderSize(r, 1<<16), limit: 2*limit + 1<<20}
		seen := map[string]int{}
		for number := 1; ; number++ {
			if err := ctx.Err(); err != nil {
				yield(exhibit.Document{}, err)
				return
			}
			line, err := lines.next()
			if errors.Is(err, io.EOF) {
				return
			}
			at := fmt.Sprintf("%s:%d", name, number)
			if err != nil && !errors.Is(err, exhibit.ErrTooLarge) {
				yield(exhibit.Document{}, &exhibit.Error{Op: "read", Source: at, Kind: exhibit.ErrUnreadable, Err: err})
				return
			}
			if number == 1 {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if err == nil && len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			var doc exhibit.Document
			if err == nil {
				doc, err = parse(line, limit)
			}
			if err == nil {
				if first, ok := seen[doc.DocID]; ok {
					err = &exhibit.Error{Kind: exhibit.ErrInvalid, Err: fmt.Errorf("the id %q is already that of line %d", doc.DocID, first), Hint: "give each document an id of its own"}
				} else {
					seen[doc.DocID] = number
				}
			}
			if err != nil {
				doc, err = exhibit.Document{}, located(err, at)
			} else if doc.Source == "" {
				doc.Source = name
			}
			if !yield(doc, err) {
				return
			}
		}
	}
}

// located adds the line to an error, and the hint of what it wraps.
func located(err error, at string) error {
	var e *exhibit.Error
	if errors.As(err, &e) {
		c := *e
		c.Op, c.Source = "read", at
		return &c
	}
	return &exhibit.Error{Op: "read", Source: at, Kind: exhibit.ErrMalformed, Err: err, Hint: "each line must be one JSON object"}
}

// lineReader reads lines of bounded length.
type lineReader struct {
	r     *bufio.Reader
	limit int
	buf   []byte
}

// next returns the next line without its end, valid until the next call. A line above the limit is passed over.
func (l *lineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	over := 0
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(part) > l.limit || over > 0 {
			over += len(l.buf) + len(part)
			l.buf = l.buf[:0]
		} else {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case err != nil && len(l.buf) == 0 && over == 0:
			return nil, io.EOF
		case over > 0:
			return nil, &exhibit.Error{Kind: exhibit.ErrTooLarge, Err: fmt.Errorf("the line has %d bytes, more than %d", over, l.limit), Hint: "split the document"}
		}
		return bytes.TrimRight(l.buf, "\r\n"), nil
	}
}

// parse makes a document of one line.
func parse(line []byte, limit int) (exhibit.Document, error) {
	var doc exhibit.Document
	if !utf8.Valid(line) {
		doc.Warnings = append(doc.Warnings, "bytes that are not valid UTF-8 stand as U+FFFD")
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		if err == nil {
			err = errors.New("null is no object")
		}
		return doc, fmt.Errorf("not a JSON object: %w", err)
	}
	var err error
	if doc.DocID, err = id(fields); err != nil {
		return doc, err
	}
	for _, f := range [...]struct {
		name string
		to   *string
	}{{"text", &doc.Text}, {"title", &doc.Title}, {"source", &doc.Source}, {"media_type", &doc.MediaType}} {
		raw, ok := fields[f.name]
		delete(fields, f.name)
		if ok && json.Unmarshal(raw, f.to) != nil {
			return doc, fmt.Errorf("the field %q is no string", f.name)
		}
	}
	doc.Title = strings.Join(strings.Fields(doc.Title), " ")
	if doc.Metadata, err = metadata(fields); err != nil {
		return doc, err
	}
	return doc, structure(&doc, limit)
}
