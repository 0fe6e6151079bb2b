package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// clean returns text in the form in which terms are sought: NFKC, digits of every script as ASCII, one apostrophe and one
// hyphen, and without the characters that nobody types into a question (joiners, soft hyphens, vowel points of Arabic and
// Hebrew). Case is kept, for it parts camelCase.
func clean(text string) string {
	if isASCII(text) {
		return text
	}
	s := norm.NFKC.String(separateDigits(text))
	if strings.IndexFunc(s, rewritten) >= 0 {
		s = strings.Map(rewrite, s)
		s = norm.NFKC.String(s)
	}
	return s
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// separateDigits puts a space before what NFKC would glue to the digits before it: 6½ is not 61⁄2, and 10⁶ not 106.
func separateDigits(s string) string {
	var b strings.Builder
	from, afterDigit := 0, false
	for i, r := range s {
		if afterDigit && r >= 0x80 && unicode.Is(unicode.No, r) {
			b.WriteString(s[from:i])
			b.WriteByte(' ')
			from = i
		}
		afterDigit = '0' <= r && r <= '9'
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

func rewritten(r rune) bool { return r >= 0x80 && rewrite(r) != r }

// rewrite maps one character of NFKC text; a negative result drops it.
func rewrite(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r == '’', r == 'ʼ', r == '‘', r == 'ʹ', r == '׳':
		return '\''
	case r == '‐':
		return '-'
	case r == 0x200B: // zero width space: the mark between words of Thai, Lao and Khmer
		return ' '
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), r == 'ـ':
		return -1
	case r >= 0x0591 && r <= 0x05C7 && unicode.IsMark(r), r >= 0x0610 && r <= 0x061A, r >= 0x064B && r <= 0x0652, r == 0x0670,
		r >= 0x06D6 && r <= 0x06ED && unicode.IsMark(r):
		return -1
	case unicode.Is(unicode.Nd, r):
		return '0' + digitValue(r)
	}
	return r
}

// digitValue returns the value of a decimal digit: Unicode encodes each set as ten code points in order from zero, and a range
// of the table is a whole number of such sets.
func digitValue(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}
