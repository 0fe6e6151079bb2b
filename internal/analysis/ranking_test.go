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
			for _, shape := range []struct {
				name  string
				units units
				floor float64
			}{{"documents", whole(a, c), set.document}, {"chunks", chunked(a, c), set.chunk}} {
				e := evaluate(t, a, c, shape.units)
				t.Logf("%-9s %-9s nDCG@10 %.4f, %5d units, index %.1f MB, question p50 %v p95 %v",
					set.name, shape.name, e.ndcg, len(shape.units.doc), float64(e.bytes)/1e6, e.p50, e.p95)
				if e.ndcg < shape.floor {
					t.Errorf("%s: nDCG@10 below %.3f", shape.name, shape.floor)
				}
			}
		})
	}
}
