// Package wire declares, once for every face (the command line's JSON, HTTP, tools of agents), the objects that travel
// as JSON, and converts the library's types into them. Fields stand in the order in which they are written.
//
// What is absent is left out and never null; lists are never null; nothing is escaped for HTML; numbers are finite.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
)

// List is a list that is written as [] where it is empty, never as null.
type List[T any] []T

// MarshalJSON writes the list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if len(l) == 0 {
		return []byte("[]"), nil
	}
	return Marshal([]T(l))
}

// Marshal writes v as compact JSON without HTML escaping and without a final newline.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalIndent writes v as JSON indented by two spaces, without HTML escaping and without a final newline.
func MarshalIndent(v any) ([]byte, error) {
	flat, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, flat, "", "  "); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// MarshalLine writes an object as one line of JSON lines: compact, with the field "type" in front, without a final
// newline. It is an error if v is no object.
func MarshalLine(kind string, v any) ([]byte, error) {
	body, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, errors.New("a line of JSON lines must be an object")
	}
	name, err := Marshal(kind)
	if err != nil {
		return nil, err
	}
	line := append([]byte(`{"type":`), name...)
	if len(body) > 2 {
		line = append(line, ',')
	}
	return append(line, body[1:]...), nil
}

// member is one named value of an object whose names are data.
type member struct {
	name  string
	value any
}

// marshalMembers writes an object with its members in the order given.
func marshalMembers(members []member) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// finite returns a pointer to a number that JSON can hold, and nil for any other.
func finite(n float64) *float64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return &n
}
