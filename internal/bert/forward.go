package bert

import (
	"context"
	"errors"
	"math"
	"slices"
)

// scratch is the working memory of one forward pass; rows are tokens.
type scratch struct {
	x, qkv, attn, sum, inner []float32                        // activations
	panel                    [blockSteps * panelWidth]float32 // expanded weights
	keys                     []float32                        // a head's keys, as columns
	scores                   []float32                        // a tile of queries against all keys
	zeros                    [panelWidth]float32
}

// stride is the distance of rows of n values: n, and one cache line more where n is an even number of lines, so that
// the same column of successive rows does not fall into the same few sets of the cache.
func stride(n int) int {
	const line = 16
	lines := (n + line - 1) / line
	return (lines | 1) * line
}

// grown returns b with n values, of any content.
func grown(b []float32, n int) []float32 {
	return slices.Grow(b[:0], n)[:n]
}

// spare is how many rows after the last a kernel may read (never use): keys are transposed eight at a time.
const spare = 7

// prepare makes room for rows tokens in texts of at most longest tokens.
func (s *scratch) prepare(e *Encoder, rows, longest int) {
	d, ff := e.config.Hidden, e.config.FeedForward
	s.x = grown(s.x, rows*stride(d))
	s.attn = grown(s.attn, rows*stride(d))
	s.sum = grown(s.sum, rows*stride(d))
	s.qkv = grown(s.qkv, (rows+spare)*stride(3*d))
	s.inner = grown(s.inner, rows*stride(ff))
	ld := scoreStride(longest)
	s.keys = grown(s.keys, d/e.config.Heads*ld)
	s.scores = grown(s.scores, e.kernel.height*ld)
}

// scoreStride is the stride of the scores against n keys.
func scoreStride(n int) int { return stride((n + panelWidth - 1) / panelWidth * panelWidth) }

// errNoDirection tells of weights that are damaged: no text gives such a vector.
var errNoDirection = errors.New("the encoder gave a vector without a direction: the weights are damaged")

// forward writes out[i] for each text i of the group.
func (e *Encoder) forward(ctx context.Context, ids [][]int32, group []int, out [][]float32) error {
	s := e.scratch.Get().(*scratch)
	defer e.scratch.Put(s)
	rows, longest := 0, 0
	for _, i := range group {
		rows += len(ids[i])
		longest = max(longest, len(ids[i]))
	}
	s.prepare(e, rows, longest)
	e.lookUp(s, ids, group)
	for i := range e.layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		e.layer(s, &e.layers[i], rows, ids, group)
	}
	at := 0
	for _, i := range group {
		v, err := e.pool(s.x[at*stride(e.config.Hidden):], len(ids[i]))
		if err != nil {
			return err
		}
		out[i] = v
		at += len(ids[i])
	}
	return nil
}

// lookUp sets x to the normalised sum of word, position and segment of each token.
func (e *Encoder) lookUp(s *scratch, ids [][]int32, group []int) {
	d, ld, at := e.config.Hidden, stride(e.config.Hidden), 0
	for _, i := range group {
		for pos, id := range ids[i] {
			row := s.x[at*ld : at*ld+d]
			e.words.DequantRow(int(id), row)
			e.kernel.addNorm(row, e.positions[pos*d:(pos+1)*d], e.first.gamma, e.first.beta, e.config.Eps)
			at++
		}
	}
}

// layer replaces x by the output of one transformer layer.
func (e *Encoder) layer(s *scratch, l *layer, rows int, ids [][]int32, group []int) {
	d, ff := e.config.Hidden, e.config.FeedForward
	ld, ldff := stride(d), stride(ff)
	e.multiply(s, rows, s.x, ld, l.qkv, s.qkv, stride(3*d))
	at := 0
	for _, i := range group {
		e.attend(s, at, len(ids[i]))
		at += len(ids[i])
	}
	e.multiply(s, rows, s.attn, ld, l.out, s.sum, ld)
	e.addNorms(s, rows, l.afterAttn)
	e.multiply(s, rows, s.x, ld, l.up, s.inner, ldff)
	for r := range rows {
		e.kernel.gelu(s.inner[r*ldff : r*ldff+ff])
	}
	e.multiply(s, rows, s.inner, ldff, l.down, s.sum, ld)
	e.addNorms(s, rows, l.afterFwd)
}

// addNorms replaces each row of x by the layer norm of x + sum.
func (e *Encoder) addNorms(s *scratch, rows int, n norm) {
	d, ld := e.config.Hidden, stride(e.config.Hidden)
	for r := range rows {
		e.kernel.addNorm(s.x[r*ld:r*ld+d], s.sum[r*ld:r*ld+d], n.gamma, n.beta, e.config.Eps)
	}
}

// blockSteps is how many steps of a panel are expanded at a time: 16 KB, so that they stay in the first cache.
const blockSteps = 128

// multiply computes c = bias + a · w, one panel of w after the other. Sums are taken up again where a block of steps left
// them, which changes no bit.
func (e *Encoder) multiply(s *scratch, rows int, a []float32, lda int, w *matrix, c []float32, ldc int) {
	for p := range w.n / panelWidth {
		nibbles, scales := w.panel(p)
		col := p * panelWidth
		for k := 0; k < w.k; k += blockSteps {
			steps := min(blockSteps, w.k-k)
			e.kernel.dequant(nibbles[k*panelWidth/2:], scales[k:k+steps], s.panel[:])
			for from, to := range e.tiles(rows) {
				out := c[from*ldc+col:]
				init, ldi := w.bias[col:], 0
				if k > 0 {
					init, ldi = out, ldc
				}
				e.kernel.tile(to-from, steps, a[from*lda+k:], lda, s.panel[:], panelWidth, init, ldi, out, ldc)
			}
		}
	}
}

// tiles yields the bounds of tiles that cover the rows, as even as can be: a low tile keeps the multipliers waiting.
func (e *Encoder) tiles(rows int) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		n := (rows + e.kernel.height - 1) / e.kernel.height
		for i := range n {
			if !yield(rows*i/n, rows*(i+1)/n) {
				return
			}
		}
	}
}

// masked is a score so low that its softmax is nothing.
const masked = -1e30

// attend sets the rows at to at+n of attn to the attention of one text, head by head.
func (e *Encoder) attend(s *scratch, at, n int) {
	d := e.config.Hidden
	width := d / e.config.Heads
	scale := float32(1 / math.Sqrt(float64(width)))
	ld, ldo, lds := stride(3*d), stride(d), scoreStride(n)
	lanes := (n + laneWidth - 1) / laneWidth * laneWidth
	for head := 0; head < d; head += width {
		queries, keys, values := s.qkv[at*ld+head:], s.qkv[at*ld+d+head:], s.qkv[at*ld+2*d+head:]
		for r := 0; r < n; r += 8 {
			e.kernel.transpose8(keys[r*ld:], ld, s.keys[r:], lds, width)
		}
		for from, to := range e.tiles(n) {
			h := to - from
			for col := 0; col < n; col += panelWidth {
				e.kernel.tile(h, width, queries[from*ld:], ld, s.keys[col:], lds, s.zeros[:], 0, s.scores[col:], lds)
			}
			for r := range h {
				for i := r*lds + n; i < r*lds+lanes; i++ {
					s.scores[i] = masked
				}
			}
			e.kernel.softmax(s.scores, lds, h, lanes, scale)
			for col := 0; col < width; col += panelWidth {
				e.kernel.tile(h, n, s.scores, lds, values[col:], ld, s.zeros[:], 0, s.attn[(at+from)*ldo+head+col:], ldo)
			}
		}
	}
}

// pool returns the mean of n rows of x at length 1.
func (e *Encoder) pool(x []float32, n int) ([]float32, error) {
	d, ld := e.config.Hidden, stride(e.config.Hidden)
	sum := make([]float64, d)
	for r := range n {
		for j, v := range x[r*ld : r*ld+d] {
			sum[j] += float64(v)
		}
	}
	return unit(sum)
}

// unit scales v to length 1.
func unit(v []float64) ([]float32, error) {
	var squares float64
	for _, x := range v {
		squares += x * x
	}
	length := math.Sqrt(squares)
	if !(length > 0) || math.IsInf(length, 0) {
		return nil, errNoDirection
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / length)
	}
	return out, nil
}
