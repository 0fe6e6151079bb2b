package exhibit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits of a filter.
const (
	MaxFilterNodes = 64
	MaxFilterDepth = 8
)

// Filter is a condition on a document's metadata, in the one shape that all faces share:
//
//	{"type":"eq|ne|gt|gte|lt|lte|in|nin|contains|starts_with|ends_with|exists","key":…,"value":…}
//	{"type":"and|or|not","filters":[…]}
//
// A list-valued key matches if any member does; ne and nin are the opposites of eq and in, so a missing key matches
// them. gt to lte compare two numbers or two strings and match nothing else. The keys doc_id, source, title and
// media_type are the document's own and win over metadata of that name. A nil *Filter matches everything.
type Filter struct {
	Type    string   `json:"type"`
	Key     string   `json:"key,omitempty"`
	Value   *Value   `json:"value,omitempty"`
	Filters []Filter `json:"filters,omitempty"`
}

// Eq returns the filter key = value.
func Eq(key string, value Value) Filter { return Filter{Type: "eq", Key: key, Value: &value} }

// All returns the filter that holds where every part holds, and nil for no parts.
func All(parts ...*Filter) *Filter {
	var some []Filter
	for _, p := range parts {
		if p != nil {
			some = append(some, *p)
		}
	}
	switch len(some) {
	case 0:
		return nil
	case 1:
		return &some[0]
	}
	return &Filter{Type: "and", Filters: some}
}

// Validate reports what is wrong with the filter. The error wraps ErrInvalid.
func (f *Filter) Validate() error {
	if f == nil {
		return nil
	}
	nodes := 0
	if err := f.validate(1, &nodes); err != nil {
		return &Error{Op: "filter", Kind: ErrInvalid, Err: err,
			Hint: "comparisons are eq ne gt gte lt lte in nin contains starts_with ends_with exists; and, or, not combine them"}
	}
	return nil
}

func (f *Filter) validate(depth int, nodes *int) error {
	if *nodes++; *nodes > MaxFilterNodes {
		return fmt.Errorf("more than %d nodes", MaxFilterNodes)
	}
	if depth > MaxFilterDepth {
		return fmt.Errorf("more than %d levels deep", MaxFilterDepth)
	}
	switch f.Type {
	case "and", "or", "not":
		if f.Key != "" || f.Value != nil {
			return fmt.Errorf("%s takes filters, no key and no value", f.Type)
		}
		if len(f.Filters) == 0 || f.Type == "not" && len(f.Filters) != 1 {
			return fmt.Errorf("%s has %d filters", f.Type, len(f.Filters))
		}
		for i := range f.Filters {
			if err := f.Filters[i].validate(depth+1, nodes); err != nil {
				return err
			}
		}
		return nil
	}
	return f.validateLeaf()
}

func (f *Filter) validateLeaf() error {
	if len(f.Filters) > 0 {
		return fmt.Errorf("%s takes no filters", f.Type)
	}
	if f.Key == "" {
		return fmt.Errorf("%q has no key", f.Type)
	}
	if f.Value == nil && f.Type != "exists" {
		return fmt.Errorf("%s on %s has no value", f.Type, f.Key)
	}
	switch f.Type {
	case "eq", "ne", "contains":
		return nil
	case "exists":
		if f.Value != nil && f.Value.kind != BoolValue {
			return errors.New("exists takes true or false")
		}
	case "gt", "gte", "lt", "lte":
		if f.Value.kind != NumberValue && f.Value.kind != StringValue {
			return fmt.Errorf("%s on %s takes a number or a string", f.Type, f.Key)
		}
	case "in", "nin":
		if f.Value.kind != ListValue {
			return fmt.Errorf("%s on %s takes a list", f.Type, f.Key)
		}
	case "starts_with", "ends_with":
		if f.Value.kind != StringValue {
			return fmt.Errorf("%s on %s takes a string", f.Type, f.Key)
		}
	default:
		return fmt.Errorf("unknown type %q", f.Type)
	}
	return nil
}

// Match reports whether a document passes. The lookup function answers a key's value and whether there is one. A
// filter that Validate refuses passes nothing where it is at fault.
func (f *Filter) Match(lookup func(key string) (Value, bool)) bool {
	if f == nil {
		return true
	}
	if f.Value == nil && f.Type != "exists" && f.Key != "" {
		return false
	}
	switch f.Type {
	case "and":
		for i := range f.Filters {
			if !f.Filters[i].Match(lookup) {
				return false
			}
		}
		return true
	case "or":
		for i := range f.Filters {
			if f.Filters[i].Match(lookup) {
				return true
			}
		}
		return false
	case "not":
		return len(f.Filters) == 1 && !f.Filters[0].Match(lookup)
	}
	if f.Key == "" {
		return false
	}
	v, ok := lookup(f.Key)
	switch f.Type {
	case "exists":
		return ok == (f.Value == nil || f.Value.b)
	case "ne":
		return !ok || !anyMember(v, f.Value.Equal)
	case "nin":
		return !ok || !anyMember(v, f.inList)
	}
	return ok && anyMember(v, f.matchOne)
}

func anyMember(v Value, test func(Value) bool) bool {
	for _, m := range v.Members() {
		if test(m) {
			return true
		}
	}
	return false
}

func (f *Filter) inList(v Value) bool {
	for _, w := range f.Value.list {
		if w.Equal(v) {
			return true
		}
	}
	return false
}

func (f *Filter) matchOne(v Value) bool {
	switch f.Type {
	case "eq":
		return v.Equal(*f.Value)
	case "in":
		return f.inList(v)
	case "contains":
		return v.Equal(*f.Value) || v.kind == StringValue && f.Value.kind == StringValue && strings.Contains(v.s, f.Value.s)
	case "starts_with":
		return v.kind == StringValue && strings.HasPrefix(v.s, f.Value.s)
	case "ends_with":
		return v.kind == StringValue && strings.HasSuffix(v.s, f.Value.s)
	}
	order, ok := v.compare(*f.Value)
	if !ok {
		return false
	}
	switch f.Type {
	case "gt":
		return order > 0
	case "gte":
		return order >= 0
	case "lt":
		return order < 0
	case "lte":
		return order <= 0
	}
	return false
}

// canonical prints the filter in one fixed form, "" for nil.
func (f *Filter) canonical() string {
	if f == nil {
		return ""
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
