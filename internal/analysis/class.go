package analysis

import (
	"unicode"
	"unicode/utf8"
)

// kind says how a character takes part in a term.
type kind uint8

const (
	gap    kind = iota // separates
	letter             // of a script that writes spaces between words; marks belong here too
	digit              // always ASCII after clean
	dense              // of a script that writes no spaces: indexed by overlapping pairs
)

// script tells apart what must be treated differently: stemmers, marks that may be dropped, and runs of dense characters
// that belong together.
type script uint8

const (
	other script = iota
	inherited
	latin
	greek
	cyrillic
	arabic
	tamil
	cjk // Han, kana and bopomofo, which one word may mix
	hangul
	southeast // Thai, Lao, Khmer, Myanmar and their neighbours
)

// classOf returns the kind and script of a character of cleaned text.
func classOf(r rune) (kind, script) {
	if r < 0x80 {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return letter, latin
		case '0' <= r && r <= '9':
			return digit, other
		}
		return gap, other
	}
	switch { // most of what is dense, before the slower tables
	case 0x4E00 <= r && r < 0x9FA6, 0x3041 <= r && r < 0x3097, 0x30A1 <= r && r < 0x30FB:
		return dense, cjk
	case 0xAC00 <= r && r < 0xD7A4:
		return dense, hangul
	}
	switch {
	case unicode.IsLetter(r), unicode.Is(unicode.Nl, r):
		return scriptOf(r)
	case unicode.IsMark(r):
		if unicode.Is(unicode.Inherited, r) {
			return letter, inherited
		}
		return scriptOf(r)
	case unicode.IsNumber(r):
		return digit, other
	}
	return gap, other
}

func scriptOf(r rune) (kind, script) {
	switch {
	case r < 0x370, r >= 0x1E00 && r < 0x1F00, r >= 0x2C60 && r < 0x2C80, r >= 0xA720 && r < 0xA800:
		return letter, latin
	case r < 0x400, r >= 0x1F00 && r < 0x2000:
		return letter, greek
	case r < 0x530:
		return letter, cyrillic
	case r >= 0x600 && r < 0x700, r >= 0x750 && r < 0x780, r >= 0x8A0 && r < 0x900:
		return letter, arabic
	case r >= 0xB80 && r < 0xC00:
		return letter, tamil
	case r >= 0xAC00 && r < 0xD7B0:
		return dense, hangul
	case r >= 0x3400 && r < 0xA000:
		return dense, cjk
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue,
		unicode.Tai_Tham, unicode.Tai_Viet, unicode.Javanese, unicode.Balinese):
		return dense, southeast
	case r == 'ー', unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Yi, unicode.Tangut, unicode.Nushu):
		return dense, cjk
	case unicode.In(r, unicode.Hangul):
		return dense, hangul
	}
	return letter, other
}

func isWord(r rune) bool {
	k, _ := classOf(r)
	return k == letter || k == digit
}

func isMark(r rune) bool { return r >= 0x300 && unicode.IsMark(r) }

func isHan(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.Han, r)
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
