package exhibit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ValueKind says what a metadata value is.
type ValueKind uint8

// The kinds of metadata value.
const (
	NullValue ValueKind = iota
	StringValue
	NumberValue
	BoolValue
	ListValue
)

// Value is one typed metadata value. It is immutable; the zero Value is null.
type Value struct {
	kind ValueKind
	s    string // a string, or a number in the spelling it came in
	n    float64
	b    bool
	list []Value
}

// Metadata is what is known about a document or a hit, by name.
type Metadata map[string]Value

// String returns a string value.
func String(s string) Value { return Value{kind: StringValue, s: s} }

// Number returns a number value. NaN and infinities are kept, and are no chunk index.
func Number(n float64) Value {
	return Value{kind: NumberValue, n: n, s: strconv.FormatFloat(n, 'g', -1, 64)}
}

// Int returns a number value that prints without a fraction or exponent.
func Int(n int) Value { return Value{kind: NumberValue, n: float64(n), s: strconv.Itoa(n)} }

// Bool returns a truth value.
func Bool(b bool) Value { return Value{kind: BoolValue, b: b} }

// List returns a value that holds several.
func List(members ...Value) Value { return Value{kind: ListValue, list: slices.Clone(members)} }

// Strings returns a list of string values.
func Strings(members ...string) Value {
	list := make([]Value, len(members))
	for i, m := range members {
		list[i] = String(m)
	}
	return Value{kind: ListValue, list: list}
}

// Kind returns what the value is.
func (v Value) Kind() ValueKind { return v.kind }

// Members returns the members of a list, and the value alone otherwise; null has none.
func (v Value) Members() []Value {
	switch v.kind {
	case ListValue:
		return v.list
	case NullValue:
		return nil
	}
	return []Value{v}
}

// Text returns the value as a string: a string as it is, a number in its spelling, a truth value as true or false, a
// list as its first member, null as "".
func (v Value) Text() string {
	switch v.kind {
	case StringValue, NumberValue:
		return v.s
	case BoolValue:
		return strconv.FormatBool(v.b)
	case ListValue:
		if len(v.list) > 0 {
			return v.list[0].Text()
		}
	}
	return ""
}

// Float returns the number, and whether the value is one.
func (v Value) Float() (float64, bool) { return v.n, v.kind == NumberValue }

// Equal reports whether two values are the same: of one kind, numbers by value, lists by their members in order.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case StringValue:
		return v.s == w.s
	case NumberValue:
		return v.n == w.n
	case BoolValue:
		return v.b == w.b
	case ListValue:
		return slices.EqualFunc(v.list, w.list, Value.Equal)
	}
	return true
}

// compare orders two strings or two numbers; ok is false for all else.
func (v Value) compare(w Value) (order int, ok bool) {
	switch {
	case v.kind == StringValue && w.kind == StringValue:
		return strings.Compare(v.s, w.s), true
	case v.kind == NumberValue && w.kind == NumberValue:
		if v.n < w.n {
			return -1, true
		}
		if v.n > w.n {
			return 1, true
		}
		return 0, v.n == w.n
	}
	return 0, false
}

// MarshalJSON writes the value as the JSON it stands for; a number that JSON cannot hold becomes null.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case StringValue:
		return marshalPlain(v.s)
	case NumberValue:
		if math.IsNaN(v.n) || math.IsInf(v.n, 0) {
			return []byte("null"), nil
		}
		if json.Valid([]byte(v.s)) {
			return []byte(v.s), nil
		}
		return json.Marshal(v.n)
	case BoolValue:
		return strconv.AppendBool(nil, v.b), nil
	case ListValue:
		var b bytes.Buffer
		b.WriteByte('[')
		for i, m := range v.list {
			if i > 0 {
				b.WriteByte(',')
			}
			one, err := m.MarshalJSON()
			if err != nil {
				return nil, err
			}
			b.Write(one)
		}
		b.WriteByte(']')
		return b.Bytes(), nil
	}
	return []byte("null"), nil
}

func marshalPlain(s string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads a string, number, truth value, null, or a list of them. An object is kept as its JSON text.
func (v *Value) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return fmt.Errorf("%w: empty metadata value", ErrMalformed)
	}
	switch data[0] {
	case '"':
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*v = String(s)
	case 't', 'f':
		*v = Bool(data[0] == 't')
	case 'n':
		*v = Value{}
	case '[':
		var list []Value
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		*v = List(list...)
	case '{':
		var b bytes.Buffer
		if err := json.Compact(&b, data); err != nil {
			return err
		}
		*v = String(b.String())
	default:
		n, err := strconv.ParseFloat(string(data), 64)
		if err != nil && !math.IsInf(n, 0) {
			return fmt.Errorf("%w: metadata number %q", ErrMalformed, data)
		}
		*v = Value{kind: NumberValue, n: n, s: string(data)}
	}
	return nil
}

// Keys returns the names in byte order.
func (m Metadata) Keys() []string { return slices.Sorted(maps.Keys(m)) }

// MarshalJSON writes the names in byte order, without HTML escaping.
func (m Metadata) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range m.Keys() {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshalPlain(k)
		if err != nil {
			return nil, err
		}
		value, err := m[k].MarshalJSON()
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
