package wire

import (
	"errors"
	"strings"

	"github.com/exhibit-rag/exhibit"
)

// Problem is an error as an object: problem details of RFC 9457 (https://www.rfc-editor.org/rfc/rfc9457) with our code
// and hint.
type Problem struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Code      string       `json:"code"`
	Hint      string       `json:"hint,omitempty"`
	Errors    []FieldError `json:"errors,omitempty"`
	RequestID string       `json:"request_id,omitempty"`
}

// FieldError is one of several faults that were found at once.
type FieldError struct {
	Location string `json:"location,omitempty"`
	Message  string `json:"message"`
	Value    any    `json:"value,omitempty"`
}

// FromError converts an error. Faults that were joined are listed one by one; of one alone the detail says it all. The
// detail is the error's own text, also of an internal one: a server, whose caller is a stranger, calls Public.
func FromError(err error) Problem {
	f := exhibit.FailureOf(err)
	p := Problem{Type: "urn:exhibit:problem:" + string(f.Code), Title: title(f.Code), Status: f.Status,
		Detail: err.Error(), Code: string(f.Code), Hint: exhibit.HintOf(err)}
	if list := joined(err); len(list) > 1 {
		for _, one := range list {
			p.Errors = append(p.Errors, fieldError(one))
		}
	}
	return p
}

// Public returns the problem without what only the operator may read: the text of an internal error.
func (p Problem) Public() Problem {
	if p.Code == "internal" {
		p.Detail, p.Hint, p.Errors = "internal error; the log of the server says more", "", nil
	}
	return p
}

// joined returns the errors that errors.Join put together, and err alone where there are none.
func joined(err error) []error {
	if _, ok := err.(*exhibit.Error); ok {
		return []error{err}
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	var texts []string
	for _, one := range list.Unwrap() {
		out = append(out, joined(one)...)
		texts = append(texts, one.Error())
	}
	if err.Error() != strings.Join(texts, "\n") {
		return []error{err} // one fault with several causes
	}
	return out
}

func fieldError(err error) FieldError {
	var e *exhibit.Error
	if !errors.As(err, &e) || e.Source == "" {
		return FieldError{Message: err.Error()}
	}
	bare := *e
	bare.Source = ""
	return FieldError{Location: e.Source, Message: bare.Error()}
}

func title(code exhibit.Code) string {
	switch code {
	case "malformed":
		return "Malformed request"
	case "invalid":
		return "Invalid value"
	case "unknown-setting":
		return "Unknown setting"
	case "not-found":
		return "Not found"
	case "conflict":
		return "Conflict"
	case "too-large":
		return "Too large"
	case "unsupported-media":
		return "No reader for this type"
	case "unreadable":
		return "Unreadable"
	case "no-text":
		return "No text"
	case "embedder":
		return "Embedder failed"
	case "storage":
		return "Storage failed"
	case "corrupt-store":
		return "Corrupt store"
	case "incompatible-store":
		return "Incompatible store"
	case "unavailable":
		return "Unavailable"
	case "timeout":
		return "Timed out"
	}
	return "Internal error"
}
