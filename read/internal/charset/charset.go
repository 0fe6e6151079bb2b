// Package charset turns the bytes of a text file into UTF-8, whatever encoding they are in.
package charset

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// ErrBinary says that the bytes are no text in any known encoding.
var ErrBinary = errors.New("not text: it holds NUL bytes and is no UTF-16")

// Text is a decoded text.
type Text struct {
	// Text is valid UTF-8 without a byte order mark. Line ends are as in the source, but for files in which a lone carriage return
	// is the only line end: those become line feeds, one byte for one.
	Text string
	// Charset is the name of the encoding that was found, as WHATWG spells it.
	Charset string
	// Warnings say what could not be decoded or was guessed.
	Warnings []string
}

// Decode finds the encoding of data and decodes it. In this order: byte order mark; UTF-16 without one, told by where its zero bytes
// stand; valid UTF-8; the encoding declared (a name such as "windows-1251", "" for none) where the bytes are valid in it; UTF-8 with a
// few faulty bytes, each of which becomes U+FFFD under a warning; the legacy encoding whose rules the bytes keep and whose letters make
// the likeliest text; windows-1252. The error is ErrBinary.
func Decode(data []byte, declared string) (Text, error) {
	t, err := decode(data, declared)
	if err != nil {
		return Text{}, err
	}
	if !strings.Contains(t.Text, "\n") && strings.Contains(t.Text, "\r") {
		t.Text = strings.ReplaceAll(t.Text, "\r", "\n")
	}
	return t, nil
}

func decode(data []byte, declared string) (Text, error) {
	if t, ok := byMark(data); ok {
		return t, nil
	}
	if e, name := utf16WithoutMark(data); e != nil {
		return with(e, name, data), nil
	}
	if hasNUL(data) {
		return Text{}, ErrBinary
	}
	if e, name := escaped(data); e != nil {
		if s, ok := strict(e, data); ok {
			return Text{Text: s, Charset: name}, nil
		}
	}
	if utf8.Valid(data) {
		return Text{Text: string(data), Charset: "utf-8"}, nil
	}
	if declared != "" {
		if e, err := htmlindex.Get(declared); err == nil {
			if s, ok := strict(e, data); ok {
				name, _ := htmlindex.Name(e)
				return Text{Text: s, Charset: name}, nil
			}
		}
	}
	if t, ok := mostlyUTF8(data); ok {
		return t, nil
	}
	return legacy(data), nil
}

// byMark decodes what begins with a byte order mark.
func byMark(data []byte) (Text, bool) {
	has := func(mark string) bool { return strings.HasPrefix(string(data[:min(len(data), 4)]), mark) }
	switch {
	case has("\xef\xbb\xbf"):
		t := repaired(data[3:])
		return t, true
	case has("\xff\xfe\x00\x00"):
		return with(utf32.UTF32(utf32.LittleEndian, utf32.ExpectBOM), "utf-32le", data), true
	case has("\x00\x00\xfe\xff"):
		return with(utf32.UTF32(utf32.BigEndian, utf32.ExpectBOM), "utf-32be", data), true
	case has("\xff\xfe"):
		return with(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16le", data[2:]), true
	case has("\xfe\xff"):
		return with(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be", data[2:]), true
	}
	return Text{}, false
}

// with decodes data leniently and warns where something had to be replaced.
func with(e encoding.Encoding, name string, data []byte) Text {
	out, err := e.NewDecoder().Bytes(data)
	if err != nil {
		out = []byte(strings.ToValidUTF8(string(out), "\ufffd"))
	}
	t := Text{Text: string(out), Charset: name}
	if n := strings.Count(t.Text, "\ufffd"); n > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d characters are not valid %s and stand as U+FFFD", n, name))
	}
	return t
}

// strict decodes data and tells whether all of it was valid: no replacement and no control character that text does not hold.
func strict(e encoding.Encoding, data []byte) (string, bool) {
	out, err := e.NewDecoder().Bytes(data)
	if err != nil || !utf8.Valid(out) {
		return "", false
	}
	s := string(out)
	for _, r := range s {
		if r == utf8.RuneError || r >= 0x7f && r < 0xa0 && r != 0x85 || r >= 0xe000 && r < 0xf900 {
			return "", false
		}
	}
	return s, true
}

// mostlyUTF8 repairs text that is plainly UTF-8 but for a few bytes: at least ten good sequences for every bad byte.
func mostlyUTF8(data []byte) (Text, bool) {
	good, bad := 0, 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		i += n
	}
	if good < 10*bad {
		return Text{}, false
	}
	return repaired(data), true
}

func repaired(data []byte) Text {
	if utf8.Valid(data) {
		return Text{Text: string(data), Charset: "utf-8"}
	}
	var b strings.Builder
	b.Grow(len(data) + 16)
	bad, first := 0, 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			if bad++; bad == 1 {
				first = i
			}
		}
		b.WriteRune(r)
		i += n
	}
	return Text{Text: b.String(), Charset: "utf-8",
		Warnings: []string{fmt.Sprintf("%d bytes, the first at %d, are not valid UTF-8 and stand as U+FFFD", bad, first)}}
}

func hasNUL(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 }
