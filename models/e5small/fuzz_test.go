package e5small_test

import (
	"slices"
	"testing"
)

// FuzzTokens holds the tokenizer, over the whole vocabulary, to what is true of every text: ids, spans and count agree, spans
// follow on one another and leave out white space only, and white space around a text changes nothing.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		"", "How much parental leave do I get?", "  今年我还有多少天年假？\n", "e\u0301\u0323 한\u11a8 か\u3099", "㈱ﷺ¨ ½ ﬃ", "a\xff\xe4\xb8 \x00b",
		"<mask> <s>", "👩\u200d👩\u200d👧 🏳️\u200d🌈", "\u200b\u2060\ufeff\u00ad", "น้ำ\u0e33", "▁ ▁▁x", "\x01 \x7f \u0085", "aaaaaaaaaaaaaaaaaaaaaaaa",
	} {
		f.Add(s)
	}
	tok := openTokenizer(f)
	f.Fuzz(func(t *testing.T, text string) {
		ids, tokens := tok.Encode(text), tok.EncodeSpans(text)
		if len(ids) != len(tokens) || len(ids) != tok.Count(text) {
			t.Fatalf("%q: %d ids, %d spans, a count of %d", text, len(ids), len(tokens), tok.Count(text))
		}
		first, end := 0, 0
		for i, tk := range tokens {
			if i == 0 {
				first, end = tk.Start, tk.Start
			}
			if tk.ID != ids[i] || tk.ID < 3 || tk.ID > 250001 || tk.Start != end || tk.End < tk.Start {
				t.Fatalf("%q: token %d is %v after one that ends at %d; id %d", text, i, tk, end, ids[i])
			}
			end = tk.End
		}
		if rest := text[:first] + " " + text[end:]; tok.Count(rest) != 0 {
			t.Fatalf("%q: the spans leave out %q", text, rest)
		}
		if again := tok.Encode("\t" + text + " "); !slices.Equal(ids, again) {
			t.Fatalf("%q: white space around it changes %v to %v", text, ids, again)
		}
	})
}
