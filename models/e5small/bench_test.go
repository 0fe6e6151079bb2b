package e5small_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/exhibit-rag/exhibit/internal/sentencepiece"
	"github.com/exhibit-rag/exhibit/internal/sharedtest"
	"github.com/exhibit-rag/exhibit/internal/weights"
	"github.com/exhibit-rag/exhibit/models/e5small"
)

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		f, err := weights.Open(e5small.Weights())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := sentencepiece.Open(f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode reports bytes of source text a second, one core, for the documents of a data set, and tokens a second.
func BenchmarkEncode(b *testing.B) {
	for _, set := range []string{"scifact", "xquad-de", "xquad-th", "xquad-zh"} {
		texts, size := documents(b, set)
		for _, mode := range []string{"ids", "spans", "count"} {
			b.Run(set+"/"+mode, func(b *testing.B) {
				tok := openTokenizer(b)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				tokens := 0
				for b.Loop() {
					for _, text := range texts {
						switch mode {
						case "ids":
							tokens += len(tok.Encode(text))
						case "spans":
							tokens += len(tok.EncodeSpans(text))
						case "count":
							tokens += tok.Count(text)
						}
					}
				}
				b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}

// documents returns up to 500 texts of a data set and their size in bytes.
func documents(b *testing.B, set string) (texts []string, size int) {
	b.Helper()
	f, err := os.Open(filepath.Join(sharedtest.Dir(b, "datasets", set), "corpus.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); d.More() && len(texts) < 500; {
		var doc struct{ Text string }
		if err := d.Decode(&doc); err != nil {
			b.Fatal(err)
		}
		texts = append(texts, doc.Text)
		size += len(doc.Text)
	}
	return texts, size
}
