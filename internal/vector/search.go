package vector

import (
	"cmp"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/exhibit-rag/exhibit/internal/bitset"
)

// Hit is a row and its score: the inner product with the query, which is the cosine where both have length 1.
type Hit struct {
	Row   int
	Score float64
}

// parallelValues is the size of matrix, in values, from which a search uses more than one core: about 2 ms of work on one.
const parallelValues = 4 << 20

// Search returns the k best rows of in (nil: of all), best first: by descending score, and among equal scores by less, which
// must be a total order over rows and safe for concurrent calls; nil orders by row. Rows without a vector are not found, nor
// are rows whose score is not a number. It panics when the query has another dimension than the matrix: check [Matrix.Dim] first.
func (m *Matrix) Search(query []float32, k int, in bitset.Set, less func(a, b int) bool) []Hit {
	m.checkQuery(query)
	if k <= 0 || m.rows == 0 {
		return nil
	}
	words := (m.rows + 63) / 64
	workers := 1
	if len(m.data) >= parallelValues {
		workers = min(runtime.GOMAXPROCS(0), words)
	}
	return m.search(query, k, in, less, workers)
}

// search splits the rows, 64 at a time, evenly over the workers and merges what each finds.
func (m *Matrix) search(query []float32, k int, in bitset.Set, less func(a, b int) bool, workers int) []Hit {
	words := (m.rows + 63) / 64
	found := make([]best, workers)
	var wg sync.WaitGroup
	for i := range found {
		found[i] = best{k: k, less: less}
		from, to := words*i/workers, words*(i+1)/workers
		if i == workers-1 {
			m.scan(query, from, to, in, &found[i])
			break
		}
		wg.Go(func() { m.scan(query, from, to, in, &found[i]) })
	}
	wg.Wait()
	for _, f := range found[1:] {
		for _, h := range f.hits {
			found[0].add(h)
		}
	}
	return found[0].sorted()
}

// scan adds the rows 64*from to 64*to-1 that are in the set and have a vector.
func (m *Matrix) scan(query []float32, from, to int, in bitset.Set, found *best) {
	var scores [64]float32
	for w := from; w < to; w++ {
		mask := word(m.has, w) & word(in, w)
		if rest := m.rows - 64*w; rest < 64 {
			mask &= 1<<rest - 1
		}
		for mask != 0 {
			start := bits.TrailingZeros64(mask)
			n := bits.TrailingZeros64(^(mask >> start))
			row := 64*w + start
			m.kernel.dots(query, m.data[row*m.dim:(row+n)*m.dim], scores[:n])
			for i, s := range scores[:n] {
				found.add(Hit{row + i, float64(s)})
			}
			mask &^= (1<<n - 1) << start
		}
	}
}

// word returns the bits of rows 64w to 64w+63.
func word(s bitset.Set, w int) uint64 {
	switch {
	case s == nil:
		return ^uint64(0)
	case w < len(s):
		return s[w]
	}
	return 0
}

// Score returns the score of one row, the same bits as in a search; false where the row has no vector. It panics like
// [Matrix.Search] for a query of another dimension.
func (m *Matrix) Score(query []float32, row int) (float64, bool) {
	m.checkQuery(query)
	v, ok := m.Row(row)
	if !ok {
		return 0, false
	}
	var score [1]float32
	m.kernel.dots(query, v, score[:])
	return float64(score[0]), true
}

func (m *Matrix) checkQuery(query []float32) {
	if len(query) != m.dim {
		panic(fmt.Sprintf("vector: query of %d values against vectors of %d", len(query), m.dim))
	}
}

// best keeps the k best hits in a heap whose root is the worst of them.
type best struct {
	k    int
	less func(a, b int) bool
	hits []Hit
}

// compare is negative where a comes before b in the result.
func (b *best) compare(x, y Hit) int {
	switch {
	case x.Score != y.Score:
		return cmp.Compare(y.Score, x.Score)
	case b.less == nil:
		return cmp.Compare(x.Row, y.Row)
	case b.less(x.Row, y.Row):
		return -1
	case b.less(y.Row, x.Row):
		return 1
	}
	return 0
}

// add offers a hit; one that is not a number is no hit.
func (b *best) add(h Hit) {
	if h.Score != h.Score {
		return
	}
	if len(b.hits) < b.k {
		b.hits = append(b.hits, h)
		b.up(len(b.hits) - 1)
		return
	}
	if h.Score < b.hits[0].Score || b.compare(h, b.hits[0]) >= 0 {
		return
	}
	b.hits[0] = h
	b.down()
}

func (b *best) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if b.compare(b.hits[i], b.hits[parent]) <= 0 {
			return
		}
		b.hits[i], b.hits[parent] = b.hits[parent], b.hits[i]
		i = parent
	}
}

func (b *best) down() {
	for i := 0; ; {
		worst := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(b.hits) && b.compare(b.hits[child], b.hits[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		b.hits[i], b.hits[worst] = b.hits[worst], b.hits[i]
		i = worst
	}
}

// sorted returns the hits, best first, and ends the use of b.
func (b *best) sorted() []Hit {
	slices.SortFunc(b.hits, b.compare)
	return b.hits
}
