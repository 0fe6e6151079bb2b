package exhibit_test

import (
	"fmt"
	"testing"

	"github.com/exhibit-rag/exhibit"
)

// BenchmarkLookup is the pipeline alone: two scripted legs of k hits each, half of them shared.
func BenchmarkLookup(b *testing.B) {
	for _, k := range []int{20, 200, 1000} {
		var words, vectors []exhibit.Hit
		for i := range k {
			words = append(words, chunk(fmt.Sprint("doc", i), i, 10-float64(i)/100))
			vectors = append(vectors, chunk(fmt.Sprint("doc", i+k/2), i+k/2, 1-float64(i)/1000))
		}
		r := over(hybrid(lexical(words...), dense(vectors...)), nil)
		req := exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{RetrieveK: set(k)}}
		b.Run(fmt.Sprint("k=", k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Lookup(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
