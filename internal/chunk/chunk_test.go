package chunk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// standIn counts a token for every four characters of an alphabet and for every other character. Like the encoder's tokenizer it takes
// white space for one space.
func standIn(s string) int {
	narrow, wide := 0, 0
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if r < 0x2e80 {
			narrow++
		} else {
			wide++
		}
	}
	return (narrow+3)/4 + wide
}

// outline makes blocks of a text in which a line beginning with # is a heading, with | a table row, with - a list item, with four spaces
// code, and all else paragraphs. It stands in for a reader.
func outline(text string) []Block {
	var out []Block
	pos := 0
	for line := range strings.Lines(text) {
		b := Block{Start: pos, End: pos + len(line)}
		pos += len(line)
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case strings.HasPrefix(line, "#"):
			b.Title = strings.TrimLeft(line, "#")
			b.Kind, b.Level = Heading, len(line)-len(b.Title)
			b.Title = strings.TrimSpace(b.Title)
		case strings.HasPrefix(line, "|"):
			b.Kind, b.Header = Table, b.End
		case strings.HasPrefix(line, "- "):
			b.Kind, b.Level = ListItem, 1
		case strings.HasPrefix(line, "    "):
			b.Kind = Code
		}
		if n := len(out); n > 0 && out[n-1].Kind == b.Kind && out[n-1].End == b.Start && b.Kind != Heading && b.Kind != ListItem {
			if b.Kind != Paragraph {
				out[n-1].Rows = append(out[n-1].Rows, b.Start)
			}
			out[n-1].End = b.End
			continue
		}
		out = append(out, b)
	}
	return out
}

func texts(text string, pieces []Piece) []string {
	var out []string
	for _, p := range pieces {
		out = append(out, text[p.Start:p.End])
	}
	return out
}

const leave = `# Leave

Every employee has paid leave from the first day of work.

## Annual leave

Full-time staff have 28 days a year. Unused days lapse at the end of March.

## Parental leave

Each parent has 16 weeks of paid leave. Tell your manager eight weeks before it begins.
`

func TestWorkedExample(t *testing.T) {
	if len(leave) != 269 {
		t.Fatalf("the document has %d bytes", len(leave))
	}
	got := Cut(leave, outline(leave), Config{}, standIn)
	want := []Piece{
		{Start: 9, End: 66, HeadingPath: []string{"Leave"}},
		{Start: 85, End: 160, HeadingPath: []string{"Leave", "Annual leave"}},
		{Start: 181, End: 268, HeadingPath: []string{"Leave", "Parental leave"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	for i, hash := range []string{"05cea66c403a", "a1b329ad6c2b", "efee2c2727a9"} {
		sum := sha256.Sum256([]byte(leave[got[i].Start:got[i].End]))
		if h := hex.EncodeToString(sum[:])[:12]; h != hash {
			t.Errorf("piece %d: hash %s, want %s", i, h, hash)
		}
	}
}

func TestHeadings(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Piece
	}{
		{"only headings are kept as text", "# A\n\n## B\n", []Piece{{Start: 5, End: 9, HeadingPath: []string{"A"}, Kind: Heading}}},
		{"an empty one joins the text before", "# A\n\ntext\n\n# B\n\n# C\n\nmore\n", []Piece{
			{Start: 5, End: 14, HeadingPath: []string{"A"}}, {Start: 21, End: 25, HeadingPath: []string{"C"}}}},
		{"an empty one at the start joins the text after", "# A\n\n# B\n\ntext\n", []Piece{{Start: 0, End: 14, HeadingPath: []string{"B"}}}},
		{"text before any heading has no path", "text\n\n# A\n\nmore\n", []Piece{{Start: 0, End: 4}, {Start: 11, End: 15, HeadingPath: []string{"A"}}}},
		{"levels may be skipped", "# A\n\n### B\n\nx\n\n## C\n\ny\n", []Piece{
			{Start: 12, End: 13, HeadingPath: []string{"A", "B"}}, {Start: 21, End: 22, HeadingPath: []string{"A", "C"}}}},
		{"a space with an accent is no white space", " \u0301 ", []Piece{{Start: 0, End: 3}}},
		{"white text gives nothing", " \n\t\n\u3000\n", nil},
		{"none gives nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			blocks := outline(c.text)
			if err := Check(c.text, blocks); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, Cut(c.text, blocks, Config{}, standIn)); d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestLongSectionIsCutEvenly(t *testing.T) {
	sentence := "The quick brown fox jumps over the lazy dog again. " // 13 tokens
	text := strings.Repeat(sentence, 33)                              // about 425, below 7/4 of the target
	if got := Cut(text, nil, Config{}, standIn); len(got) != 1 {
		t.Fatalf("a section that is read whole became %d pieces", len(got))
	}
	text = strings.Repeat(sentence, 38) // about 490
	got := Cut(text, nil, Config{}, standIn)
	if len(got) != 2 {
		t.Fatalf("%d pieces", len(got))
	}
	a, b := standIn(texts(text, got)[0]), standIn(texts(text, got)[1])
	if a < 230 || b < 230 {
		t.Fatalf("pieces of %d and %d tokens", a, b)
	}
	for _, s := range texts(text, got) {
		if !strings.HasPrefix(s, "The") || !strings.HasSuffix(s, ".") {
			t.Fatalf("not whole sentences: %q", s)
		}
	}
}

func TestCase_60_table_split_keeps_header_row(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Rates\n\n| Country | Rate per day in euro |\n|---|---|\n")
	head := b.String()[9:]
	for i := range 120 {
		fmt.Fprintf(&b, "| Country number %d | %d.50 |\n", i, i)
	}
	text := b.String()
	blocks := outline(text)
	blocks[1].Header = 9 + len(head)
	got := Cut(text, blocks, Config{}, standIn)
	if len(got) < 3 {
		t.Fatalf("%d pieces", len(got))
	}
	for i, p := range got {
		s := text[p.Start:p.End]
		if !strings.HasPrefix(s, "|") || !strings.HasSuffix(s, "|") {
			t.Fatalf("piece %d is cut inside a row: %q", i, s)
		}
		switch {
		case i == 0 && (p.Context != "" || !strings.HasPrefix(s, head+"| Country number 0 ")):
			t.Errorf("the first piece: context %q, text %q", p.Context, s[:80])
		case i > 0 && p.Context != strings.TrimSpace(head):
			t.Errorf("piece %d: context %q", i, p.Context)
		}
		if p.Kind != Table {
			t.Errorf("piece %d is a %s", i, p.Kind)
		}
	}
}

func TestCodeIsCutBetweenFunctions(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "func number%d() {\n\tfirst()\n\n\tsecond()\n}\n\n", i)
	}
	text := b.String()
	for _, p := range Cut(text, []Block{{Kind: Code, Start: 0, End: len(text)}}, Config{MaxTokens: 64}, standIn) {
		if s := text[p.Start:p.End]; !strings.HasPrefix(s, "func ") || !strings.HasSuffix(s, "}") {
			t.Fatalf("cut inside a function: %q", s)
		}
	}
}

func TestWhatIsInNoBlock(t *testing.T) {
	for _, c := range []struct {
		gap  string
		want []Piece
	}{
		{"<!-- short -->", []Piece{{Start: 0, End: 24}}},
		{strings.Repeat("x", 300), []Piece{{Start: 0, End: 4}, {Start: 306, End: 310}}},
	} {
		text := "text\n" + c.gap + "\nmore"
		blocks := []Block{{Start: 0, End: 4}, {Start: len(text) - 4, End: len(text)}}
		if d := cmp.Diff(c.want, Cut(text, blocks, Config{}, standIn)); d != "" {
			t.Error(d)
		}
	}
}

func TestIntroductionStaysWithItsList(t *testing.T) {
	filler := strings.Repeat("Some words stand here for the size. ", 28) // 252 tokens
	text := filler + "\n\nThe following are needed:\n\n- a passport\n- two photographs of the size that the office asks for\n- patience\n\n" + filler
	for _, s := range texts(text, Cut(text, outline(text), Config{}, standIn)) {
		if strings.HasSuffix(s, ":") {
			t.Fatalf("the introduction ends a piece: %q", s[len(s)-60:])
		}
	}
}

func TestCase_24_no_overlap_by_default_and_whole_sentences_where_asked(t *testing.T) {
	text := strings.Repeat("One short sentence of nine tokens, no more. ", 120)
	got := Cut(text, nil, Config{}, standIn)
	for i := 1; i < len(got); i++ {
		if got[i].Start < got[i-1].End {
			t.Fatalf("pieces %d and %d overlap", i-1, i)
		}
	}
	got = Cut(text, nil, Config{OverlapTokens: 40}, standIn)
	for i := 1; i < len(got); i++ {
		if shared := got[i-1].End - got[i].Start; shared <= 0 || shared > 180 || !strings.HasPrefix(text[got[i].Start:], "One ") {
			t.Fatalf("pieces %d and %d share %d bytes", i-1, i, shared)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{MaxTokens: -1}, {MaxTokens: 15}, {MaxTokens: 8193}, {OverlapTokens: -1}, {OverlapTokens: 129}, {MaxTokens: 100, OverlapTokens: 51}} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "chunk.") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
	h := Config{}.Hash()
	if len(h) != 12 || h != (Config{MaxTokens: 256}).Hash() || h == (Config{MaxTokens: 255}).Hash() || h == (Config{OverlapTokens: 1}).Hash() {
		t.Errorf("hash %q", h)
	}
}

func TestCheck(t *testing.T) {
	text := "aé bc"
	for _, blocks := range [][]Block{
		{{Start: 0, End: 7}}, {{Start: -1, End: 2}}, {{Start: 2, End: 2}}, {{Start: 0, End: 2}}, {{Start: 0, End: 3}, {Start: 1, End: 4}},
		{{Start: 0, End: 3, Header: 5}}, {{Start: 0, End: 3, Rows: []int{3, 1}}}, {{Start: 1, End: 3, Rows: []int{0}}},
	} {
		if err := Check(text, blocks); err == nil {
			t.Errorf("%+v passes", blocks)
		}
		Cut(text, blocks, Config{}, standIn) // does not panic
	}
}

// piecesHold fails unless the pieces keep what Cut promises of any text.
func piecesHold(t interface{ Fatalf(string, ...any) }, text string, blocks []Block, cfg Config, pieces []Piece) {
	cfg = cfg.withDefaults()
	covered := make([]bool, len(text))
	clusters := map[int]bool{len(text): true}
	for s := range Graphemes(text) {
		clusters[s] = true
	}
	prev := 0
	for i, p := range pieces {
		if p.Start < 0 || p.End > len(text) || p.Start >= p.End {
			t.Fatalf("piece %d is %d to %d of %d", i, p.Start, p.End, len(text))
		}
		s := text[p.Start:p.End]
		if cfg.OverlapTokens == 0 && p.Start < prev {
			t.Fatalf("piece %d begins at %d, the one before ends at %d", i, p.Start, prev)
		}
		prev = p.End
		if !utf8.ValidString(s) {
			t.Fatalf("piece %d is cut inside a character: %q", i, s)
		}
		if a, z := trim(s, 0, len(s)); a != 0 || z != len(s) {
			t.Fatalf("piece %d is not trimmed: %q", i, s)
		}
		if !clusters[p.Start] || !clusters[p.End] {
			t.Fatalf("piece %d is cut inside a grapheme cluster: %q", i, s)
		}
		if n := standIn(s) + standIn(p.ContextText()); n > cfg.bound() {
			t.Fatalf("piece %d has %d tokens with its context", i, n)
		}
		for k := p.Start; k < p.End; k++ {
			covered[k] = true
		}
	}
	for _, b := range blocks {
		if b.Kind == Heading {
			continue
		}
		for k, r := range text[b.Start:b.End] {
			if !unicode.IsSpace(r) && !covered[b.Start+k] {
				t.Fatalf("byte %d (%q) of a %s is in no piece", b.Start+k, r, b.Kind)
			}
		}
	}
}

func textGen() *rapid.Generator[string] {
	line := rapid.OneOf(
		rapid.StringMatching(`[A-Za-z ,.]{0,120}`),
		rapid.StringMatching(`#{1,4} [A-Z][a-z]{0,12}`),
		rapid.StringMatching(`\| [a-z0-9]{1,20} \| [0-9]{1,5} \|`),
		rapid.StringMatching(`- [a-z ]{1,60}\.`),
		rapid.StringMatching(`    [a-z(){};= ]{1,40}`),
		rapid.StringMatching(`[一-十。，]{1,80}`),
		rapid.StringMatching(`[ก-์ ]{1,80}`),
		rapid.StringMatching(`[a-z\x{301}\x{200d}👩🏽👧 ]{1,60}`),
		rapid.StringMatching(`[a-z0-9]{100,700}`),
		rapid.SampledFrom([]string{"", "", "Dr. Smith met Prof. Weber.", "\t", "\u3000", "z. B. so", "a.)))))))))))))))))))))))))", "हिन्दी में यह वाक्य है। दूसरा।"}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(line, 0, 60).Draw(t, "lines")
		return strings.Join(lines, rapid.SampledFrom([]string{"\n", "\n\n", "\r\n"}).Draw(t, "break"))
	})
}

func TestPiecesOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := textGen().Draw(t, "text")
		cfg := Config{MaxTokens: rapid.SampledFrom([]int{0, 16, 40, 100, 600}).Draw(t, "max")}
		cfg.OverlapTokens = rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "overlap")
		blocks := outline(text)
		if err := Check(text, blocks); err != nil {
			t.Fatalf("%v", err)
		}
		got := Cut(text, blocks, cfg, standIn)
		piecesHold(t, text, blocks, cfg, got)
		if d := cmp.Diff(got, Cut(text, blocks, cfg, standIn)); d != "" {
			t.Fatalf("cut again: %s", d)
		}
	})
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{leave, "a.\u0301\u0301", "x\r\n\r\ny", "👩‍👧👩‍👧", "\xff\xfe", strings.Repeat("漢", 300)} {
		f.Add(s, 16)
	}
	f.Fuzz(func(t *testing.T, text string, maxTokens int) {
		cfg := Config{MaxTokens: maxTokens}
		if cfg.Validate() != nil || !utf8.ValidString(text) {
			t.Skip()
		}
		blocks := outline(text)
		piecesHold(t, text, blocks, cfg, Cut(text, blocks, cfg, standIn))
	})
}
