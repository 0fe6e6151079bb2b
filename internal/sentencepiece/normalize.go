package sentencepiece

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// splitMap takes a precompiled character map apart into the double array of its keys and the texts that they become.
func splitMap(data string) (keys doubleArray, texts string, err error) {
	if len(data) < 4 || uint64(uint32At(data, 0)) > uint64(len(data)-4) {
		return "", "", fmt.Errorf("sentencepiece: section %q is shorter than it claims: the file is damaged", sectionMap)
	}
	n := int(uint32At(data, 0))
	return doubleArray(data[4 : 4+n]), data[4+n:], nil
}

// plainBytes finds the ASCII bytes that no key of the map equals, nor begins with when another ASCII byte follows.
func plainBytes(keys doubleArray) (plain [asciiCount]bool) {
	unit, ok := keys.root()
	if !ok {
		return plain
	}
	top := children(0, unit)
	for c := byte(1); c < asciiCount; c++ {
		pos, unit, ok := keys.step(top, c)
		if !ok {
			plain[c] = true
			continue
		}
		base := children(pos, unit)
		_, isKey := keys.value(base, unit)
		plain[c] = !isKey
		for next := byte(1); next < asciiCount && plain[c]; next++ {
			_, _, found := keys.step(base, next)
			plain[c] = !found
		}
	}
	return plain
}

// normalizePrefix returns what the first characters of text become and how many bytes they are; text is not empty.
func (t *Tokenizer) normalizePrefix(text string) (became string, n int) {
	if c := text[0]; c < asciiCount && t.plain[c] && (len(text) == 1 || text[1] < asciiCount && text[1] != 0) {
		return text[:1], 1
	}
	if n, at := t.charsmap.longest(text); n > 0 {
		if uint64(at) >= uint64(len(t.mapped)) {
			return "", n
		}
		became, _, _ = strings.Cut(t.mapped[at:], "\x00")
		return became, n
	}
	r, n := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && n == 1 {
		return "\uFFFD", 1
	}
	return text[:n], n
}

// encode normalises text piece by piece and has what is ready cut into tokens.
func (r *run) encode(text string) {
	at := 0
	for at < len(text) {
		became, n := r.t.normalizePrefix(text[at:])
		if became != " " {
			break
		}
		at += n
	}
	// The space put in front is pending, like any other, until text follows: at the end it goes.
	r.pending, r.pendingAt = 1, at
	afterSpace := true
	for at < len(text) {
		became, n := r.t.normalizePrefix(text[at:])
		if afterSpace {
			became = strings.TrimLeft(became, " ")
		}
		if became != "" {
			r.add(became, at)
			afterSpace = became[len(became)-1] == ' '
		}
		at += n
		if len(r.norm) >= r.ready {
			r.segment()
		}
	}
	if r.pending > 0 {
		at = r.pendingAt
	}
	r.end = at
	r.last = true
	r.segment()
}

// add appends normalised text that stands for source text starting at offset at. White space waits for what follows.
func (r *run) add(became string, at int) {
	for i := 0; i < len(became); i++ {
		if became[i] == ' ' {
			r.pending, r.pendingAt = r.pending+1, at
			continue
		}
		for ; r.pending > 0; r.pending-- {
			r.norm = append(r.norm, space...)
			if r.want == wantSpans {
				r.source = append(r.source, r.pendingAt, r.pendingAt, r.pendingAt)
			}
		}
		r.norm = append(r.norm, became[i])
		if r.want == wantSpans {
			r.source = append(r.source, at)
		}
	}
}
