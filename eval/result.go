package eval

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/exhibit-rag/exhibit"
)

// Value is what a measure gave.
type Value struct {
	Measure Measure
	Value   float64
}

// Values are written to JSON as one object, measure by measure.
type Values []Value

// Get returns the value of a measure by its name, such as "nDCG@10".
func (v Values) Get(name string) (float64, bool) {
	for _, one := range v {
		if one.Measure.String() == name {
			return one.Value, true
		}
	}
	return 0, false
}

// MarshalJSON writes {"nDCG@10": …, …} in the order of the list.
func (v Values) MarshalJSON() ([]byte, error) {
	return object(len(v), func(i int) (string, any) { return v[i].Measure.String(), v[i].Value })
}

// QueryValues are the values of one question.
type QueryValues struct {
	QueryID string
	Values  Values
}

// Result is what an evaluation found. Whoever asked adds settings and revision before it is written.
type Result struct {
	Level    Level
	Queries  int                 // questions that count
	Measures Values              // means over them
	PerQuery []QueryValues       // in the order of the set
	Settings []exhibit.Effective // of the lookups
	Revision string              // of the data
	Run      *Run                // the rankings; not part of the JSON
}

// MarshalJSON writes {"level", "queries", "measures", "per_query", "settings", "revision"}.
func (r *Result) MarshalJSON() ([]byte, error) {
	perQuery, err := object(len(r.PerQuery), func(i int) (string, any) { return r.PerQuery[i].QueryID, r.PerQuery[i].Values })
	if err != nil {
		return nil, err
	}
	settings, err := object(len(r.Settings), func(i int) (string, any) {
		s := r.Settings[i]
		return s.Key, struct {
			Value exhibit.Value  `json:"value"`
			From  exhibit.Origin `json:"from"`
		}{s.Value, s.From}
	})
	if err != nil {
		return nil, err
	}
	return encode(struct {
		Level    Level           `json:"level"`
		Queries  int             `json:"queries"`
		Measures Values          `json:"measures"`
		PerQuery json.RawMessage `json:"per_query"`
		Settings json.RawMessage `json:"settings"`
		Revision string          `json:"revision,omitempty"`
	}{r.Level, r.Queries, r.Measures, perQuery, settings, r.Revision})
}

// object writes n members in their order, which a map would lose.
func object(n int, member func(i int) (string, any)) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		name, v := member(i)
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		value, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode is json.Marshal without the escaping of HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
