// Package plain reads text without markup, in any encoding: paragraphs at blank lines, or at every line
// where lines are too long to be wrapped; titles where a line is underlined.
package plain

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/source"
)

// MediaType is the media type of plain text.
const MediaType = "text/plain"

// Reader reads plain text. The zero value is ready and safe for concurrent use.
type Reader struct{}

var _ exhibit.Reader = Reader{}

// Read implements exhibit.Reader. A line of = - ~ or ^ about as long as the line above it makes that line a heading, if a blank line
// stands before; nothing else does. The title is the first line if it stands alone or is underlined, is short, and does not end like a
// sentence; it stays in the text. Runs of lines of base64 are left out of the blocks, under a warning: they hold no words.
func (Reader) Read(ctx context.Context, src exhibit.Source) (exhibit.Document, error) {
	doc, err := source.Document(ctx, src, MediaType, "")
	if err != nil {
		return exhibit.Document{}, err
	}
	doc.Title = title(doc.Text)
	var encoded int
	doc.Blocks, encoded = blocks(doc.Text)
	if encoded > 0 {
		doc.Warnings = append(doc.Warnings, fmt.Sprintf("%d bytes of encoded data are not indexed", encoded))
	}
	if len(doc.Blocks) == 0 {
		return exhibit.Document{}, source.NoText(src, len(src.Data))
	}
	return doc, nil
}

// maxTitle is the most bytes of a first line that is taken for a title.
const maxTitle = 100

// title returns the first line of a text of several paragraphs if it looks like a title, or "".
func title(text string) string {
	for start, end := range paragraphs(text) {
		lines := text[start:end]
		if n, _, ok := underlined(lines); ok {
			lines, _, _ = strings.Cut(lines[:n], "\n")
		} else if end == len(strings.TrimRight(text, " \t\r\n")) {
			return "" // there is nothing else
		}
		lines = strings.TrimSpace(lines)
		if len(lines) > maxTitle || strings.Contains(lines, "\n") || !source.HasWord(lines) || strings.ContainsRune(".,;:!?。！？：，", lastRune(lines)) {
			return ""
		}
		return strings.Join(strings.Fields(lines), " ")
	}
	return ""
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// Blocks returns the structure of a plain text.
func Blocks(text string) []exhibit.Block {
	b, _ := blocks(text)
	return b
}

func blocks(text string) (out []exhibit.Block, encoded int) {
	marks := "" // of underlines, in order of appearance: the first is level 1
	for start, end := range paragraphs(text) {
		lines := text[start:end]
		if n := encodedBytes(lines); n > 0 {
			encoded += n
			continue
		}
		if rest, mark, ok := underlined(lines); ok {
			if !strings.Contains(marks, mark) {
				marks += mark
			}
			title, _, _ := strings.Cut(lines, "\n")
			out = append(out, exhibit.Block{Kind: exhibit.BlockHeading, Level: strings.Index(marks, mark) + 1,
				Start: start, End: start + rest, Title: strings.Join(strings.Fields(title), " ")})
			for start += rest; start < end && strings.IndexByte(" \t\r\n", text[start]) >= 0; start++ {
			}
		}
		out = appendProse(out, text, start, end)
	}
	return out, encoded
}

// unwrapped is the length in bytes of a line that no one wraps: text with such lines has a paragraph on each.
const unwrapped = 200

// appendProse appends the paragraph, or each of its lines where they are not wrapped.
func appendProse(out []exhibit.Block, text string, start, end int) []exhibit.Block {
	if start >= end {
		return out
	}
	long := false
	for line := range strings.Lines(text[start:end]) {
		long = long || len(line) > unwrapped
	}
	if !long {
		return append(out, exhibit.Block{Kind: exhibit.BlockParagraph, Start: start, End: end})
	}
	pos := start
	for line := range strings.Lines(text[start:end]) {
		if trimmed := strings.TrimSpace(line); trimmed != "" {
			at := pos + strings.Index(line, trimmed)
			out = append(out, exhibit.Block{Kind: exhibit.BlockParagraph, Start: at, End: at + len(trimmed)})
		}
		pos += len(line)
	}
	return out
}

// paragraphs yields the runs of lines between blank lines, without the white space at their ends.
func paragraphs(text string) func(yield func(int, int) bool) {
	return func(yield func(int, int) bool) {
		pos, start, end := 0, -1, 0
		for line := range strings.Lines(text) {
			trimmed := strings.TrimSpace(line)
			switch {
			case trimmed != "":
				at := pos + strings.Index(line, trimmed)
				if start < 0 {
					start = at
				}
				end = at + len(trimmed)
			case start >= 0:
				if !yield(start, end) {
					return
				}
				start = -1
			}
			pos += len(line)
		}
		if start >= 0 {
			yield(start, end)
		}
	}
}

// underlined tells whether a paragraph begins with an underlined title: it returns the length of both lines and the mark.
func underlined(lines string) (int, string, bool) {
	title, rest, ok := strings.Cut(lines, "\n")
	if !ok {
		return 0, "", false
	}
	line, _, _ := strings.Cut(rest, "\n")
	rule := strings.TrimSpace(line)
	if len(rule) < 3 || !strings.Contains("=-~^", rule[:1]) || strings.Trim(rule, rule[:1]) != "" {
		return 0, "", false
	}
	title = strings.TrimSpace(title)
	off := utf8.RuneCountInString(title) - len(rule)
	if !source.HasWord(title) || len(title) > 120 || off < -3 || off > 3 {
		return 0, "", false
	}
	return len(lines) - len(rest) + len(strings.TrimRight(line, " \t\r")), rule[:1], true
}

// encodedBytes returns the length of a paragraph that is base64 or the like: eight lines or more of 50 characters or more without a
// space, in which small letters, capitals and digits are mixed.
func encodedBytes(lines string) int {
	n := 0
	for line := range strings.Lines(lines) {
		line = strings.TrimRight(line, "\r\n")
		if n++; len(line) < 50 && n < 8 {
			return 0
		}
		var small, capital, digit bool
		for i := range len(line) {
			switch b := line[i]; {
			case b >= 'a' && b <= 'z':
				small = true
			case b >= 'A' && b <= 'Z':
				capital = true
			case b >= '0' && b <= '9' || b == '+' || b == '/' || b == '=':
				digit = true
			default:
				return 0
			}
		}
		if n < 8 && !(small && capital && digit) {
			return 0
		}
	}
	if n < 8 {
		return 0
	}
	return len(lines)
}
