package project

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit/internal/chunk"
)

// maxShown is how many characters of a title, heading, source or docId are shown outside the fence.
const maxShown = 120

// shownTitle returns a title or heading as it stands outside the fence: one line of at most maxShown characters, its end
// left out where it is longer.
func shownTitle(s string) string { return shorten(oneLine(s), maxShown-1, 0) }

// shownName returns a source or docId as it stands outside the fence: as shownTitle, but its middle is left out, since
// the end tells files apart.
func shownName(s string) string { return shorten(oneLine(s), maxShown/3, maxShown-maxShown/3-1) }

// oneLine takes away control characters, line and paragraph separators and what changes the direction of text or is
// never seen; a run of line breaks and tabs becomes one space. Look-alikes of the fence are neutralised.
func oneLine(s string) string {
	var out strings.Builder
	space := false
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			space = true
			continue
		case unsafeOutside(r):
			continue
		}
		if space && out.Len() > 0 && r != ' ' {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
	}
	return neutralise(strings.TrimSpace(out.String()))
}

func unsafeOutside(r rune) bool {
	switch {
	case unicode.IsControl(r),
		unicode.Is(unicode.Bidi_Control, r),
		r >= 0xE0000 && r <= 0xE007F, // tags: invisible, and read by some models
		r == '\ufeff', r == 0xFFFE, r == 0xFFFF:
		return true
	}
	return false
}

// shorten keeps at most head characters of the beginning and tail of the end, with an ellipsis between them, where s has
// more than maxShown. It never cuts inside a grapheme cluster.
func shorten(s string, head, tail int) string {
	if len(s) <= maxShown || utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	from, to, n := 0, len(s), 0
	total := utf8.RuneCountInString(s)
	for start, end := range chunk.Graphemes(s) {
		if n += utf8.RuneCountInString(s[start:end]); n <= head {
			from = end
		}
		if to == len(s) && tail > 0 && total-n <= tail {
			to = end
		}
	}
	return s[:from] + "…" + s[to:]
}
