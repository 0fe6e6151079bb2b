package e5small_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/exhibit-rag/exhibit/internal/sentencepiece"
	"github.com/exhibit-rag/exhibit/internal/weights"
	"github.com/exhibit-rag/exhibit/models/e5small"
)

// prefixes stand before the text in the id lists of an oracle's line, in this order.
var prefixes = [...]string{"", "query: ", "passage: "}

// oracleLine is a line of `.ci/oracle/tokens.py`.
type oracleLine struct {
	Text   string    `json:"text"`
	B64    []byte    `json:"b64"`
	IDs    [][]int32 `json:"ids"`
	Bounds []int     `json:"bounds"`
}

func openTokenizer(t testing.TB) *sentencepiece.Tokenizer {
	t.Helper()
	f, err := weights.Open(e5small.Weights())
	if err != nil {
		t.Fatal(err)
	}
	tok, err := sentencepiece.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestIdsEqualThoseOfThePackage compares ids and spans with those that the sentencepiece package gave: for strings of our
// own, kept here, and, when EXHIBIT_ORACLE_TOKENS names it, for the whole output of `tokens.py ids`.
func TestIdsEqualThoseOfThePackage(t *testing.T) {
	tok := openTokenizer(t)
	compareFile(t, tok, "testdata/golden.jsonl")
	if path := os.Getenv("EXHIBIT_ORACLE_TOKENS"); path != "" {
		compareFile(t, tok, path)
	}
}

func compareFile(t *testing.T, tok *sentencepiece.Tokenizer, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	var texts, sequences, tokens, bytes, bad int
	for {
		var line oracleLine
		if err := d.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%s, text %d: %v", path, texts, err)
		}
		text := line.Text
		if line.B64 != nil {
			text = string(line.B64)
		}
		if len(line.IDs) != len(prefixes) {
			t.Fatalf("%s, text %d: %d id lists, want %d", path, texts, len(line.IDs), len(prefixes))
		}
		ok := compareSpans(t, tok.EncodeSpans(text), line)
		for i, want := range line.IDs {
			got := tok.Encode(prefixes[i] + text)
			if !slices.Equal(got, want) || tok.Count(prefixes[i]+text) != len(want) {
				t.Errorf("%q + %.200q: got %d %v, want %d %v", prefixes[i], text, len(got), got[:min(len(got), 40)], len(want), want[:min(len(want), 40)])
				ok = false
			}
			tokens += len(want)
			bytes += len(prefixes[i]) + len(text)
		}
		texts++
		sequences += len(prefixes)
		if !ok {
			if bad++; bad > 20 {
				t.Fatalf("%s: more than %d texts differ, stopped after %d", path, bad-1, texts)
			}
		}
	}
	if texts < 100 {
		t.Errorf("%s has only %d texts", path, texts)
	}
	t.Logf("%s: %d texts, %d sequences, %d tokens, %d bytes compared with the sentencepiece package, %d texts differ", path, texts, sequences, tokens, bytes, bad)
}

// compareSpans checks that tokens are those of the line and cover what the package says they do.
func compareSpans(t *testing.T, tokens []sentencepiece.Token, line oracleLine) bool {
	t.Helper()
	if len(tokens) != max(len(line.Bounds)-1, 0) || len(tokens) != len(line.IDs[0]) {
		t.Errorf("%.200q %q: got %d spans, want %d", line.Text, line.B64, len(tokens), len(line.Bounds)-1)
		return false
	}
	for i, got := range tokens {
		want := sentencepiece.Token{ID: line.IDs[0][i], Start: line.Bounds[i], End: line.Bounds[i+1]}
		if got != want {
			t.Errorf("%.200q %q: token %d is %v, want %v", line.Text, line.B64, i, got, want)
			return false
		}
	}
	return true
}
