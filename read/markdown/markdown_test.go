package markdown

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/chunk"
)

// sketch writes blocks as one line each: kind, level, title, header, rows, text.
func sketch(text string, blocks []exhibit.Block) string {
	names := [...]string{"paragraph", "heading", "item", "table", "code", "quote", "raw"}
	var b strings.Builder
	for _, k := range blocks {
		fmt.Fprintf(&b, "%s", names[k.Kind])
		if k.Level > 0 {
			fmt.Fprintf(&b, " %d", k.Level)
		}
		if k.Title != "" {
			fmt.Fprintf(&b, " (%s)", k.Title)
		}
		pos := k.Start
		if k.Header > 0 {
			fmt.Fprintf(&b, " header %q", text[pos:k.Header])
			pos = k.Header
		}
		for _, r := range append(k.Rows, k.End) {
			if r > pos {
				fmt.Fprintf(&b, " %q", text[pos:r])
				pos = r
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"headings", "# One *two* `x` [l](u) {#id}\n\nSet\n===\n\nSet two\nlines\n---\n## Closed ##\n#\nnot#\n", `
heading 1 (One two x l) "# One *two* ` + "`x`" + ` [l](u) {#id}"
heading 1 (Set) "Set\n==="
heading 2 (Set two lines) "Set two\nlines\n---"
heading 2 (Closed) "## Closed ##"
heading 1 "#"
paragraph "not#"
`},
		{"crlf", "# A\r\n\r\ntext\r\nmore\r\n\r\n- i\r\n", `
heading 1 (A) "# A"
paragraph "text\r\nmore"
item 1 "- i"
`},
		{"lists", "Intro:\n\n- a\n  goes on\n\n  second\n  - b\n    1. c\n- ```go\n  x\n  ```\n-\n* d\n", `
paragraph "Intro:"
item 1 "- a\n  goes on"
item 1 "second"
item 2 "- b"
item 3 "1. c"
code "- ` + "```go\\n  x\\n  ```" + `"
item 1 "* d"
`},
		{"tables", "before\n| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |\n\nafter\n\nx | y\n--|--\n", `
paragraph "before"
table header "| a | b |\n|---|:-:|\n" "| 1 | 2 |\n" "| 3 | 4 |"
paragraph "after"
table header "x | y\n--|--"
`},
		{"code", "```\na\n\nb\n```\n\n    in\n    dented\n\n~~~~ x\n```\n~~~~\n\n```\nopen\n", `
code "` + "```\\na\\n" + `" "\n" "b\n` + "```" + `"
code "in\n" "    dented"
code "~~~~ x\n` + "```" + `\n~~~~"
code "` + "```" + `\nopen"
`},
		{"quotes", "> # no heading\n> a\nlazy\n\n> - b\n", `
quote "> # no heading\n> a\nlazy"
quote "> - b"
`},
		{"html", "<!-- note -->\n\n<div align=x>\n\n<p>Some\nwords</p>\n\n<script>\nvar x = 1\n</script>\n\ntext <b>bold</b>\n\n---\n", `
raw "<p>Some\n" "words</p>"
paragraph "text <b>bold</b>"
`},
		{"definitions of links", "See [x].\n\n[x]: https://example.org \"The Title\"\n[y]: z\n", `
paragraph "See [x]."
raw "[x]: https://example.org \"The Title\""
raw "[y]: z"
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Blocks(c.text)
			if d := cmp.Diff(strings.TrimPrefix(c.want, "\n"), sketch(c.text, got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func read(t *testing.T, mediaType, text string) exhibit.Document {
	t.Helper()
	doc, err := Reader{}.Read(context.Background(), exhibit.Source{DocID: "x.md", Path: "x.md", MediaType: mediaType, Data: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestFrontMatter(t *testing.T) {
	doc := read(t, "", "---\ntitle: \"A:  b\"\ntags: [x, 'y']\nn: 3\nf: 1.50\nok: yes\nt: true\nd: 2024-01-02\nnone: ~\na:\n  b: c\n---\n\n# H\n\ntext\n")
	want := exhibit.Metadata{"tags": exhibit.Strings("x", "y"), "n": exhibit.Int(3), "f": exhibit.Number(1.5), "ok": exhibit.String("yes"), "t": exhibit.Bool(true),
		"d": exhibit.String("2024-01-02"), "none": {}, "a.b": exhibit.String("c")}
	if d := cmp.Diff(want, doc.Metadata, cmp.Comparer(exhibit.Value.Equal)); d != "" || doc.Title != "A: b" {
		t.Error(doc.Title, d)
	}
	if got := sketch(doc.Text, doc.Blocks); got != "heading 1 (H) \"# H\"\nparagraph \"text\"\n" {
		t.Error(got)
	}
	doc = read(t, "", "+++\ntitle = \"T\"\ndraft = false\n[x]\ny = 1\n+++\ntext")
	if doc.Title != "T" || len(doc.Metadata) != 1 || len(doc.Blocks) != 1 {
		t.Errorf("%+v", doc)
	}
	for _, text := range []string{"---\n\nA rule, then text.\n\n---\n\nmore\n", "---\nkey: [\n---\ntext\n", "---\nno end\n"} {
		doc := read(t, "", text)
		if doc.Metadata != nil || !strings.HasPrefix(text[doc.Blocks[0].Start:], strings.TrimLeft(text, "-\n")[:5]) && doc.Blocks[0].Start != 0 {
			t.Errorf("%q: %v", text, sketch(text, doc.Blocks))
		}
	}
	if doc := read(t, "", "---\nkey: [\n---\ntext\n"); len(doc.Warnings) != 1 {
		t.Errorf("warnings %q", doc.Warnings)
	}
}

func TestTitle(t *testing.T) {
	for text, want := range map[string]string{
		"# A\n\n# B\n": "A", "## A\n\ntext\n\n### B\n": "A", "## A\n\n## B\n": "", "text\n\n## A\n": "", "## B\n\n# A\n": "A",
	} {
		if got := read(t, "", text).Title; got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestMDX(t *testing.T) {
	doc := read(t, MediaTypeMDX, "import X from './x'\nimport {Y} from 'y'\n\nexport const z = 1\n\n<Tabs>\n<Tab title=\"a\">\n\n## Head\n\nSome text.\n\n</Tab>\n</Tabs>\n\n<Note>\n  A note.\n</Note>\n\nexport controls matter\n\n<X\n  y={1}\n/>\n\n  text\n\n</Q.R>\n")
	want := `raw "<Tabs>\n" "<Tab title=\"a\">"
heading 2 (Head) "## Head"
paragraph "Some text."
raw "<Note>\n" "  A note.\n" "</Note>"
paragraph "export controls matter"
paragraph "text"
`
	if got := sketch(doc.Text, doc.Blocks); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestNoText(t *testing.T) {
	for _, text := range []string{" \n\t", "<!-- only a comment -->\n", "---\ntitle: x\n---\n", "\ufeff", "---\n"} {
		_, err := Reader{}.Read(context.Background(), exhibit.Source{Path: "x.md", Data: []byte(text)})
		if !errors.Is(err, exhibit.ErrNoText) || exhibit.HintOf(err) == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLargeTextIsParsedInParts(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 3*segmentSize; i++ {
		fmt.Fprintf(&b, "## Part %d\n\nWords, and then code:\n\n```\na\n\nb\n\n# no heading\n```\n\n- item\n\n  of two paragraphs\n\n", i)
	}
	text := b.String()
	bounds := segments(text, 0)
	if len(bounds) < 3 {
		t.Fatalf("parts end at %v", bounds)
	}
	kinds := map[exhibit.BlockKind]int{}
	got := Blocks(text)
	for _, k := range got {
		kinds[k.Kind]++
	}
	n := kinds[exhibit.BlockHeading]
	if want := map[exhibit.BlockKind]int{exhibit.BlockHeading: n, exhibit.BlockParagraph: n, exhibit.BlockCode: n, exhibit.BlockListItem: 2 * n}; !cmp.Equal(want, kinds) {
		t.Errorf("%v, want %v", kinds, want)
	}
	holds(t, text, got)
}

// Markdown made to be slow or deep.
func TestHostile(t *testing.T) {
	for _, unit := range []string{"> ", "- ", "* a\n", "[", "<", "`", "```\n", "|", "| a ", "a\n=\n", "\t", "1. ", "<a\n", "[a]: b\n", "#", "&", "\\", "\n\n", "  - a\n    ", "> a\n"} {
		text := strings.Repeat(unit, 50000/len(unit)) + "end"
		start := time.Now()
		blocks := Blocks(text)
		spent := time.Since(start)
		if t.Logf("%q: %v", unit, spent); spent > 5*time.Second {
			t.Errorf("%q took %v", unit, spent)
		}
		holds(t, text, blocks)
	}
}

func holds(t interface{ Fatalf(string, ...any) }, text string, blocks []exhibit.Block) {
	end := 0
	for _, b := range blocks {
		if b.Start < end || b.End <= b.Start || b.End > len(text) {
			t.Fatalf("block %+v after %d of %q", b, end, text)
		}
		end = b.End
	}
	var c []chunk.Block
	for _, b := range blocks {
		c = append(c, chunk.Block{Start: b.Start, End: b.End, Header: b.Header, Rows: b.Rows})
	}
	if err := chunk.Check(text, c); err != nil {
		t.Fatalf("%v of %q", err, text)
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add("# a\n\n- b\n  - c\n\n| x |\n|---|\n| y |\n")
	f.Add("> ```\n> x\n")
	f.Add("- \t```\n\t x\n")
	f.Add("---\na: b\n---\n<p>\n")
	f.Fuzz(func(t *testing.T, text string) {
		if text = strings.ToValidUTF8(text, ""); len(text) > 4096 {
			t.Skip()
		}
		holds(t, text, Blocks(text))
		f := parseFront(text)
		holds(t, text, blocks(text, f.end, true))
	})
}
