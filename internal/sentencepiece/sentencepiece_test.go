package sentencepiece

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit/internal/weights"
)

// tinyPieces are the pieces of the vocabulary that these tests use, ids 0 to 3 being marks. No piece is cut where another
// one must be: "ab", "ba", "aba" hang together over any length of a and b.
var tinyPieces = []string{"<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "ab", "ba", "aba", "bab", "▁a", "▁ab", "é", "▁é", "fi", "中", "中文", "(", ")", "株", "x", "xx", "xxx", "."}

var tinyScores = []float32{0, 0, 0, 0, -2, -3.1, -3.3, -5.03, -5.11, -7.37, -7.71, -4.5, -6.25, -6, -7.5, -6.6, -7, -9, -5, -5, -9.25, -4, -7.9, -12, -3}

// tinyRules is the character map of that vocabulary.
var tinyRules = map[string]string{
	"\t": " ", "\n": " ", "▁": " ", "\u3000": " ", "e\u0301": "é", "ﬁ": "fi", "\u0001": "", "㈱": "(株)", "…": "...", "¨": " \u0308", "ﷺ": "a b", "\ufffd": " ",
}

func buildMap(t testing.TB, rules map[string]string) string {
	t.Helper()
	var keys []entry
	var texts []byte
	for key, text := range rules {
		keys = append(keys, entry{key, uint32(len(texts))})
		texts = append(append(texts, text...), 0)
	}
	slices.SortFunc(keys, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	units, err := buildDoubleArray(keys)
	if err != nil {
		t.Fatal(err)
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		out = binary.LittleEndian.AppendUint32(out, u)
	}
	return string(append(out, texts...))
}

func tinyVocabulary(t testing.TB) Vocabulary {
	return Vocabulary{Pieces: tinyPieces, Scores: tinyScores, Control: []int{0, 1, 2, 3}, CharsMap: buildMap(t, tinyRules)}
}

// container writes sections to a container and opens it.
func container(t testing.TB, sections []weights.Section) *weights.File {
	t.Helper()
	config := weights.Config{Hidden: 2, Layers: 1, Heads: 1, FeedForward: 1, Vocab: 30, MaxPositions: 8, TypeVocab: 1, EOS: 2, PAD: 1, UNK: 3}
	var buf bytes.Buffer
	if err := weights.Write(&buf, config, sections); err != nil {
		t.Fatal(err)
	}
	f, err := weights.Open(buf.String())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func tiny(t testing.TB) *Tokenizer {
	t.Helper()
	sections, err := Build(tinyVocabulary(t))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Open(container(t, sections))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func pieces(ids []int32) []string {
	out := []string{}
	for _, id := range ids {
		out = append(out, tinyPieces[id])
	}
	return out
}

func TestEncodeFollowsTheRules(t *testing.T) {
	tok := tiny(t)
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"white space only", " \t\u3000▁ ", ""},
		{"what becomes nothing", "\x01", ""},
		{"a space in front", "ab", "▁ab"},
		{"one space for many", "  a \t\n a  ", "▁a ▁a"},
		{"escaped space is a space", "a▁▁a", "▁a ▁a"},
		{"dropped character between spaces", "a \x01 a", "▁a ▁a"},
		{"a space within what a character becomes", "xﷺx", "▁ x a ▁ b x"},
		{"a space first in what a character becomes", "a ¨", "▁a ▁ <unk>"},
		{"composition, longest match", "e\u0301", "▁é"},
		{"no composition", "é", "▁é"},
		{"ligature", "ﬁ", "▁ fi"},
		{"one character, several tokens", "㈱", "▁ ( 株 )"},
		{"of equal ways the one whose last token starts first", "xxx", "▁ x xx"},
		{"best sum", "xxxx", "▁ xx xx"},
		{"unknown", "axq", "▁a x <unk>"},
		{"unknown ones merge", "aqqé", "▁a <unk> é"},
		{"unknown ones apart", "qaq", "▁ <unk> a <unk>"},
		{"zero byte is unknown", "a\x00a", "▁a <unk> a"},
		{"U+FFFD is what the map says", "a\ufffda", "▁a ▁a"},
		{"bytes that are not UTF-8 are unknown", "a\xff\xe4\xb8a", "▁a <unk> a"},
		{"marks are text", "<s>", "▁ <unk>"},
	} {
		got := strings.Join(pieces(tok.Encode(c.text)), " ")
		if got != c.want {
			t.Errorf("%s: %q gives %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func TestSpansPointIntoTheSource(t *testing.T) {
	tok := tiny(t)
	for _, c := range []struct {
		text string
		want []string // source text of each token
	}{
		{"  ab\t a ", []string{"ab", "\t a"}},
		{"e\u0301x", []string{"e\u0301", "x"}},
		{"a ㈱ ", []string{"a", " ", "", "", "㈱"}},
		{"a\x01x", []string{"a\x01", "x"}},
		{"a\xff\xfea", []string{"a", "\xff\xfe", "a"}},
		{"aqq qa", []string{"a", "qq", " ", "q", "a"}},
	} {
		var got []string
		for _, tk := range tok.EncodeSpans(c.text) {
			got = append(got, c.text[tk.Start:tk.End])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

// reference is the algorithm as it is written down: all normalised text at once, a map of pieces, no windows.
func reference(tok *Tokenizer, text string) []int32 {
	var b strings.Builder
	b.WriteString(space)
	for at, afterSpace := 0, true; at < len(text); {
		became, n := tok.normalizePrefix(text[at:])
		at += n
		if afterSpace {
			became = strings.TrimLeft(became, " ")
		}
		if became != "" {
			b.WriteString(strings.ReplaceAll(became, " ", space))
			afterSpace = strings.HasSuffix(became, " ")
		}
	}
	norm := b.String()
	for strings.HasSuffix(norm, space) {
		norm = strings.TrimSuffix(norm, space)
	}
	ids := map[string]int32{}
	for id, p := range tinyPieces[4:] {
		ids[p] = int32(id + 4)
	}
	best := make([]node, len(norm)+1)
	farthest := 0
	for at := 0; at < len(norm); {
		if here := best[at].score; here < -rebase {
			for i := at; i <= farthest; i++ {
				best[i].score -= here
			}
		}
		offer := func(length int, id int32, score float32) {
			n, sum := &best[at+length], score+best[at].score
			if n.length == 0 || sum > n.score {
				*n = node{score: sum, id: id, length: int32(length)}
			}
			farthest = max(farthest, at+length)
		}
		char, single := charLen(norm[at]), false
		for length := 1; length <= 12 && at+length <= len(norm); length++ {
			if id, ok := ids[norm[at:at+length]]; ok {
				offer(length, id, tinyScores[id])
				single = single || length == char
			}
		}
		if !single {
			offer(char, 3, -12-10)
		}
		at += char
	}
	var out []int32
	for at := len(norm); at > 0; at -= int(best[at].length) {
		if id := best[at].id; id != 3 || len(out) == 0 || out[len(out)-1] != 3 {
			out = append(out, id)
		}
	}
	slices.Reverse(out)
	return out
}

// checkText checks what holds for every text.
func checkText(t interface {
	Helper()
	Fatalf(string, ...any)
}, tok *Tokenizer, text string) []int32 {
	t.Helper()
	ids, tokens := tok.Encode(text), tok.EncodeSpans(text)
	if len(ids) != len(tokens) || len(ids) != tok.Count(text) {
		t.Fatalf("%.200q: %d ids, %d spans, a count of %d", text, len(ids), len(tokens), tok.Count(text))
	}
	end := -1
	for i, tk := range tokens {
		if tk.ID != ids[i] || tk.Start > tk.End || i > 0 && tk.Start != end {
			t.Fatalf("%.200q: token %d is %v after one that ends at %d; id %d", text, i, tk, end, ids[i])
		}
		end = tk.End
	}
	if len(tokens) == 0 {
		tokens = []Token{{}}
		end = 0
	}
	if outside := text[:tokens[0].Start] + " " + text[end:]; tok.Count(outside) != 0 {
		t.Fatalf("%.200q: the spans leave out %q", text, outside)
	}
	if again := tok.Encode(" " + text + "\n"); !slices.Equal(ids, again) {
		t.Fatalf("%.200q: white space around it changes %v to %v", text, ids, again)
	}
	return ids
}

func TestEqualToTheReference(t *testing.T) {
	tok := tiny(t)
	parts := append([]string{"q", "\t", " ", "  ", "\x00", "e\u0301", "e", "㈱", "ﷺ", "¨", "\x01", "\xff", "文", "…"}, tinyPieces...)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 60).Draw(t, "parts"), "")
		if got, want := checkText(t, tok, text), reference(tok, text); !slices.Equal(got, want) {
			t.Fatalf("%q: got %v, want %v", text, pieces(got), pieces(want))
		}
	})
}

// mixed strings parts together, pseudo-randomly, up to n bytes.
func mixed(parts []string, seed uint32, n int) string {
	var b strings.Builder
	for b.Len() < n {
		seed = seed*1664525 + 1013904223
		b.WriteString(parts[seed>>16%uint32(len(parts))])
	}
	return b.String()
}

// TestLongTextsEqualTheReference crosses windows, sums beyond rebase and stretches with and without certain boundaries.
func TestLongTextsEqualTheReference(t *testing.T) {
	tok := tiny(t)
	for _, c := range []struct{ name, text string }{
		{"words", mixed([]string{"ab", " a", "ba ", "é", " "}, 1, 200_000)},
		{"no spaces", mixed([]string{"中", "文", "中文"}, 2, 200_000)},
		{"no certain boundary", mixed([]string{"a", "b", "ab"}, 3, 200_000)},
		{"one letter", strings.Repeat("x", 100_001)},
		{"two letters", strings.Repeat("ab", 60_000)},
		{"all unknown", strings.Repeat("q", 3*window)},
		{"spaces", strings.Repeat(" ", 3*window) + "a" + strings.Repeat("\t", 3*window)},
		{"dropped", "a" + strings.Repeat("\x01", 3*window) + "a"},
		{"window edges", strings.Repeat("中", window/3) + "文" + strings.Repeat("x", window) + strings.Repeat(" é", window)},
	} {
		if got, want := checkText(t, tok, c.text), reference(tok, c.text); !slices.Equal(got, want) {
			i := 0
			for i < len(got) && i < len(want) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s: %d ids, want %d, different from number %d on", c.name, len(got), len(want), i)
		}
	}
}

// TestMemoryIsBoundedByWhatHangsTogether looks at what is buffered at most while a long text is cut.
func TestMemoryIsBoundedByWhatHangsTogether(t *testing.T) {
	tok := tiny(t)
	for _, text := range []string{strings.Repeat("ab 中文", 300_000), mixed([]string{"a", "b", "ab"}, 4, 2_000_000)} {
		r := tok.start(wantCount)
		r.encode(text)
		if most := cap(r.nodes); most > 16*window {
			t.Errorf("%.12q…: %d places were buffered for a text of %d bytes", text, most, len(text))
		}
	}
}

// TestWhatHangsTogetherTooLongIsCut takes a text for which no two ways ever meet.
func TestWhatHangsTogetherTooLongIsCut(t *testing.T) {
	tok := tiny(t)
	const n = 6 * hanging
	text := strings.Repeat("x", n) + " ab"
	r := tok.start(wantSpans)
	r.encode(text)
	if most := cap(r.nodes); most > 5*hanging {
		t.Errorf("%d places were buffered", most)
	}
	tokens := r.tokens
	end := 0
	for i, tk := range tokens {
		if tk.Start != end || i > 0 && tk.Start == tk.End {
			t.Fatalf("token %d is %v after one that ends at %d", i, tk, end)
		}
		end = tk.End
	}
	if end != len(text) || len(tokens) < n/2 || len(tokens) > n/2+20 || tokens[len(tokens)-1].ID != 12 {
		t.Errorf("%d tokens up to %d of %d, the last %v", len(tokens), end, len(text), tokens[len(tokens)-1])
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	tok := tiny(t)
	got := tok.Append([]int32{7}, "a a")
	if diff := cmp.Diff([]int32{7, 11, 11}, got); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentUse(t *testing.T) {
	tok := tiny(t)
	texts := []string{"ab a", strings.Repeat("ab x", 20_000), "", "㈱ﷺ", strings.Repeat("q", 100)}
	var want [][]int32
	for _, text := range texts {
		want = append(want, tok.Encode(text))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 40 {
				n := (g + i) % len(texts)
				if got := tok.Encode(texts[n]); !slices.Equal(got, want[n]) {
					t.Errorf("%.20q gives other ids beside other texts", texts[n])
				}
				if got := tok.EncodeSpans(texts[n]); len(got) != len(want[n]) {
					t.Errorf("%.20q gives other spans beside other texts", texts[n])
				}
			}
		})
	}
	wg.Wait()
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "ab a", " \t", "e\u0301\u0301", "㈱ﷺ¨ ¨", "q\xff\x00q", "\x01a\x01 \x01", "\xe4\xb8", "xxxxxxx ababab"} {
		f.Add(s)
	}
	tok := tiny(f)
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := checkText(t, tok, text), reference(tok, text); !slices.Equal(got, want) {
			t.Fatalf("%q: got %v, want %v", text, pieces(got), pieces(want))
		}
	})
}
