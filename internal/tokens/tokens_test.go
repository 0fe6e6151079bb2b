package tokens

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
	"pgregory.net/rapid"
)

// Counts of tiktoken for these texts, as https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken prints
// them; the first two and the special token are ours.
func TestCount(t *testing.T) {
	var counters Counters
	for _, c := range []struct {
		text          string
		o200k, cl100k int
	}{
		{"", 0, 0},
		{"hello world", 2, 2},
		{"antidisestablishmentarianism", 6, 6},
		{"2 + 2 = 4", 7, 7},
		{"<|endoftext|>", 7, 7},
		{"お誕生日おめでとう", 8, 9},
	} {
		for name, want := range map[string]int{O200kBase: c.o200k, Cl100kBase: c.cl100k} {
			counter, err := counters.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := counter.Count(c.text)
			if err != nil || got != want || counter.Name() != name {
				t.Errorf("%s: %q is %d tokens (%v), want %d", counter.Name(), c.text, got, err, want)
			}
		}
	}
}

func TestGet(t *testing.T) {
	var counters Counters
	if _, err := counters.Get("gpt2"); err == nil || !strings.Contains(err.Error(), "o200k_base") {
		t.Errorf("got %v, want an error that names what there is", err)
	}
	counter, err := counters.Get("")
	if err != nil || counter.Name() != O200kBase {
		t.Errorf("got %v, %v", counter, err)
	}
	for _, name := range append(Names(), "") {
		if !Known(name) {
			t.Errorf("%q must be known", name)
		}
	}
	if Known("gpt2") {
		t.Error("gpt2 is not known")
	}
}

func TestConcurrentUse(t *testing.T) {
	var counters Counters
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			counter, err := counters.Get(O200kBase)
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				if n, err := counter.Count("hello world"); n != 2 || err != nil {
					t.Errorf("got %d, %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}

// The expressions that tiktoken cuts with (https://github.com/openai/tiktoken, openai_public.py), run by an interpreter
// in place of the library's compiled form.
func pieces(name string) *regexp2.Regexp {
	if name == Cl100kBase {
		return regexp2.MustCompile(`(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)`, regexp2.None)
	}
	return regexp2.MustCompile(`(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|`+
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|`+
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)`, regexp2.None)
}

// mergeNaively is byte-pair encoding as it is defined, without regard to time.
func mergeNaively(piece string, ranks map[string]int) int {
	parts := make([]string, len(piece))
	for i := range parts {
		parts[i] = piece[i : i+1]
	}
	for {
		best, at := math.MaxInt, -1
		for i := 0; i+1 < len(parts); i++ {
			if r, ok := ranks[parts[i]+parts[i+1]]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return len(parts)
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
}

// Every text is cut as the expressions say, white space with several line breaks included.
func TestCountAgainstExpressions(t *testing.T) {
	var counters Counters
	bits := []string{" ", "\n", "\t", "    ", "\r\n", "\n\n", "\u00a0", "\u3000", "a", "word", "Ab", "42", "!", "//", "'s", "<<", "e\u0301", "世界", "。"}
	for _, name := range Names() {
		counter, err := counters.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		expr, ranks := pieces(name), counter.encoding.spaceTokens()
		rapid.Check(t, func(t *rapid.T) {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 30).Draw(t, "bits"), "")
			want := 0
			for m, _ := expr.FindStringMatch(text); m != nil; m, _ = expr.FindNextMatch(m) {
				piece := m.String()
				if strings.TrimSpace(piece) == "" && strings.ContainsAny(piece, "\r\n") {
					want += mergeNaively(piece, ranks)
				} else if n, err := counter.encoding.codec.Count(piece); err == nil {
					want += n
				}
			}
			if got, err := counter.Count(text); err != nil || got != want {
				t.Fatalf("%s: %q is %d tokens (%v), want %d", name, text, got, err, want)
			}
		})
	}
}

// A text made to be slow must not be.
func TestHostileTexts(t *testing.T) {
	var counters Counters
	counter, err := counters.Get(O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"letters": strings.Repeat("a", 200_000), "spaces": strings.Repeat(" ", 200_000), "newlines": strings.Repeat("\n", 200_000),
		"signs": strings.Repeat("<\\", 100_000), "marks": strings.Repeat("\u0301", 100_000), "mixed": strings.Repeat("aB", 100_000),
		"space and break": strings.Repeat(" \n\t", 60_000), "not UTF-8": strings.Repeat("\xff", 100_000),
	} {
		start := time.Now()
		n, err := counter.Count(text)
		if took := time.Since(start); err != nil || n == 0 || took > 10*time.Second {
			t.Errorf("%s: %d tokens, %v, after %v", name, n, err, took)
		} else {
			t.Logf("%s: %d tokens in %v", name, n, took)
		}
	}
}
