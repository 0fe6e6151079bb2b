// Package analysis turns text of any script into the terms that the lexical index holds.
//
// [Analyzer.Terms] is for what is indexed and [Analyzer.QueryTerms] for what is asked; they differ only in what they leave
// out, never in how a term is spelled, so that a word finds itself whatever surrounds it. What is done, in order:
//
//   - Text is brought to NFKC with digits of every script as 0 to 9, and loses soft hyphens, joiners, variation selectors and
//     the vowel points of Arabic and Hebrew. NFC and NFD, full width and half width, give the same terms.
//   - Scripts that write no spaces (Han, kana, Hangul, Thai, Lao, Khmer, Myanmar and neighbours) become overlapping pairs of
//     characters, a character being a letter with its marks. Single characters are indexed too. A question asks for a
//     single one where it stands alone, and for every Han character.
//   - Words are case folded, stemmed and, in Latin and Greek, stripped of accents. Stems depend on the word alone, never on a
//     guess at the language of the text, so that a question of one word agrees with every document. See stem.go.
//   - Words held together by punctuation (ERR_4021, v1.35.2, kebab-case, src/app/main.go, a@b.org, https://…), camelCase, and
//     letters beside digits are found whole and by part. See compound.go.
//   - Function words of English, German, French, Spanish, Italian, Portuguese and Dutch are left out of questions, and only
//     there: a question of nothing else has no terms. See stop.go.
//
// The figures that chose among the ways to do it are printed by TestRanking with EXHIBIT_SLOW=1.
package analysis

import (
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Version names everything that decides which terms a text has. Stores are stamped with it: an index made by another version
// must be made anew.
const Version = "1 unicode" + unicode.Version + " nfkc" + norm.Version

// MaxTermBytes is the most bytes a term has. Of a longer one the term is its first bytes, up to 64, then "…" and 16
// hexadecimal digits of the FNV-1a hash of all of it: equal ones still find each other, and its parts are terms as ever.
const MaxTermBytes = 128

// Analyzer makes terms. Make one with [New]. It is safe for use by several goroutines, and is best shared, for it
// remembers stems.
type Analyzer struct {
	stops    map[string]languages
	scanners sync.Pool
}

// New returns an Analyzer.
func New() *Analyzer {
	a := &Analyzer{stops: stopWords()}
	a.scanners.New = func() any { return newScanner(a.stops) }
	return a
}

// Terms appends to dst the terms under which text is indexed, in the order of the text, repeated ones repeated, and
// returns the longer slice. It takes time and memory linear in text. Terms may share memory with text.
func (a *Analyzer) Terms(dst []string, text string) []string {
	return a.run(dst, text, false)
}

// QueryTerms returns the terms to seek for a question, in the order of the text, repeated ones repeated. It is empty when
// the question has only punctuation and function words.
func (a *Analyzer) QueryTerms(text string) []string {
	return a.run(nil, text, true)
}

func (a *Analyzer) run(dst []string, text string, query bool) []string {
	s := a.scanners.Get().(*scanner)
	defer a.scanners.Put(s)
	text = clean(text)
	s.out, s.query = dst, query
	if query {
		s.asked = s.guess(text)
	}
	s.scan(text)
	dst, s.out = s.out, nil
	return dst
}
