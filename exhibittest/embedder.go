package exhibittest

import (
	"context"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"unicode"

	"github.com/exhibit-rag/exhibit"
)

// EmbedFault is what goes wrong in a FakeEmbedder.
type EmbedFault int

// The faults of an embedder.
const (
	EmbedOK        EmbedFault = iota
	EmbedError                // an error
	EmbedTooFew               // one vector less than texts
	EmbedTooMany              // one vector more
	EmbedNaN                  // NaN in the first vector
	EmbedDimension            // vectors of one dimension more than the model's
	EmbedHang                 // no answer until ctx ends
)

// FakeEmbedder turns a text into the normalised sum of its words, each of which stands for one pseudo-random direction:
// texts that share words are close, equal texts are equal, and nothing needs weights. Set its fields before first use;
// after that it is safe for concurrent use.
type FakeEmbedder struct {
	Name      string     // default "fake"
	Dimension int        // default 64
	Fault     EmbedFault // default none
	FaultFrom int        // the fault begins with this call, from 1; default the first
	Err       error      // what EmbedError answers; default ErrEmbedder

	mu    sync.Mutex
	calls int
	texts int
}

// Model returns name and dimension.
func (e *FakeEmbedder) Model() exhibit.EmbeddingModel {
	name := e.Name
	if name == "" {
		name = "fake"
	}
	return exhibit.EmbeddingModel{Name: name, Dimension: e.dimension()}
}

func (e *FakeEmbedder) dimension() int {
	if e.Dimension > 0 {
		return e.Dimension
	}
	return 64
}

// Calls returns how often Embed was called, and for how many texts in all.
func (e *FakeEmbedder) Calls() (calls, texts int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls, e.texts
}

// Embed answers one vector a text, or the fault.
func (e *FakeEmbedder) Embed(ctx context.Context, _ exhibit.TextKind, texts []string) ([][]float32, error) {
	e.mu.Lock()
	e.calls++
	e.texts += len(texts)
	fault := e.Fault
	if e.calls < e.FaultFrom {
		fault = EmbedOK
	}
	e.mu.Unlock()
	if fault == EmbedHang {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dim := e.dimension()
	if fault == EmbedDimension {
		dim++
	}
	vectors := make([][]float32, len(texts))
	for i, t := range texts {
		vectors[i] = bagOfWords(t, dim)
	}
	switch fault {
	case EmbedError:
		if e.Err != nil {
			return nil, e.Err
		}
		return nil, exhibit.ErrEmbedder
	case EmbedTooFew:
		return vectors[:max(0, len(vectors)-1)], nil
	case EmbedTooMany:
		return append(vectors, bagOfWords("one more", dim)), nil
	case EmbedNaN:
		if len(vectors) > 0 {
			vectors[0][0] = float32(math.NaN())
		}
	}
	return vectors, nil
}

// bagOfWords returns the vector of a text. A text without words gets the vector of one fixed word.
func bagOfWords(text string, dim int) []float32 {
	sum := make([]float64, dim)
	list := words(text)
	if len(list) == 0 {
		list = []string{"\x00"}
	}
	for _, w := range list {
		h := fnv.New64a()
		h.Write([]byte(w))
		state := h.Sum64()
		for i := range sum {
			// SplitMix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
			state += 0x9e3779b97f4a7c15
			z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
			z = (z ^ z>>27) * 0x94d049bb133111eb
			sum[i] += float64(int64(z^z>>31)) / (1 << 63)
		}
	}
	var norm float64
	for _, x := range sum {
		norm += x * x
	}
	norm = math.Sqrt(norm)
	vector := make([]float32, dim)
	for i, x := range sum {
		vector[i] = float32(x / norm)
	}
	return vector
}

// words returns the lower-case runs of letters and digits.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

var _ exhibit.Embedder = (*FakeEmbedder)(nil)
