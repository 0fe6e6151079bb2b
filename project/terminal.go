package project

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
)

const terminalIndent = "    "

// renderTerminal writes a block as people read it.
func renderTerminal(b *block, _ string) (string, error) {
	return writeTerminal(b, b.evidence.Text), nil
}

// renderEscaped is renderTerminal for a terminal that obeys control characters.
func renderEscaped(b *block, _ string) (string, error) {
	return writeTerminal(b, escapeControls(b.evidence.Text)), nil
}

func writeTerminal(b *block, text string) string {
	e := &b.evidence
	var head []string
	for _, part := range []string{shownKey(e.Key), place(e), scores(e)} {
		if part != "" {
			head = append(head, part)
		}
	}
	if e.Cut {
		head = append(head, "cut: "+b.cutMark())
	}
	var out strings.Builder
	if e.Handle != "" {
		out.WriteString(e.Handle + " ")
	}
	out.WriteString(strings.Join(head, "  "))
	if path := headings(e); path != "" {
		out.WriteString("\n" + terminalIndent + path)
	}
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteByte('\n')
		if line != "" {
			out.WriteString(terminalIndent + line)
		}
	}
	out.WriteString("\n" + terminalIndent + e.Citation().String())
	return out.String()
}

// place returns source and lines as editors and terminals link them: handbook/leave.md:3-9.
func place(e *exhibit.Evidence) string {
	source := shownName(e.Source)
	if e.Span == nil || source == "" {
		return source
	}
	if at := numbers(e.Span.StartLine, e.Span.EndLine); at != "" {
		source += ":" + at
	}
	if page := pages(e.Span); page != "" {
		source += " " + page
	}
	return source
}

// scores returns the score that ordered the block and, in parentheses, the others.
func scores(e *exhibit.Evidence) string {
	var others []string
	own := ""
	if e.Scores.Fused != nil {
		fused := exhibit.ScoreFused + " " + fixed(*e.Scores.Fused, 3)
		if e.ScoreKind == exhibit.ScoreFused {
			own = fused
		} else {
			others = append(others, fused)
		}
	}
	if e.Scores.Rerank != nil && e.ScoreKind == exhibit.ScoreRerank {
		own = exhibit.ScoreRerank + " " + fixed(*e.Scores.Rerank, 3)
	}
	for _, l := range e.Scores.Legs {
		leg := l.Leg + " " + fixed(l.Score, 2)
		if l.Rank > 0 {
			leg += fmt.Sprintf(" #%d", l.Rank)
		}
		if l.Leg == e.ScoreKind {
			own = leg
		} else {
			others = append(others, leg)
		}
	}
	if own == "" && e.ScoreKind != "" {
		own = shownTitle(e.ScoreKind) + " " + fixed(e.Score, 3)
	}
	if own == "" || len(others) == 0 {
		return own
	}
	return own + " (" + strings.Join(others, ", ") + ")"
}

// fixed writes a number with some decimals; what rounds to zero has no sign.
func fixed(n float64, decimals int) string {
	s := strconv.FormatFloat(n, 'f', decimals, 64)
	if n < 0 && !math.IsInf(n, 0) && strings.Trim(s, "-0.") == "" {
		s = s[1:]
	}
	return s
}

// escapeControls shows control characters but newline and tab, and bytes that are no UTF-8, as \x1b and the like.
func escapeControls(s string) string {
	var out strings.Builder
	from := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		invalid := r == utf8.RuneError && n == 1
		if invalid {
			r = rune(s[i])
		}
		if invalid || unicode.IsControl(r) && r != '\n' && r != '\t' {
			out.WriteString(s[from:i])
			fmt.Fprintf(&out, `\x%02x`, r)
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return s
	}
	out.WriteString(s[from:])
	return out.String()
}
