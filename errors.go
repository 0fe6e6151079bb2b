package exhibit

import (
	"context"
	"errors"
	"strings"
)

// The kinds of failure. Errors of this module wrap one of these, so that errors.Is tells them apart; [CodeOf] gives
// the name that every interface prints.
var (
	ErrMalformed         = errors.New("malformed")
	ErrInvalid           = errors.New("invalid value")
	ErrUnknownSetting    = errors.New("unknown setting")
	ErrNotFound          = errors.New("not found")
	ErrConflict          = errors.New("conflict")
	ErrTooLarge          = errors.New("too large")
	ErrUnsupportedMedia  = errors.New("no reader for this type")
	ErrUnreadable        = errors.New("unreadable")
	ErrNoText            = errors.New("no text")
	ErrEmbedder          = errors.New("embedder failed")
	ErrStorage           = errors.New("storage failed")
	ErrCorruptStore      = errors.New("corrupt store")
	ErrIncompatibleStore = errors.New("incompatible store")
	ErrUnavailable       = errors.New("unavailable")
)

// Error is an error that tells a caller more than its text: what was done, on what, why it failed and how to mend it.
type Error struct {
	Op     string // what was being done, "" where the text of Err says it
	Source string // the input that is at fault: a file, a setting, a key
	Kind   error  // one of the sentinels; may be nil where Err wraps one
	Err    error  // the cause; may be nil where Kind says it all
	Hint   string // how to mend it, "" where there is nothing to say
}

// Error prints what was done, the source and the cause; the hint is printed apart by whoever shows the error to a
// person.
func (e *Error) Error() string {
	var parts []string
	for _, p := range [...]string{e.Op, e.Source} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	switch {
	case e.Err != nil:
		parts = append(parts, e.Err.Error())
	case e.Kind != nil:
		parts = append(parts, e.Kind.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the kind and the cause, whichever there are.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range [...]error{e.Kind, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Code is the name of a kind of failure as every interface prints it.
type Code string

// Failure is one row of the table that maps a kind of error to what the interfaces answer.
type Failure struct {
	Code   Code
	Status int // HTTP status
	Exit   int // exit code of the command line
	is     error
}

// failures is the one table of error → code, HTTP status, exit code. The first row that matches wins.
func failures() []Failure {
	return []Failure{
		{"malformed", 400, 2, ErrMalformed},
		{"unknown-setting", 422, 2, ErrUnknownSetting},
		{"invalid", 422, 2, ErrInvalid},
		{"not-found", 404, 1, ErrNotFound},
		{"conflict", 409, 1, ErrConflict},
		{"too-large", 413, 1, ErrTooLarge},
		{"unsupported-media", 415, 1, ErrUnsupportedMedia},
		{"no-text", 422, 1, ErrNoText},
		{"unreadable", 422, 1, ErrUnreadable},
		{"embedder", 502, 1, ErrEmbedder},
		{"corrupt-store", 503, 1, ErrCorruptStore},
		{"incompatible-store", 503, 1, ErrIncompatibleStore},
		{"storage", 507, 1, ErrStorage},
		{"unavailable", 503, 1, ErrUnavailable},
		{"timeout", 504, 1, context.DeadlineExceeded},
	}
}

// FailureOf returns the row of the table that an error belongs to. What matches none is internal: status 500, exit 1.
func FailureOf(err error) Failure {
	for _, f := range failures() {
		if errors.Is(err, f.is) {
			return f
		}
	}
	return Failure{Code: "internal", Status: 500, Exit: 1}
}

// CodeOf returns the code of an error, "internal" for one that no kind names.
func CodeOf(err error) Code { return FailureOf(err).Code }

// HintOf returns the hint of the outermost Error in the chain that has one, and "" where there is none.
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
