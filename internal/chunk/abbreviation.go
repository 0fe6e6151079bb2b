package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ends tells whether a sentence that the Unicode rules end before rest really ends there.
func ends(sentence, rest string) bool {
	if blankLineEnd(sentence) {
		return true
	}
	whole := sentence
	if len(sentence) > 64 {
		sentence = sentence[runeStart(sentence, len(sentence)-64):]
	}
	sentence = strings.TrimRight(sentence, " \t\r\n")
	word, dotted := strings.CutSuffix(sentence, ".")
	if !dotted {
		return true
	}
	if i := strings.LastIndexFunc(word, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("([{\"'“„«", r) }); i >= 0 {
		_, n := utf8.DecodeRuneInString(word[i:])
		word = word[i+n:]
	}
	switch {
	case word == "":
		return true
	case len(word)+1 == len(strings.TrimSpace(whole)) && shortMarker(word):
		return false // the number of a list item
	case digits(word):
		return !monthFollows(rest)
	}
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
		return r == 'I' // an initial, or one part of "z. B."
	}
	return !abbreviation(strings.ToLower(word))
}

func shortMarker(word string) bool {
	return len(word) <= 3 && (digits(word) || len(word) == 1) || strings.Trim(word, "0123456789.") == "" && len(word) < 10
}

func digits(word string) bool {
	return word != "" && strings.Trim(word, "0123456789") == ""
}

// abbreviation tells whether the word, in lower case and without its last full stop, is one that seldom ends a sentence. Words that
// often do, as "etc" and "usw", are left out: the Unicode rules go on by themselves where a small letter follows.
func abbreviation(word string) bool {
	switch word {
	// English
	case "dr", "mr", "mrs", "ms", "prof", "st", "gen", "col", "lt", "sgt", "capt", "rev", "hon", "gov", "sen", "rep", "jr", "sr",
		"e.g", "i.e", "cf", "vs", "viz", "al", "approx", "resp", "ca", "fig", "figs", "eq", "eqs", "eqn", "ref", "refs", "sec", "sect",
		"ch", "chap", "vol", "vols", "no", "nos", "p", "pp", "ed", "eds", "ibid", "op", "inc", "ltd", "co", "corp", "dept", "univ", "assn",
		"mt", "ave", "blvd", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "sp", "spp", "var", "subsp",
		"v.s", "u.s", "u.k", "u.n", "ph.d":
		return true
	// German
	case "bzw", "vgl", "nr", "abs", "art", "ggf", "evtl", "inkl", "exkl", "bspw", "ehem", "geb", "gest", "gegr", "hrsg", "jh", "jhd", "max", "min",
		"mio", "mrd", "sog", "str", "tel", "zzgl", "zz", "abb", "tab", "kap", "anm", "aufl", "bd", "dipl", "ing", "hl", "z.b", "d.h", "u.a", "i.d.r", "o.ä", "s.o", "v.a", "z.t", "m.e", "u.u":
		return true
	// French, Italian, Spanish, Portuguese, Dutch, Polish
	case "mme", "mlle", "mgr", "m", "av", "éd", "env", "cap", "p.ex", "sig", "dott", "pag", "pagg", "ecc", "sra", "srta", "dra", "ud", "uds", "pág", "págs",
		"núm", "núms", "ej", "exmo", "exma", "bijv", "d.w.z", "o.a", "mevr", "dhr", "np", "tzn", "tj", "ul", "im", "godz", "św":
		return true
	// Russian, Ukrainian
	case "т.е", "т.д", "т.п", "г", "гг", "в", "вв", "ул", "рис", "стр", "им", "см", "ср", "руб", "тыс", "млн", "млрд", "др", "проф", "акад":
		return true
	}
	return false
}

// monthFollows tells whether rest begins with the name of a month, as after an ordinal: "am 3. Oktober".
func monthFollows(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	word := rest[:min(len(rest), 24)]
	if i := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != utf8.RuneError }); i >= 0 {
		word = word[:i]
	}
	switch strings.ToLower(word) {
	case "januar", "jänner", "februar", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "dezember",
		"januari", "februari", "mars", "maj", "augusti", "jahrhundert", "jahrhunderts", "dezembers", "desember", "december", "marts", "oktobers":
		return true
	}
	return false
}
