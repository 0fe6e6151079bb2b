package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/words"
)

// longCluster is the length in bytes from which a grapheme cluster is cut between code points: a letter under more than a hundred
// accents is no letter, and must not make a piece of any size.
const longCluster = 512

// fragments adds the stretch as atoms of some ten or twenty words, for a sentence or row that is longer than a piece. It looks at a
// bounded window at a time, so that a line of hundreds of megabytes costs time in proportion to its length.
func (c *cutter) fragments(start, end, block int, g grade) {
	size := max(c.cfg.MaxTokens/2, 16)
	for start < end {
		cut, how := end, g
		if end-start > size {
			cut, how = fragmentEnd(c.text[start:end], size)
			cut += start
		}
		if n := c.tokens(start, cut); n > 0 {
			c.push(atom{start, cut, n, int32(block), how})
		} else {
			c.white(cut, block, how)
		}
		start = cut
	}
}

// fragmentEnd returns where the first fragment of s ends, at most about size bytes in: after the last line break, clause or space in the
// second half of the window, else between two words, else between two grapheme clusters.
func fragmentEnd(s string, size int) (int, grade) {
	var at [grades]int
	for i := runeStart(s, size/2); i < size; {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case i > size:
		case r == '\n':
			at[atLine] = i
		case breaks(r):
			at[atWord] = i
			if prev, _ := utf8.DecodeLastRuneInString(s[:i-n]); clauseMark(prev) {
				at[atClause] = i
			}
		case wideClauseMark(r):
			at[atClause] = i
		}
	}
	for _, g := range []grade{atLine, atClause, atWord} {
		if at[g] > 0 && graphemeBoundary(s, at[g]) {
			return at[g], g
		}
	}
	return unspacedEnd(s, size)
}

// unspacedEnd cuts text without spaces: Chinese, Japanese, identifiers, base64.
func unspacedEnd(s string, size int) (int, grade) {
	window := s[:runeStart(s, min(len(s), 2*size))]
	best := 0
	for it := words.FromString(window); it.Next() && it.End() <= size; {
		best = it.End()
	}
	if best >= size/2 {
		return best, atWord
	}
	best = 0
	for it := graphemes.FromString(window); it.Next(); {
		if it.End() > size && best > 0 {
			break
		}
		if best = it.End(); best > size {
			break
		}
	}
	if best > longCluster && best > size {
		return runeStart(s, size), atGrapheme
	}
	if best == len(window) && len(window) < len(s) {
		return clusterEnd(s), atGrapheme
	}
	return best, atGrapheme
}

// clusterEnd returns where the grapheme cluster at the start of s ends, at most longCluster bytes in.
func clusterEnd(s string) int {
	window := s[:runeStart(s, min(len(s), longCluster))]
	it := graphemes.FromString(window)
	if it.Next() {
		return it.End()
	}
	return len(window)
}

// graphemeBoundary tells whether a grapheme cluster begins at the offset i, after a space or a mark.
func graphemeBoundary(s string, i int) bool {
	_, n := utf8.DecodeLastRuneInString(s[:i])
	return !joined(s, i-n, n)
}

// runeStart returns the greatest start of a code point in s not above i.
func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// breaks tells whether a line may be broken after the space r.
func breaks(r rune) bool {
	switch r {
	case '\u00a0', '\u202f', '\u2007':
		return false
	case '\u200b':
		return true
	}
	return unicode.IsSpace(r)
}

func clauseMark(r rune) bool {
	return r < utf8.RuneSelf && strings.IndexByte(",;:.!?", byte(r)) >= 0 ||
		r == '—' || r == '–' || r == '،' || r == '؛' || r == '…' || wideClauseMark(r)
}

// wideClauseMark tells whether r ends a clause without a space after it.
func wideClauseMark(r rune) bool {
	return strings.ContainsRune("，、；：。！？", r)
}
