package embed

import (
	"fmt"
	"math"

	"github.com/exhibit-rag/exhibit"
)

// Normalise holds an answer to the contract of exhibit.Embedder: as many vectors as texts, each of the model's
// dimension and finite. It brings every vector to length 1, in place. A dimension of 0 takes that of the first vector.
// The error wraps exhibit.ErrEmbedder.
func Normalise(model exhibit.EmbeddingModel, texts int, vectors [][]float32) error {
	dimension := model.Dimension
	fail := func(format string, args ...any) error {
		return &exhibit.Error{Op: "embed", Source: model.Name, Kind: exhibit.ErrEmbedder, Err: fmt.Errorf(format, args...),
			Hint: "nothing of this answer was stored; check the embedder behind embed.provider"}
	}
	if len(vectors) != texts {
		return fail("%d vectors for %d texts", len(vectors), texts)
	}
	for i, v := range vectors {
		if dimension == 0 {
			dimension = len(v)
		}
		if len(v) != dimension || dimension == 0 {
			return fail("vector %d has %d dimensions, not %d", i, len(v), dimension)
		}
		var square float64
		for _, x := range v {
			square += float64(x) * float64(x)
		}
		if math.IsNaN(square) || math.IsInf(square, 0) {
			return fail("vector %d holds a number that is not finite", i)
		}
		if square == 0 {
			return fail("vector %d is all zeros", i)
		}
		if math.Abs(square-1) < 1e-6 {
			continue
		}
		length := math.Sqrt(square)
		for j, x := range v {
			v[j] = float32(float64(x) / length)
		}
	}
	return nil
}
