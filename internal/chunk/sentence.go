package chunk

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/sentences"
)

const (
	// sentenceWindow is how much text is looked at at once; a sentence longer than it (in bytes) is ended at a space near its end.
	sentenceWindow = 8 << 10
	// layoutRun is how many spaces or signs in a row, without any letter or digit, end a sentence: they are layout. It also bounds
	// the look-ahead of the sentence rules, which else would be quadratic in such a run.
	layoutRun = 48
)

// Sentences yields the sentences of text as half-open byte ranges that follow each other without gap from 0 to len(text); white space
// belongs to the sentence before it. Ends are those of UAX #29 with these changes: a single line break inside a paragraph is a space,
// unless a list marker follows; a blank line always ends a sentence; an abbreviation, an initial or a list number does not; in Thai,
// Lao and Khmer, which write no full stop, a space between two letters does. No range ends inside a code point.
// Time is linear and memory constant.
func Sentences(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		s := splitter{text: text, yield: yield}
		for pos := 0; pos < len(text); {
			end := paragraphEnd(text, pos)
			if !s.paragraph(pos, end) {
				return
			}
			pos = end
		}
	}
}

// Graphemes yields the grapheme clusters of text (UAX #29) as half-open byte ranges.
func Graphemes(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for it := graphemes.FromString(text); it.Next(); {
			if !yield(it.Start(), it.End()) {
				return
			}
		}
	}
}

// paragraphEnd returns the offset after the next blank line (or lines) at or after pos.
func paragraphEnd(text string, pos int) int {
	for {
		n := strings.IndexByte(text[pos:], '\n')
		if n < 0 {
			return len(text)
		}
		pos += n + 1
		end := pos
		for end < len(text) && strings.IndexByte(" \t\r\n", text[end]) >= 0 {
			end++
		}
		if nl := strings.LastIndexByte(text[pos:end], '\n'); nl >= 0 {
			return pos + nl + 1
		}
		pos = end
	}
}

type splitter struct {
	text  string
	yield func(int, int) bool
	buf   []byte
}

// paragraph yields the sentences between the offsets and tells whether more are wanted.
func (s *splitter) paragraph(pos, end int) bool {
	start := pos // of the sentence that is being gathered
	for pos < end {
		to := windowEnd(s.text, pos, end)
		s.fill(pos, to)
		stop := pos
		for it := sentences.FromBytes(s.buf); it.Next(); {
			if it.End() == len(s.buf) && to < end && it.Start() > 0 {
				break // it may go on beyond the window: look again from its start
			}
			stop = pos + it.End()
			cut := stop + brackets(s.text[start:stop], s.text[stop:end])
			if cut <= start || cut < end && !ends(s.text[start:cut], s.text[cut:end]) {
				continue
			}
			if !s.phrases(start, cut) {
				return false
			}
			start = cut
		}
		pos = stop
	}
	return start >= end || s.phrases(start, end)
}

// brackets returns by how much the end of a sentence is to be moved. The Unicode rules do not tell opening brackets and quotation marks
// from closing ones, so they leave an opening one at the end of the sentence before: it goes to the next, unless it opens a note such as
// [12], which goes to the one before as a whole.
func brackets(sentence, rest string) int {
	r, n := utf8.DecodeLastRuneInString(sentence)
	if next, _ := utf8.DecodeRuneInString(rest); n == len(sentence) || !unicode.In(r, unicode.Ps, unicode.Pi) || unicode.IsSpace(next) || rest == "" {
		return 0
	}
	if r != '[' {
		return -n
	}
	note := strings.IndexByte(rest[:min(len(rest), 32)], ']')
	if note < 0 || strings.ContainsAny(rest[:note], ".\n") {
		return -n
	}
	note++
	for strings.HasPrefix(rest[note:], "[") {
		more := strings.IndexByte(rest[note:min(len(rest), note+32)], ']')
		if more < 0 {
			break
		}
		note += more + 1
	}
	for note < len(rest) && strings.IndexByte(" \t\r\n", rest[note]) >= 0 {
		note++
	}
	return note
}

// windowEnd returns the end of the window that begins at pos: the end of the paragraph, or else a place after a space, or else between
// two code points that no cluster spans.
func windowEnd(text string, pos, end int) int {
	if end-pos <= sentenceWindow {
		return end
	}
	to := pos + sentenceWindow
	if i := strings.LastIndexAny(text[to-sentenceWindow/4:to], " \n\t"); i >= 0 {
		to += i + 1 - sentenceWindow/4
		if graphemeBoundary(text, to) {
			return to
		}
	}
	to = runeStart(text, pos+sentenceWindow)
	last := 0
	for it := graphemes.FromString(text[pos+(to-pos)/2 : to]); it.Next(); {
		last = it.Start()
	}
	if cut := pos + (to-pos)/2 + last; last > 0 && utf8.RuneStart(text[cut]) {
		return cut
	}
	return to
}

// fill copies the text between the offsets into s.buf with line breaks inside a paragraph as spaces, byte for byte, so that offsets stay.
func (s *splitter) fill(pos, to int) {
	s.buf = append(s.buf[:0], s.text[pos:to]...)
	run := 0
	for i, b := range s.buf {
		switch {
		case b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z':
			run = 0
			continue
		case b >= utf8.RuneSelf:
			if b >= 0xc0 {
				if r, _ := utf8.DecodeRune(s.buf[i:]); unicode.IsLetter(r) {
					run = 0
					continue
				}
			}
		case b == '\n' && !listMarker(s.text[pos+i+1:]):
			s.buf[i] = ' '
		case b == '\r':
			s.buf[i] = ' '
		}
		if run++; run >= layoutRun && b < utf8.RuneSelf {
			s.buf[i], run = '\n', 0
		}
	}
}

// listMarker tells whether a line begins with a bullet or a list number.
func listMarker(line string) bool {
	line = strings.TrimLeft(line[:min(len(line), 40)], " \t")
	for _, b := range [...]string{"- ", "* ", "+ ", "• ", "– ", "· ", "▪ ", "◦ ", "|"} {
		if strings.HasPrefix(line, b) {
			return true
		}
	}
	n := 0
	for n < len(line) && n < 3 && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	return n > 0 && n+1 < len(line) && (line[n] == '.' || line[n] == ')') && line[n+1] == ' '
}

// phrases yields a sentence, cut at the spaces between two letters of a script that has no full stop.
func (s *splitter) phrases(start, end int) bool {
	text := s.text[start:end]
	if strings.IndexByte(text, 0xe0) < 0 && strings.IndexByte(text, 0xe1) < 0 {
		return s.yield(start, end)
	}
	from := 0
	for i := 0; i < len(text); {
		n := strings.IndexByte(text[i:], ' ')
		if n < 0 {
			break
		}
		i += n
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		for i < len(text) && text[i] == ' ' {
			i++
		}
		after, _ := utf8.DecodeRuneInString(text[i:])
		if unicode.In(before, unicode.Thai, unicode.Lao, unicode.Khmer) && unicode.In(after, unicode.Thai, unicode.Lao, unicode.Khmer) &&
			!unicode.Is(unicode.Mn, after) {
			if !s.yield(start+from, start+i) {
				return false
			}
			from = i
		}
	}
	return s.yield(start+from, end)
}
