package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A compound is words held together by ASCII punctuation. Its terms are the whole, then its parts:
//
//	src/app/main_test.go   src/app/main_test.go, src, app, maintest.go, main, test.go, test, go
//	ERR_4021, err-4021     err4021, err, 4021
//	parental_leave         parentalleave, parental, leave (each stemmed; parentalLeave has the same)
//	v1.35.2                v1.35.2, 1.35.2, 1.35, v1, 35, 2
//	1,234.5                1234.5
//	U.S.A.                 usa
//
// Only the separators / \ @ : = & ? # ~ % + part a compound into segments, which are compounds in their turn. Parts count in
// the length of a document. Leaving out the whole form moves SciFact by −.003 (documents) and −.006 (chunks) and the other
// sets by at most +.002; leaving out camelCase and letters beside digits moves SciFact by −.006 and the others by at most .001.
const (
	separators = "/\\@:=&?#~%+"
	hyphens    = "_-'"
	connectors = separators + hyphens + ".,"
)

// compoundRun returns the length of the compound at the beginning of text, which begins with a letter or digit.
func compoundRun(text string) int {
	path := false // a slash was seen, so ? and # may be those of an address
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if isWord(r) {
			i += size
			continue
		}
		n := joint(text, i, path)
		if n == 0 {
			return i
		}
		path = path || strings.IndexByte(text[i:i+n], '/') >= 0
		i += n
	}
	return len(text)
}

// joint returns how many connectors at text[i:] hold together what stands before and after them; 0 if they do not.
func joint(text string, i int, path bool) int {
	n := 0
	for n < 4 && i+n < len(text) && strings.IndexByte(connectors, text[i+n]) >= 0 {
		n++
	}
	after, _ := utf8.DecodeRuneInString(text[i+n:])
	if n == 0 || n == 4 || !isWord(after) {
		return 0
	}
	seq := text[i : i+n]
	switch {
	case n > 1 && (strings.ContainsAny(seq, ",'") || !strings.ContainsAny(seq, "/\\:_=")),
		seq == "," && !(isDigit(text[i-1]) && isDigit(text[i+1])),
		!path && (seq == "?" || seq == "#" || seq == "~" || seq == "%"):
		return 0
	}
	return n
}

// compound takes a compound and gives its whole form and its parts.
func (s *scanner) compound(c string) {
	switch {
	case !strings.ContainsAny(c, connectors):
		s.piece(c)
	case strings.ContainsAny(c, separators):
		s.emit(s.fold(c))
		for segment := range strings.FieldsFuncSeq(c, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			if segment = strings.Trim(segment, connectors); segment != "" {
				s.segment(segment)
			}
		}
	default:
		s.segment(c)
	}
}

// segment takes a compound that has no separators but . , and hyphens.
func (s *scanner) segment(c string) {
	switch {
	case !strings.ContainsAny(c, connectors):
		s.piece(c)
	case s.number(c), s.initials(c), s.apostrophe(c):
	default:
		s.version(c)
		s.whole(c)
		by := hyphens
		if !strings.ContainsAny(c, hyphens) {
			by = ".,"
		}
		for part := range strings.FieldsFuncSeq(c, func(r rune) bool { return strings.ContainsRune(by, r) }) {
			s.segment(part)
		}
	}
}

// number takes 1.35 and 1,234,567.8 as one term each, with no parts, and 1.234 also without its point, which in many
// languages parts thousands. Parts of decimals cost SciFact .003.
func (s *scanner) number(c string) bool {
	if strings.Trim(c, "0123456789.,'") != "" {
		return false
	}
	points := strings.Count(c, ".")
	if !strings.ContainsAny(c, ",'") {
		if points != 1 {
			return false
		}
		s.emit(c)
		if grouped(c, ".") {
			s.emit(strings.Replace(c, ".", "", 1))
		}
		return true
	}
	head, tail, _ := strings.Cut(c, ".")
	switch {
	case points <= 1 && !strings.ContainsAny(tail, ",'") && (grouped(head, ",") || grouped(head, "'")):
		s.emit(strings.NewReplacer(",", "", "'", "").Replace(c))
	case strings.Count(c, ",") == 1 && grouped(c[:strings.IndexByte(c, ',')], "."): // 1.234,5
		s.emit(strings.NewReplacer(".", "", ",", ".").Replace(c))
	case points == 0 && strings.Count(c, ",") == 1: // 2,5
		s.emit(strings.Replace(c, ",", ".", 1))
	default:
		return false
	}
	return true
}

// grouped reports whether n is digits in groups of three.
func grouped(n, by string) bool {
	first, rest, ok := strings.Cut(n, by)
	if !ok || len(first) > 3 || !allDigits(first) {
		return false
	}
	for group := range strings.SplitSeq(rest, by) {
		if len(group) != 3 || !allDigits(group) {
			return false
		}
	}
	return true
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// initials takes U.S.A and e.g as one word without points.
func (s *scanner) initials(c string) bool {
	n := 0
	for part := range strings.SplitSeq(c, ".") {
		r, size := utf8.DecodeRuneInString(part)
		if k, _ := classOf(r); k != letter || size != len(part) {
			return false
		}
		n++
	}
	if n < 2 {
		return false
	}
	s.emit(s.word(strings.ReplaceAll(c, ".", "")))
	return true
}

// apostrophe takes a word with one apostrophe and no other connector: an ending of English or an elided word of French and Italian goes,
// all else is one word, and two where what follows is longer than an ending (O'Brien).
func (s *scanner) apostrophe(c string) bool {
	before, after, ok := strings.Cut(c, "'")
	if !ok || strings.ContainsAny(before, connectors) || strings.ContainsAny(after, connectors) {
		return false
	}
	switch strings.ToLower(after) {
	case "s", "m", "re", "ve", "ll", "d":
		s.piece(before)
		return true
	}
	switch strings.ToLower(before) {
	case "l", "d", "j", "m", "n", "s", "t", "c", "qu", "dell", "all", "nell", "sull", "dall", "un":
		s.piece(after)
		return true
	}
	s.plain(before + after)
	if utf8.RuneCountInString(after) > 2 {
		s.piece(before)
		s.piece(after)
	}
	return true
}

// version adds to a dotted number of three or more places what is said for short: it without its v, and its first two
// places.
func (s *scanner) version(c string) {
	n := strings.TrimLeft(c, "vV")
	if len(c)-len(n) > 1 || !isDigit(n[0]) || strings.Trim(n, "0123456789.") != "" {
		return
	}
	if n != c {
		s.emit(n)
	}
	if i := strings.IndexByte(n, '.'); strings.IndexByte(n[i+1:], '.') >= 0 {
		s.emit(n[:i+1+strings.IndexByte(n[i+1:], '.')])
	}
}

// whole gives the whole form of a compound: hyphens and underscores are dropped except between digits, so that kebab-case,
// snake_case and camelCase of the same words are one term, and so are e-mail and email, UTF-8 and utf8.
func (s *scanner) whole(c string) {
	var b strings.Builder
	b.Grow(len(c))
	letters := true
	for i := 0; i < len(c); i++ {
		if strings.IndexByte(hyphens, c[i]) >= 0 && !(isDigit(c[i-1]) && isDigit(c[i+1])) {
			continue
		}
		letters = letters && (c[i] >= 0x80 || 'a' <= c[i]|0x20 && c[i]|0x20 <= 'z')
		b.WriteByte(c[i])
	}
	if letters {
		s.emit(s.word(b.String()))
	} else {
		s.emit(s.fold(b.String()))
	}
}

// piece takes letters and digits without connectors, whole and by part: camelCase, letters beside digits, and a
// change of script. A part of one ASCII character is none (the p of p53, the m of mRNA).
func (s *scanner) piece(p string) {
	from := 0
	for at := range cuts(p) {
		s.part(p[from:at])
		from = at
	}
	if from > 0 {
		s.part(p[from:])
	}
	s.plain(p)
}

func (s *scanner) part(p string) {
	if len(p) > 1 {
		s.plain(p)
	}
}

// cuts yields where p is to be cut.
func cuts(p string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		var before rune
		var beforeKind kind
		var beforeScript script
		from, at := 0, 0 // of the part, and of the character before
		for i, r := range p {
			k, sc := classOf(r)
			if sc == inherited {
				continue
			}
			cut := -1
			switch {
			case i == 0:
			case k != beforeKind, sc != beforeScript, unicode.IsUpper(r) && unicode.IsLower(before):
				cut = i
			case unicode.IsLower(r) && unicode.IsUpper(before) && at > from && p[i:] != "s":
				cut = at // HTTPServer: the last capital begins the next word; mRNAs: the s is a plural
			}
			if cut > 0 {
				if !yield(cut) {
					return
				}
				from = cut
			}
			before, beforeKind, beforeScript, at = r, k, sc, i
		}
	}
}
