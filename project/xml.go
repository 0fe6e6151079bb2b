package project

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
)

const (
	xmlOpen  = "<exhibit>"
	xmlClose = "</exhibit>"
	xmlEmpty = "<exhibit/>"

	// A text that XML 1.0 cannot hold as it is declares in an attribute how it is written.
	attrNewline = "newline" // "crlf": every line break was a carriage return and a line feed
	attrEscape  = "escape"  // "backslash": \\ \r \xHH (a byte) and \uHHHH
)

// renderXML writes one element. The fenced text is a CDATA section, so that a reader of the raw form sees the text and
// not its escapes.
func renderXML(b *block, nonce string) (string, error) {
	e := &b.evidence
	text, newline, escape := xmlText(e.Text)
	var out strings.Builder
	out.WriteString("<evidence")
	attr := func(name, value string) {
		if value != "" {
			out.WriteString(" " + name + `="` + escapeAttr(value) + `"`)
		}
	}
	attr("handle", shownTitle(e.Handle))
	attr("key", shownKey(e.Key))
	attr("citation", e.Citation().String())
	attr("source", shownName(e.Source))
	attr("title", shownTitle(e.Title))
	attr("headings", joined(e.HeadingPath))
	if e.Span != nil {
		attr("pages", numbers(e.Span.StartPage, e.Span.EndPage))
		attr("lines", numbers(e.Span.StartLine, e.Span.EndLine))
	}
	if e.ScoreKind != "" {
		attr("score", fixed(e.Score, 3))
		attr("score_kind", shownTitle(e.ScoreKind))
	}
	if e.Cut {
		attr("cut", b.cutMark())
	}
	attr(attrNewline, newline)
	attr(attrEscape, escape)
	out.WriteString("><![CDATA[\n")
	var fenced strings.Builder
	fence(&fenced, text, nonce)
	out.WriteString(strings.ReplaceAll(fenced.String(), "]]>", "]]]]><![CDATA[>"))
	out.WriteString("\n]]></evidence>")
	return out.String(), nil
}

func escapeAttr(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// xmlText returns the text as XML 1.0 can hold it (https://www.w3.org/TR/xml/#charsets, and #sec-line-ends for line
// breaks), and what has to be declared about that.
func xmlText(s string) (text, newline, escape string) {
	if strings.Contains(s, "\r") && strings.Count(s, "\r") == strings.Count(s, "\r\n") && strings.Count(s, "\n") == strings.Count(s, "\r\n") {
		s, newline = strings.ReplaceAll(s, "\r\n", "\n"), "crlf"
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !xmlHolds(r, n) {
			return escapeBackslash(s), newline, "backslash"
		}
		i += n
	}
	return s, newline, ""
}

// xmlHolds reports whether a character of n bytes comes back from XML as it went in.
func xmlHolds(r rune, n int) bool {
	return !(r == utf8.RuneError && n == 1) && (r >= 0x20 || r == '\t' || r == '\n') && r != 0xFFFE && r != 0xFFFF
}

func escapeBackslash(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\\':
			out.WriteString(`\\`)
		case r == '\r':
			out.WriteString(`\r`)
		case xmlHolds(r, n):
			out.WriteString(s[i : i+n])
		case n == 1:
			fmt.Fprintf(&out, `\x%02x`, s[i])
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += n
	}
	return out.String()
}

func unescapeBackslash(s string) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		digits := 0
		switch {
		case strings.HasPrefix(after, `\`):
			out.WriteByte('\\')
		case strings.HasPrefix(after, "r"):
			out.WriteByte('\r')
		case strings.HasPrefix(after, "x") && len(after) > 2:
			digits = 2
		case strings.HasPrefix(after, "u") && len(after) > 4:
			digits = 4
		default:
			return "", errors.New("a backslash stands alone")
		}
		if digits > 0 {
			n, err := strconv.ParseUint(after[1:1+digits], 16, 32)
			if err != nil {
				return "", err
			}
			if digits == 2 {
				out.WriteByte(byte(n))
			} else {
				out.WriteRune(rune(n))
			}
		}
		s = after[1+digits:]
	}
}

type xmlEvidence struct {
	Newline string `xml:"newline,attr"`
	Escape  string `xml:"escape,attr"`
	Content string `xml:",chardata"`
}

func unfenceXML(rendered, nonce string) ([]string, error) {
	var doc struct {
		Evidence []xmlEvidence `xml:"evidence"`
	}
	d := xml.NewDecoder(strings.NewReader(rendered))
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	for {
		t, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if space, ok := t.(xml.CharData); !ok || strings.TrimSpace(string(space)) != "" {
			return nil, errors.New("something follows the document")
		}
	}
	var texts []string
	for _, e := range doc.Evidence {
		list, err := unfencePlain(strings.TrimPrefix(e.Content, "\n"), nonce)
		if err != nil {
			return nil, err
		}
		if len(list) != 1 {
			return nil, fmt.Errorf("an element has %d fences", len(list))
		}
		text := list[0]
		if e.Escape != "" {
			if text, err = unescapeBackslash(text); err != nil {
				return nil, err
			}
		}
		if e.Newline != "" {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// shownKey returns a key as it stands outside the fence: its docId is shortened, its chunk mark is not.
func shownKey(k exhibit.Key) string {
	printed := k.String()
	if k.Kind() != exhibit.KeyChunk {
		return shownName(printed)
	}
	docID := exhibit.EscapeDocID(k.DocID())
	return shownName(docID) + printed[len(docID):]
}
