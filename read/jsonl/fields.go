package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
	"github.com/exhibit-rag/exhibit/read/markdown"
	"github.com/exhibit-rag/exhibit/read/plain"
)

// id takes the document's id out of the fields.
func id(fields map[string]json.RawMessage) (string, error) {
	var ids []string
	for _, name := range [...]string{"doc_id", "_id"} {
		raw, ok := fields[name]
		delete(fields, name)
		if !ok || string(raw) == "null" {
			continue
		}
		var s string
		var n json.Number
		if json.Unmarshal(raw, &s) != nil {
			if json.Unmarshal(raw, &n) != nil {
				return "", fmt.Errorf("the field %q is neither a string nor a number", name)
			}
			if _, err := n.Int64(); err != nil {
				return "", fmt.Errorf("the field %q is %s, no whole number", name, n)
			}
			s = n.String()
		}
		ids = append(ids, s)
	}
	switch {
	case len(ids) == 0 || !exhibit.ValidDocID(ids[0]):
		return "", &exhibit.Error{Kind: exhibit.ErrInvalid, Err: errors.New("no id"), Hint: `give each document an id in "doc_id" or "_id"`}
	case len(ids) == 2 && ids[0] != ids[1]:
		return "", &exhibit.Error{Kind: exhibit.ErrInvalid, Err: fmt.Errorf("doc_id is %q and _id is %q", ids[0], ids[1]), Hint: "leave one of them out"}
	}
	return ids[0], nil
}

// metadata returns the metadata of a line: what is left of the fields, and over them those of the field metadata.
func metadata(fields map[string]json.RawMessage) (exhibit.Metadata, error) {
	inner := map[string]json.RawMessage{}
	if raw, ok := fields["metadata"]; ok {
		if err := json.Unmarshal(raw, &inner); err != nil {
			return nil, errors.New(`the field "metadata" is no object`)
		}
		delete(fields, "metadata")
	}
	out := exhibit.Metadata{}
	for _, from := range [...]map[string]json.RawMessage{fields, inner} {
		for name, raw := range from {
			var v exhibit.Value
			if err := v.UnmarshalJSON(raw); err != nil {
				return nil, fmt.Errorf("metadata %q: %w", name, err)
			}
			out[name] = v
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// structure fills in the blocks of a document and holds its text to the limit.
func structure(doc *exhibit.Document, limit int) error {
	if len(doc.Text) > limit {
		return &exhibit.Error{Kind: exhibit.ErrTooLarge, Err: fmt.Errorf("%q has %d bytes of text, more than %d", doc.DocID, len(doc.Text), limit), Hint: "split the document"}
	}
	if !source.HasText(doc.Text) {
		return &exhibit.Error{Kind: exhibit.ErrNoText, Err: fmt.Errorf("%q has no text", doc.DocID), Hint: `give it text in the field "text"`}
	}
	switch doc.MediaType {
	case "", plain.MediaType:
		doc.MediaType, doc.Blocks = plain.MediaType, plain.Blocks(doc.Text)
	case markdown.MediaType:
		doc.Blocks = markdown.Blocks(doc.Text)
	default:
		return &exhibit.Error{Kind: exhibit.ErrUnsupportedMedia, Err: fmt.Errorf("media_type is %q", doc.MediaType),
			Hint: "text/plain and text/markdown are read from JSON lines"}
	}
	return nil
}
