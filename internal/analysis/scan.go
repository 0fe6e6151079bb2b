package analysis

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// scanner walks one text at a time. What it keeps between texts are stems.
type scanner struct {
	folder cases.Caser
	stops  map[string]languages
	stems  map[string]string
	query  bool
	asked  languages // the language whose function words a question loses
	starts []int     // of the characters of a dense run
	out    []string
}

func newScanner(stops map[string]languages) *scanner {
	return &scanner{folder: cases.Fold(), stops: stops, stems: map[string]string{}}
}

// scan parts cleaned text into runs of dense characters and runs of words held together.
func (s *scanner) scan(text string) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		k, sc := classOf(r)
		switch {
		case k == gap, sc == inherited: // a mark that has no letter
			i += size
		case k == dense:
			n := denseRun(text[i:], sc)
			s.pairs(text[i : i+n])
			i += n
		default:
			n := compoundRun(text[i:])
			s.compound(text[i : i+n])
			i += n
			s.symbolName(text[i-n:i], text[i:])
		}
	}
}

// symbolName adds C++, C# and the like, whose names are one letter and punctuation, to the letter alone.
func (s *scanner) symbolName(word, rest string) {
	if len(word) != 1 || isDigit(word[0]) {
		return
	}
	for _, mark := range [...]string{"++", "#"} {
		if strings.HasPrefix(rest, mark) {
			s.emit(s.fold(word) + mark)
		}
	}
}

// emit adds a term that is spelled as it shall be, but for its length.
func (s *scanner) emit(term string) {
	if len(term) > MaxTermBytes {
		h := fnv.New64a()
		h.Write([]byte(term))
		end := MaxTermBytes / 2
		for !utf8.RuneStart(term[end]) {
			end--
		}
		term = fmt.Sprintf("%s…%016x", term[:end], h.Sum64())
	}
	s.out = append(s.out, term)
}

// denseRun returns the length of the run of dense characters of one script at the beginning of text.
func denseRun(text string, of script) int {
	for i, r := range text {
		if k, sc := classOf(r); sc != inherited && (k != dense || sc != of) {
			return i
		}
	}
	return len(text)
}

// pairs takes a run of dense characters: every two that are neighbours, and single ones as the package comment says.
func (s *scanner) pairs(run string) {
	run = s.fold(run)
	s.starts = s.starts[:0]
	for i, r := range run {
		if len(s.starts) == 0 || !isMark(r) {
			s.starts = append(s.starts, i)
		}
	}
	at := append(s.starts, len(run))
	s.starts = at
	last := len(at) - 2
	for i := 0; i <= last; i++ {
		if one := run[at[i]:at[i+1]]; !s.query || last == 0 || isHan(one) {
			s.emit(one)
		}
		if i < last {
			s.emit(run[at[i]:at[i+2]])
		}
	}
}
