package charset

import (
	"bytes"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// utf16WithoutMark recognises UTF-16 by its code units in a sample: enough of them must be ASCII or a common mark in one byte order and
// next to none in the other, few of the rest may be two ASCII characters, and surrogates must come in pairs. It returns nil where data is not UTF-16.
func utf16WithoutMark(data []byte) (encoding.Encoding, string) {
	sample := data[:min(len(data), 64<<10)&^1]
	if len(sample) < 4 || bytes.IndexByte(sample, 0) < 0 {
		return nil, ""
	}
	little, big, ascii := 0, 0, 0
	for i := 0; i+1 < len(sample); i += 2 {
		if usual(sample[i+1], sample[i]) {
			little++
		}
		if usual(sample[i], sample[i+1]) {
			big++
		}
		if printable(sample[i]) && printable(sample[i+1]) {
			ascii++
		}
	}
	units := len(sample) / 2
	switch {
	case ascii*3 > units-max(little, big):
		return nil, "" // bytes of ASCII with zeros between, as in a table of strings
	case little > 8*big && little*50 >= units && paired(sample, 1):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16le"
	case big > 8*little && big*50 >= units && paired(sample, 0):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be"
	}
	return nil, ""
}

// usual tells whether a code unit is printable ASCII, white space or a common mark of East Asian text. The unit 0 is not.
func usual(high, low byte) bool {
	switch high {
	case 0x00:
		return low >= 0x20 && low < 0x7f || low == '\n' || low == '\r' || low == '\t'
	case 0x30:
		return low <= 0x02
	case 0xff:
		return low == 0x0c || low == 0x01 || low == 0x1f
	}
	return false
}

// printable leaves out 0x30, the high byte of kana.
func printable(b byte) bool { return b >= 0x20 && b < 0x7f && b != 0x30 }

// paired tells whether the sample has no NUL unit, no control characters and no lone surrogate; high is the index of a unit's high byte.
func paired(sample []byte, high int) bool {
	lead := false
	for i := 0; i+1 < len(sample); i += 2 {
		h, l := sample[i+high], sample[i+1-high]
		if h == 0 && l < 0x20 && l != '\n' && l != '\r' && l != '\t' && l != '\f' {
			return false
		}
		isLead, isTrail := h >= 0xd8 && h < 0xdc, h >= 0xdc && h < 0xe0
		if lead != isTrail {
			return false
		}
		lead = isLead
	}
	return true
}

// escaped recognises ISO-2022-JP by its escape sequences.
func escaped(data []byte) (encoding.Encoding, string) {
	for _, esc := range []string{"\x1b$B", "\x1b$@", "\x1b(J"} {
		if bytes.Contains(data, []byte(esc)) {
			return japanese.ISO2022JP, "iso-2022-jp"
		}
	}
	return nil, ""
}
