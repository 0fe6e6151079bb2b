package bert

import (
	"fmt"
	"testing"
)

func BenchmarkOpen(b *testing.B) {
	f := modelFile(b)
	b.ReportAllocs()
	for b.Loop() {
		open(b, f, nil)
	}
}

// BenchmarkEmbed embeds one text on one core.
func BenchmarkEmbed(b *testing.B) {
	f := modelFile(b)
	for _, name := range Kernels() {
		e := open(b, f, &Options{Kernel: name, Workers: 1})
		for _, n := range []int{14, 128, 512} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				ids := [][]int32{someIDs(n)}
				for b.Loop() {
					if _, err := e.Embed(b.Context(), ids); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// someIDs returns n ids of pieces spread over the vocabulary, with begin and end marks.
func someIDs(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(1000 + i*37*101%200000)
	}
	ids[0], ids[n-1] = 0, 2
	return ids
}
