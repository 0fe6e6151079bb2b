package chunk

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// trim narrows the range to what lies between its first and its last character that is not white space. A space that carries an accent
// is not white.
func trim(text string, start, end int) (int, int) {
	for start < end {
		r, n := utf8.DecodeRuneInString(text[start:end])
		if !unicode.IsSpace(r) || joined(text[:end], start, n) {
			break
		}
		start += n
	}
	for start < end {
		r, n := utf8.DecodeLastRuneInString(text[start:end])
		if !unicode.IsSpace(r) {
			break
		}
		if _, m := utf8.DecodeLastRuneInString(text[start : end-n]); m > 1 && joined(text[:end], end-n-m, m) {
			break
		}
		end -= n
	}
	return start, end
}

// joined tells whether the n bytes of text at i, one code point, are in one grapheme cluster with what follows.
func joined(text string, i, n int) bool {
	next := i + n
	if next >= len(text) || text[i] < utf8.RuneSelf && text[next] < utf8.RuneSelf {
		return false
	}
	return len(graphemes.FromString(text[i:min(len(text), next+utf8.UTFMax)]).First()) > n
}
