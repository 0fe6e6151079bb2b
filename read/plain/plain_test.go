package plain

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
)

func sketch(text string, blocks []exhibit.Block) string {
	var b strings.Builder
	for _, k := range blocks {
		fmt.Fprintf(&b, "%d/%d %s%q\n", k.Kind, k.Level, k.Title, text[k.Start:k.End])
	}
	return b.String()
}

func TestBlocks(t *testing.T) {
	long := strings.Repeat("long line ", 25)
	for _, c := range []struct{ name, text, want string }{
		{"paragraphs", "  a\nb\n \t\n\n\u3000c\r\n\r\nd", "0/0 \"a\\nb\"\n0/0 \"c\"\n0/0 \"d\"\n"},
		{"underlined", "Title\n=====\n\ntext\n\nPart one\n--------\nbody\n\nOther\n=====\n", "1/1 Title\"Title\\n=====\"\n0/0 \"text\"\n1/2 Part one\"Part one\\n--------\"\n0/0 \"body\"\n1/1 Other\"Other\\n=====\"\n"},
		{"not underlined", "a,b\n----------------\n\nx\n--\n\n1 + 1\n= = =\n", "0/0 \"a,b\\n----------------\"\n0/0 \"x\\n--\"\n0/0 \"1 + 1\\n= = =\"\n"},
		{"lines that are not wrapped", long + "\nshort\n" + long, fmt.Sprintf("0/0 %q\n0/0 \"short\"\n0/0 %q\n", strings.TrimSpace(long), strings.TrimSpace(long))},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, sketch(c.text, Blocks(c.text))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEncodedDataIsNoText(t *testing.T) {
	data := strings.Repeat("QmFzZTY0IGlzIG5vIHRleHQgdGhhdCBhbnlvbmUgcmVhZHM1+/A=\n", 9)
	doc, err := Reader{}.Read(context.Background(), exhibit.Source{DocID: "a", Data: []byte("Before.\n\n" + data + "\nAfter.\n")})
	if err != nil || len(doc.Blocks) != 2 || len(doc.Warnings) != 1 {
		t.Errorf("%v %v %q", doc.Blocks, err, doc.Warnings)
	}
	// A sequence of amino acids is text.
	protein := strings.Repeat("MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQ\n", 9)
	if got := Blocks(protein); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestDecodes(t *testing.T) {
	doc, err := Reader{}.Read(context.Background(), exhibit.Source{DocID: "a", Data: []byte("\xff\xfeh\x00i\x00\n\x00\n\x00y\x00")})
	if err != nil || doc.Text != "hi\n\ny" || doc.MediaType != MediaType {
		t.Errorf("%+v %v", doc, err)
	}
}

func TestTitle(t *testing.T) {
	for text, want := range map[string]string{
		"HELPDESK -  HOURS\n\nHours and places\n": "HELPDESK - HOURS", "Title\n=====\ntext": "Title", "\n Just one line \n": "", "A sentence.\n\nMore.": "",
		"two\nlines\n\nMore": "", "----\n\nMore": "", "标题\n\n正文。": "标题", strings.Repeat("long ", 21) + "\n\nMore": "", "Dear Sir,\n\nI": "",
	} {
		doc, err := Reader{}.Read(context.Background(), exhibit.Source{DocID: "a", Data: []byte(text)})
		if err != nil || doc.Title != want {
			t.Errorf("%q: %q %v", text, doc.Title, err)
		}
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add("a\n---\nb\n\n\n c")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip()
		}
		end := 0
		for _, b := range Blocks(text) {
			if b.Start < end || b.End <= b.Start || b.End > len(text) {
				t.Fatalf("block %+v after %d", b, end)
			}
			if strings.TrimSpace(text[end:b.Start]) != "" && len(text) < 400 {
				t.Fatalf("%q is in no block", text[end:b.Start])
			}
			end = b.End
		}
	})
}
