package analysis

import (
	"os"
	"testing"
)

// TestRanking prints nDCG@10 of BM25 alone over these terms, once with a document as one unit and once cut into chunks
// with the title before each, the best standing for the document.
func TestRanking(t *testing.T) {
	if os.Getenv("EXHIBIT_SLOW") == "" {
		t.Skip("slow: set EXHIBIT_SLOW=1")
	}
	a := New()
	for _, set := range []struct {
		name            string
		document, chunk float64 // floors
	}{
		{"scifact", .690, .695},
		{"cranfield", .385, .383},
		{"xquad-en", .966, .965},
		{"xquad-zh", .963, .963},
		{"xquad-de", .935, .935},
		{"xquad-th", .955, .950},
	} {
		t.Run(set.name, func(t *testing.T) {
			c := load(t, set.name)
			document, chunk := evaluate(a, c, whole(a, c)), evaluate(a, c, chunked(a, c))
			t.Logf("%-10s nDCG@10 documents %.4f, chunks %.4f", set.name, document, chunk)
			if document < set.document || chunk < set.chunk {
				t.Errorf("below the floors %.4f and %.4f", set.document, set.chunk)
			}
		})
	}
}
