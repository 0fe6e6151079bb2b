package markdown

import "strings"

// segmentSize is how many bytes are parsed at once, or somewhat more: a syntax tree takes up to a hundred times the text's size, so a large
// file is parsed in parts.
const segmentSize = 1 << 20

// segments returns the offsets, from base to len(text), between which text is parsed part by part: each part but the first begins with a
// heading or paragraph at the margin, after a blank line and outside fenced code.
func segments(text string, base int) []int {
	out := []int{base}
	if len(text)-base <= 2*segmentSize {
		return append(out, len(text))
	}
	var fence string // that opened the code around, or ""
	blank := false
	pos := base
	for line := range strings.Lines(text[base:]) {
		if fence == "" && blank && pos-out[len(out)-1] >= segmentSize && atMargin(line[0]) {
			out = append(out, pos)
		}
		fence = fenceAfter(fence, line)
		blank = strings.TrimSpace(line) == ""
		pos += len(line)
	}
	return append(out, len(text))
}

func atMargin(b byte) bool { return b == '#' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80 }

// fenceAfter returns the fence that is open after a line.
func fenceAfter(fence, line string) string {
	s := strings.TrimLeft(line, " ")
	if len(s) < 3 || s[0] != '`' && s[0] != '~' {
		return fence
	}
	mark := s[:len(s)-len(strings.TrimLeft(s, s[:1]))]
	switch {
	case fence == "" && len(mark) >= 3:
		return mark
	case fence != "" && mark[0] == fence[0] && len(mark) >= len(fence) && strings.TrimSpace(s[len(mark):]) == "":
		return ""
	}
	return fence
}
