package project

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/tokens"
	"pgregory.net/rapid"
)

// bits are what texts of the properties are made of.
func bits() []string {
	return []string{"A sentence ends here. ", "Another one, longer than the first, ends there! ", "\n", "\n\n", "\r\n", "word ", "x", " ", "\t",
		"一句话。", "另一句话比较长，到这里结束。", "ประเทศไทย ", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "<<evidence ", "<</EVIDENCE 0000000000000000>>\n", "<\\<evidence", "<", "\\", "]]>",
		"\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4. And 5 |\n", "\n```\ncode. Line\nmore code\n```\n", "\x1b", "\x00", "/path", "&lt;", "[1] ", "{\"a\":", "Dr. Who ",
		strings.Repeat("long", 40), "\u2028", "\ufffe"}
}

func textOf(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits()), 0, 25).Draw(t, "text"), "")
}

func evidenceOf(t *rapid.T) []exhibit.Evidence {
	n := rapid.IntRange(0, 7).Draw(t, "blocks")
	list := make([]exhibit.Evidence, n)
	for i := range list {
		docID := rapid.SampledFrom([]string{"a.md", "dir/b c.md", "vector:x", "/abs", "長い名前", "x" + strings.Repeat("y", 200)}).Draw(t, "docID")
		e := plain(docID, i, textOf(t))
		if rapid.Bool().Draw(t, "title") {
			e.Title, e.HeadingPath = textOf(t), []string{"Heading", textOf(t)}
		}
		if rapid.IntRange(0, 4).Draw(t, "handle") == 0 {
			e.Handle = ""
		}
		list[i] = e
	}
	return list
}

func requestOf(t *rapid.T) exhibit.ProjectionRequest {
	req := request(rapid.SampledFrom(Formats()).Draw(t, "format"))
	req.Overflow = rapid.SampledFrom([]exhibit.Overflow{exhibit.OverflowSkip, exhibit.OverflowCut, exhibit.OverflowStrict}).Draw(t, "overflow")
	req.Tokenizer = rapid.SampledFrom(tokens.Names()).Draw(t, "tokenizer")
	if rapid.Bool().Draw(t, "tokens") {
		req.MaxTokens = rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 600)).Draw(t, "max tokens")
	}
	if rapid.Bool().Draw(t, "characters") {
		req.MaxCharacters = rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 2500)).Draw(t, "max characters")
	}
	req.LookupID = rapid.StringMatching(`[0-9a-f]{12}`).Draw(t, "lookup")
	return req
}

// texts returns what a client takes out of a rendering.
func texts(t *rapid.T, p *exhibit.Projection) []string {
	switch p.Format {
	case JSON:
		var list []struct{ Text string }
		if p.Text == "" {
			return nil
		}
		if err := json.Unmarshal([]byte(p.Text), &list); err != nil {
			t.Fatalf("%v in %s", err, p.Text)
		}
		out := make([]string, len(list))
		for i := range list {
			out[i] = list[i].Text
		}
		return out
	case Terminal, TerminalEscaped:
		return nil
	}
	out, err := Unfence(p.Text, p.Nonce)
	if err != nil {
		t.Fatalf("%v in %s", err, p.Text)
	}
	return out
}

func checkProjection(t *rapid.T, counters *tokens.Counters, req exhibit.ProjectionRequest, list []exhibit.Evidence, p *exhibit.Projection) {
	counter, err := counters.Get(req.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	n, err := counter.Count(p.Text)
	if err != nil {
		t.Fatal(err)
	}
	if c := utf8.RuneCountInString(p.Text); c != p.Characters || req.MaxCharacters > 0 && c > req.MaxCharacters {
		t.Fatalf("%d characters, said to be %d, of %d", c, p.Characters, req.MaxCharacters)
	}
	if p.Tokenizer != "" && (n != p.Tokens || p.Tokenizer != req.Tokenizer) || req.MaxTokens > 0 && (n > req.MaxTokens || p.Tokenizer == "") {
		t.Fatalf("%d tokens, said to be %d of %q, of %d", n, p.Tokens, p.Tokenizer, req.MaxTokens)
	}
	over := map[int]bool{}
	for _, o := range p.Over {
		over[o.Index] = true
		if req.MaxTokens == 0 && o.Tokens != 0 || req.MaxCharacters == 0 && o.Characters != 0 {
			t.Fatalf("over a budget that there is not: %+v", o)
		}
		if o.Alone && o.Tokens+o.Characters == 0 {
			t.Fatalf("too large alone, and not over budget: %+v", o)
		}
	}
	if len(p.Kept)+len(over) != len(list) {
		t.Fatalf("%d kept and %d over of %d", len(p.Kept), len(over), len(list))
	}
	recovered, k := texts(t, p), 0
	if req.Format != Terminal && req.Format != TerminalEscaped && len(recovered) != len(p.Kept) {
		t.Fatalf("%d texts of %d blocks", len(recovered), len(p.Kept))
	}
	for i, e := range list {
		if over[i] {
			continue
		}
		kept := p.Kept[k]
		if kept.Key != e.Key || kept.ContentHash != e.ContentHash {
			t.Fatalf("kept %s where %s was given", kept.Key, e.Key)
		}
		checkCut(t, req, e, kept, k == len(p.Kept)-1)
		if recovered != nil && recovered[k] != kept.Text {
			t.Fatalf("recovered %q, want %q", recovered[k], kept.Text)
		}
		k++
	}
}

func checkCut(t *rapid.T, req exhibit.ProjectionRequest, given, kept exhibit.Evidence, last bool) {
	if !kept.Cut {
		if kept.Text != given.Text || *kept.Span != *given.Span {
			t.Fatalf("changed, and not marked as cut: %+v", kept)
		}
		return
	}
	end := len(kept.Text)
	if req.Overflow != exhibit.OverflowCut || !last || end == 0 || end >= len(given.Text) || given.Text[:end] != kept.Text {
		t.Fatalf("cut to %q of %q", kept.Text, given.Text)
	}
	if kept.Span.EndByte != given.Span.StartByte+end || kept.Span.EndLine != given.Span.StartLine+strings.Count(kept.Text, "\n") {
		t.Fatalf("span %+v of %q, begun at %+v", *kept.Span, kept.Text, *given.Span)
	}
	for it, at := graphemes.FromString(given.Text), 0; at < end && it.Next(); at = it.End() {
		if it.Start() < end && it.End() > end {
			t.Fatalf("cut inside %q", it.Value())
		}
	}
	head := "| a | b |\n|---|---|"
	if i := strings.LastIndex(kept.Text, "| a | b |"); i >= 0 && strings.HasPrefix(given.Text[i:], head) && len(kept.Text[i:]) <= len(head) && given.Text[i+len(head):] != "" {
		if layoutOf(given.Text)[strings.Count(given.Text[:i], "\n")].kind == headerLine {
			t.Fatalf("a table lost what is under its header: %q", kept.Text)
		}
	}
}

// At any budget, in any format, what is rendered is within it; every block is accounted for; texts come back exactly.
func TestCase_56_measured_within_budget(t *testing.T) {
	var counters tokens.Counters
	p := New()
	rapid.Check(t, func(t *rapid.T) {
		list, req := evidenceOf(t), requestOf(t)
		out, err := p.Project(context.Background(), req, list)
		if err != nil {
			t.Fatal(err)
		}
		checkProjection(t, &counters, req, list, &out)
		again, err := p.Project(context.Background(), req, list)
		if err != nil || again.Text != out.Text {
			t.Fatalf("a second call gives another answer: %v", err)
		}
	})
}

// The sums by which blocks are chosen are the sizes of what is rendered: no block is left out for a wrong estimate.
func TestSumsAreExact(t *testing.T) {
	p := New()
	rapid.Check(t, func(t *rapid.T) {
		list, req := evidenceOf(t), requestOf(t)
		for i := range list {
			list[i].Handle = fmt.Sprintf("[%d]", i+1)
		}
		req.Overflow = exhibit.OverflowSkip
		req.MaxTokens, req.MaxCharacters = 1<<40, 0
		f, err := p.fitter(req)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range list {
			b := block{evidence: e, whole: e.Text}
			last, _, err := f.sizes(&b)
			if err != nil {
				t.Fatal(err)
			}
			total, err := f.total(f.kept, f.sum, last, e.ContentHash)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.add(i, e); err != nil {
				t.Fatal(err)
			}
			text, _, err := f.render()
			if err != nil {
				t.Fatal(err)
			}
			if size, err := f.measure(text); err != nil || size != total {
				t.Fatalf("sum %+v, measured %+v (%v) of %q", total, size, err, text)
			}
		}
	})
}

// At exactly the size of the whole nothing is left out; at one less something is.
func TestBudgetIsUsedToTheLast(t *testing.T) {
	for _, format := range Formats() {
		req := request(format)
		req.MaxTokens = 1 << 40
		whole := project(t, req, leave())
		for _, change := range []func(*exhibit.ProjectionRequest, int){
			func(r *exhibit.ProjectionRequest, less int) { r.MaxTokens = whole.Tokens - less },
			func(r *exhibit.ProjectionRequest, less int) { r.MaxCharacters = whole.Characters - less },
		} {
			change(&req, 0)
			if p := project(t, req, leave()); p.Text != whole.Text {
				t.Errorf("%s: something is left out at the very size of the whole", format)
			}
			change(&req, 1)
			p := project(t, req, leave())
			if len(p.Over) != 1 || p.Over[0].Index != 1 || p.Over[0].Alone || max(p.Over[0].Tokens, p.Over[0].Characters) != 1 {
				t.Errorf("%s: at one less: over %+v", format, p.Over)
			}
			req = request(format)
		}
	}
}

func TestLongest(t *testing.T) {
	for n := range 20 {
		for fit := range n + 1 {
			if got := longest(n, func(i int) bool {
				if i >= n {
					t.Fatalf("asked for %d of %d", i, n)
				}
				return i < fit
			}); got != fit {
				t.Errorf("longest(%d) = %d, want %d", n, got, fit)
			}
		}
	}
}

func FuzzFence(f *testing.F) {
	for _, seed := range []string{"", "plain", "<<evidence 0000000000000000>>", "<\\\\<</EviDence", "<<\\<evidence<<<evidence", "<</evidence 0000000000000000>>\n<<evidence", "<\\", "\r\n\x00\\x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := restore(neutralise(text)); got != text {
			t.Fatalf("restored %q, want %q", got, text)
		}
		for _, format := range []string{Markdown, XML} {
			p := project(t, request(format), []exhibit.Evidence{plain("a", 0, text)})
			got, err := Unfence(p.Text, p.Nonce)
			if err != nil || !slices.Equal(got, []string{text}) {
				t.Fatalf("%s: recovered %q, %v, want %q", format, got, err, text)
			}
		}
		if utf8.ValidString(text) {
			if got, err := unescapeBackslash(escapeBackslash(text)); err != nil || got != text {
				t.Fatalf("unescaped %q, %v, want %q", got, err, text)
			}
		}
	})
}

func FuzzUnfence(f *testing.F) {
	f.Add("[1] a\nc\n<<evidence 0000000000000000>>\ntext\n<</evidence 0000000000000000>>\n")
	f.Add("<exhibit>\n<evidence escape=\"backslash\"><![CDATA[\n<<evidence 0000000000000000>>\n\\x0\n<</evidence 0000000000000000>>\n]]></evidence>\n</exhibit>\n")
	f.Fuzz(func(t *testing.T, rendered string) {
		if texts, err := Unfence(rendered, zeroNonce); err != nil && len(texts) > 0 {
			t.Fatalf("texts and an error: %q, %v", texts, err)
		}
	})
}
