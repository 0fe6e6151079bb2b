package main

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/exhibit-rag/exhibit"
)

// parseFilters reads --filter KEY=VALUE conditions and a --filter-json, all of which must hold.
func parseFilters(conditions []string, raw string) (*exhibit.Filter, error) {
	var parts []*exhibit.Filter
	for _, c := range conditions {
		f, err := parseCondition(c)
		if err != nil {
			return nil, err
		}
		parts = append(parts, f)
	}
	if raw != "" {
		var f exhibit.Filter
		dec := json.NewDecoder(strings.NewReader(raw))
		dec.DisallowUnknownFields()
		err := dec.Decode(&f)
		if err == nil && dec.More() {
			err = errors.New("more than one JSON object")
		}
		if err != nil {
			return nil, &exhibit.Error{Source: "--filter-json", Kind: exhibit.ErrMalformed, Err: err, Hint: `it looks like {"type":"eq","key":"team","value":"hr"}`}
		}
		parts = append(parts, &f)
	}
	f := exhibit.All(parts...)
	return f, f.Validate()
}

// operators of --filter, longest first.
func operators() []struct{ sign, kind string } {
	return []struct{ sign, kind string }{{"!=", "ne"}, {">=", "gte"}, {"<=", "lte"}, {"^=", "starts_with"}, {"=", "eq"}, {">", "gt"}, {"<", "lt"}, {"~", "contains"}}
}

func parseCondition(c string) (*exhibit.Filter, error) {
	at, sign, kind := len(c), "", ""
	for _, op := range operators() {
		if i := strings.Index(c, op.sign); i > 0 && i < at {
			at, sign, kind = i, op.sign, op.kind
		}
	}
	if sign == "" {
		return nil, &exhibit.Error{Source: "--filter " + c, Kind: exhibit.ErrInvalid, Err: errors.New("no key and comparison"), Hint: "--filter team=hr; also != > >= < <= ~ ^="}
	}
	key, raw := c[:at], c[at+len(sign):]
	text := exhibit.String(raw)
	asText := exhibit.Filter{Type: kind, Key: key, Value: &text}
	typed, ok := typedValue(raw)
	if !ok || kind == "starts_with" {
		return &asText, nil
	}
	asTyped := exhibit.Filter{Type: kind, Key: key, Value: &typed}
	join := "or"
	if kind == "ne" {
		join = "and"
	}
	return &exhibit.Filter{Type: join, Filters: []exhibit.Filter{asText, asTyped}}, nil
}

// typedValue reads what is spelled like a number or a truth value; a shell cannot tell 3 from "3", so a condition
// matches either.
func typedValue(raw string) (exhibit.Value, bool) {
	if raw == "true" || raw == "false" {
		return exhibit.Bool(raw == "true"), true
	}
	if n, err := strconv.ParseFloat(raw, 64); err == nil && n-n == 0 {
		return exhibit.Number(n), true
	}
	return exhibit.Value{}, false
}
