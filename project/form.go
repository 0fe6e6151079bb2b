package project

import (
	"fmt"
	"strings"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/wire"
)

// form is one way of rendering. Opening and separator end with a line break, and every block begins with a sign, so
// that no token crosses from one block into the next.
type form struct {
	fenced               bool // blocks hold the nonce noncesPerBlock times
	counted              bool // tokens are counted without a budget too
	open, between, close string
	empty                string // an answer without blocks
	render               func(b *block, nonce string) (string, error)
}

func formOf(name string) (form, bool) {
	switch name {
	case Markdown, Text:
		return form{fenced: true, counted: true, between: "\n\n", close: "\n", render: renderPlain}, true
	case XML:
		return form{fenced: true, counted: true, open: xmlOpen + "\n", between: "\n", close: "\n" + xmlClose + "\n", empty: xmlEmpty + "\n", render: renderXML}, true
	case JSON:
		return form{counted: true, open: "[\n", between: ",\n", close: "\n]\n", empty: "[]\n", render: renderJSON}, true
	case Terminal:
		return form{between: "\n\n", close: "\n", render: renderTerminal}, true
	case TerminalEscaped:
		return form{between: "\n\n", close: "\n", render: renderEscaped}, true
	}
	return form{}, false
}

func renderJSON(b *block, _ string) (string, error) {
	out, err := wire.Marshal(wire.FromEvidence(b.evidence))
	return string(out), err
}

// renderPlain writes header, citation and fenced text.
func renderPlain(b *block, nonce string) (string, error) {
	e := &b.evidence
	var out strings.Builder
	if e.Handle != "" {
		out.WriteString(e.Handle + " ")
	}
	out.WriteString(shownKey(e.Key))
	parts := []string{headings(e), pages(e.Span), lines(e.Span)}
	if e.Source != e.DocID {
		parts = append([]string{shownName(e.Source)}, parts...)
	}
	if e.Cut {
		parts = append(parts, "cut: "+b.cutMark())
	}
	for _, part := range parts {
		if part != "" {
			out.WriteString(" · " + part)
		}
	}
	out.WriteString("\n" + e.Citation().String() + "\n")
	fence(&out, e.Text, nonce)
	return out.String(), nil
}

// cutMark says how much of the text is shown.
func (b *block) cutMark() string {
	return fmt.Sprintf("%d of %d characters", characters(b.evidence.Text), characters(b.whole))
}

// headings returns title and heading path on one line, the title once.
func headings(e *exhibit.Evidence) string {
	path := e.HeadingPath
	if e.Title != "" && (len(path) == 0 || path[0] != e.Title) {
		path = append([]string{e.Title}, path...)
	}
	return joined(path)
}

// joined returns a heading path on one line.
func joined(path []string) string {
	shown := make([]string, 0, len(path))
	for _, h := range path {
		if h = shownTitle(h); h != "" {
			shown = append(shown, h)
		}
	}
	return strings.Join(shown, " › ")
}

func lines(s *exhibit.Span) string {
	if s == nil {
		return ""
	}
	return numbered("line", s.StartLine, s.EndLine)
}

func pages(s *exhibit.Span) string {
	if s == nil {
		return ""
	}
	return numbered("page", s.StartPage, s.EndPage)
}

func numbered(noun string, first, last int) string {
	switch {
	case first < 1:
		return ""
	case last <= first:
		return fmt.Sprintf("%s %d", noun, first)
	}
	return fmt.Sprintf("%ss %s", noun, numbers(first, last))
}

// numbers writes a place as 11 or 3-9, and "" where it is not known.
func numbers(first, last int) string {
	switch {
	case first < 1:
		return ""
	case last <= first:
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
