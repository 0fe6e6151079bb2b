package exhibit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/exhibit-rag/exhibit"
)

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		err    error
		code   exhibit.Code
		status int
		exit   int
	}{
		{exhibit.ErrMalformed, "malformed", 400, 2}, {exhibit.ErrInvalid, "invalid", 422, 2}, {exhibit.ErrUnknownSetting, "unknown-setting", 422, 2},
		{exhibit.ErrNotFound, "not-found", 404, 1}, {exhibit.ErrConflict, "conflict", 409, 1}, {exhibit.ErrTooLarge, "too-large", 413, 1},
		{exhibit.ErrUnsupportedMedia, "unsupported-media", 415, 1}, {exhibit.ErrUnreadable, "unreadable", 422, 1}, {exhibit.ErrNoText, "no-text", 422, 1},
		{exhibit.ErrEmbedder, "embedder", 502, 1}, {exhibit.ErrStorage, "storage", 507, 1}, {exhibit.ErrCorruptStore, "corrupt-store", 503, 1},
		{exhibit.ErrIncompatibleStore, "incompatible-store", 503, 1}, {exhibit.ErrUnavailable, "unavailable", 503, 1}, {context.DeadlineExceeded, "timeout", 504, 1},
		{errors.New("else"), "internal", 500, 1}, {nil, "internal", 500, 1},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err), &exhibit.Error{Op: "o", Kind: c.err}, &exhibit.Error{Op: "o", Err: c.err}} {
			if c.err == nil {
				err = nil
			}
			f := exhibit.FailureOf(err)
			if f.Code != c.code || f.Status != c.status || f.Exit != c.exit || exhibit.CodeOf(err) != c.code {
				t.Errorf("%v is %+v, want %s %d %d", err, f, c.code, c.status, c.exit)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*exhibit.Error{
		"parse key: a: it has no index": {Op: "parse key", Source: "a", Kind: exhibit.ErrMalformed, Err: errors.New("it has no index")},
		"rag.return-n: invalid value":   {Source: "rag.return-n", Kind: exhibit.ErrInvalid},
		"read: no text":                 {Op: "read", Kind: exhibit.ErrNoText, Hint: "never printed here"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("prints %q, want %q", got, want)
		}
	}
}

func TestHintOf(t *testing.T) {
	inner := &exhibit.Error{Op: "inner", Kind: exhibit.ErrInvalid, Hint: "inner hint"}
	outer := &exhibit.Error{Op: "outer", Err: fmt.Errorf("between: %w", inner), Hint: "outer hint"}
	for want, err := range map[string]error{
		"inner hint": &exhibit.Error{Op: "no hint", Err: inner}, "outer hint": fmt.Errorf("x: %w", outer), "": errors.New("plain"),
	} {
		if got := exhibit.HintOf(err); got != want {
			t.Errorf("hint of %v is %q, want %q", err, got, want)
		}
	}
	if got := exhibit.HintOf(errors.Join(errors.New("plain"), inner)); got != "inner hint" {
		t.Errorf("hint of joined errors is %q", got)
	}
	if exhibit.HintOf(nil) != "" || exhibit.HintOf(&exhibit.Error{Kind: exhibit.ErrInvalid}) != "" {
		t.Error("a hint out of nothing")
	}
}
