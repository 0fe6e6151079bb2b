package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/exhibit-rag/exhibit/internal/bitset"
	"pgregory.net/rapid"
)

func units(rows, dim int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([]float32, rows*dim)
	for i := range rows {
		v, squares := out[i*dim:(i+1)*dim], 0.0
		for j := range v {
			v[j] = float32(r.NormFloat64())
			squares += float64(v[j]) * float64(v[j])
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(squares))
		}
	}
	return out
}

// TestKernelsMatchDoublePrecision holds every kernel to the exact products, within 1e-6 for vectors of length 1.
func TestKernelsMatchDoublePrecision(t *testing.T) {
	for _, k := range kernels() {
		t.Run(k.name, func(t *testing.T) {
			for _, dim := range []int{1, 3, 15, 16, 17, 31, 32, 100, 384, 385, 1024} {
				for rows := 1; rows <= 9; rows++ {
					q, data, out := units(1, dim, 1), units(rows, dim, 2), make([]float32, rows)
					k.dots(q, data, out)
					for i, got := range out {
						want := 0.0
						for j, v := range q {
							want += float64(v) * float64(data[i*dim+j])
						}
						if !(math.Abs(float64(got)-want) <= 1e-6) {
							t.Fatalf("row %d of %d, %d values: %v, want %v", i, rows, dim, got, want)
						}
					}
				}
			}
		})
	}
}

// TestScoreIsTheSameInAnyCompany: the bits of a row's score depend on neither its neighbours nor the native kernel.
func TestScoreIsTheSameInAnyCompany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim, rows := rapid.IntRange(1, 80).Draw(t, "dim"), rapid.IntRange(1, 12).Draw(t, "rows")
		q, data := units(1, dim, 3), units(rows, dim, rapid.Uint64().Draw(t, "seed"))
		native := make([]float32, rows)
		for i, k := range nativeKernels() {
			out, one := make([]float32, rows), make([]float32, 1)
			k.dots(q, data, out)
			if i == 0 {
				native = out
			}
			for r := range rows {
				if k.dots(q, data[r*dim:], one); one[0] != out[r] || out[r] != native[r] {
					t.Fatalf("%s, row %d of %d, %d values: alone %v, together %v, %s %v", k.name, r, rows, dim, one[0], out[r], nativeKernels()[0].name, native[r])
				}
			}
		}
	})
}

// setOf draws the nil set, or one of n rows that may be too short for them.
func setOf(t *rapid.T, n int, name string) bitset.Set {
	switch rapid.IntRange(0, 3).Draw(t, name) {
	case 0:
		return nil
	case 1:
		return bitset.Of(n/2+1, rapid.SliceOf(rapid.IntRange(0, n/2)).Draw(t, name)...)
	}
	s := bitset.New(n)
	for i := range n {
		if rapid.Bool().Draw(t, name) {
			s.Add(i)
		}
	}
	return s
}

func TestSearchMatchesSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, dim := rapid.IntRange(0, 200).Draw(t, "rows"), rapid.IntRange(1, 3).Draw(t, "dim")
		k := rapid.IntRange(-1, 30).Draw(t, "k")
		value := rapid.SampledFrom([]float32{-1, 0, .5, 1, float32(math.NaN())}) // many equal scores
		data := rapid.SliceOfN(value, rows*dim, rows*dim).Draw(t, "data")
		query := rapid.SliceOfN(rapid.SampledFrom([]float32{-1, 0, 1}), dim, dim).Draw(t, "query")
		has, in := setOf(t, max(rows, 1), "has"), setOf(t, max(rows, 1), "in")
		rank := rapid.Permutation(indices(rows)).Draw(t, "rank")
		less := func(a, b int) bool { return rank[a] < rank[b] }
		m, err := NewMatrix(dim, data, has)
		if err != nil {
			t.Fatal(err)
		}
		var want []Hit
		for i := range rows {
			s, ok := m.Score(query, i)
			if ok != has.Has(i) {
				t.Fatalf("row %d: Score says %v, has says %v", i, ok, has.Has(i))
			}
			if ok && in.Has(i) && s == s {
				want = append(want, Hit{i, s})
			}
		}
		slices.SortFunc(want, func(a, b Hit) int {
			if a.Score > b.Score || a.Score == b.Score && less(a.Row, b.Row) {
				return -1
			}
			return 1
		})
		want = want[:min(max(k, 0), len(want))]
		got := m.Search(query, k, in, less)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if rows > 0 && k > 0 {
			if many := m.search(query, k, in, less, 1+rapid.IntRange(0, (rows+63)/64-1).Draw(t, "workers")); !slices.Equal(many, want) {
				t.Fatalf("with several workers %v, want %v", many, want)
			}
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestLargeSearchFromManySides searches a matrix above the limit of one core from several goroutines.
func TestLargeSearchFromManySides(t *testing.T) {
	const dim = 64
	rows := parallelValues/dim + 100
	data, query := units(rows, dim, 5), units(1, dim, 6)
	m, err := NewMatrix(dim, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := m.search(query, 50, nil, nil, 1)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := m.Search(query, 50, nil, nil); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	wg.Wait()
}

func TestNewMatrixRefuses(t *testing.T) {
	for _, c := range []struct{ dim, values int }{{0, 0}, {-1, 4}, {3, 4}} {
		if _, err := NewMatrix(c.dim, make([]float32, c.values), nil); err == nil {
			t.Errorf("dimension %d over %d values was accepted", c.dim, c.values)
		}
	}
}

func TestQueryOfAnotherDimensionPanics(t *testing.T) {
	m, err := NewMatrix(2, []float32{1, 0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a query of 3 values was searched in vectors of 2")
		}
	}()
	m.Search([]float32{1, 0, 0}, 1, nil, nil)
}

// BenchmarkSearch goes through 8,000 vectors of 384 values on one core.
func BenchmarkSearch(b *testing.B) {
	const rows, dim = 8000, 384
	data, query := units(rows, dim, 1), units(1, dim, 2)
	for _, k := range kernels() {
		b.Run(k.name, func(b *testing.B) {
			m, err := NewMatrix(dim, data, nil)
			if err != nil {
				b.Fatal(err)
			}
			m.kernel = k
			b.SetBytes(rows * dim * 4)
			for b.Loop() {
				m.search(query, 20, nil, nil, 1)
			}
		})
	}
}
