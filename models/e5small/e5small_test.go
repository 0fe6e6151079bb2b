package e5small_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit/internal/weights"
	"github.com/exhibit-rag/exhibit/models/e5small"
)

func TestWeightsAreTheOnesNamed(t *testing.T) {
	sum := sha256.Sum256([]byte(e5small.Weights()))
	if got := hex.EncodeToString(sum[:]); got != e5small.SHA256 {
		t.Errorf("the embedded file has SHA-256 %s, the package says %s", got, e5small.SHA256)
	}
}

func TestConfig(t *testing.T) {
	f, err := weights.Open(e5small.Weights())
	if err != nil {
		t.Fatal(err)
	}
	want := weights.Config{
		Hidden: e5small.Dimension, Layers: 12, Heads: 12, FeedForward: 1536, Vocab: 250037, MaxPositions: e5small.MaxTokens, TypeVocab: 2,
		Eps: 1e-12, BOS: 0, EOS: 2, PAD: 1, UNK: 3,
	}
	if diff := cmp.Diff(want, f.Config()); diff != "" {
		t.Error(diff)
	}
	if n := len(f.Sections()); n != 197+4 {
		t.Errorf("%d sections, want 197 tensors and 4 of the tokenizer", n)
	}
}

// TestWordTableLooksLikeOne reads rows at both ends of the word table: finite, not zero, of a sane size.
func TestWordTableLooksLikeOne(t *testing.T) {
	f, err := weights.Open(e5small.Weights())
	if err != nil {
		t.Fatal(err)
	}
	word, ok := f.Section("emb.word")
	if !ok || word.Kind != weights.Q4 || word.Rows != 250037 || word.Cols != e5small.Dimension {
		t.Fatalf("emb.word is %v, %d × %d", word.Kind, word.Rows, word.Cols)
	}
	row := make([]float32, word.Cols)
	for _, id := range []int{0, 2, 6, 1000, 250001} {
		word.DequantRow(id, row)
		sum := 0.0
		for _, v := range row {
			sum += float64(v) * float64(v)
		}
		if norm := math.Sqrt(sum); !(norm > 0.1 && norm < 100) {
			t.Errorf("row %d has the norm %g", id, norm)
		}
	}
}
