package bert

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/exhibit-rag/exhibit/internal/weights"
)

// Options are the settings of an [Encoder]. Nil means the defaults.
type Options struct {
	// Kernel is one of [Kernels]. Default: the first of them.
	Kernel string
	// Workers is the most goroutines that one call of Embed uses. Default: runtime.GOMAXPROCS(0) at the time of Open.
	Workers int
}

// Encoder is an opened model. It is read only and safe for use by several goroutines; each call of Embed at work holds
// about 8 MB of working memory a worker where texts have 512 tokens, less for shorter, and later calls use it again.
type Encoder struct {
	config    weights.Config
	kernel    kernel
	workers   int
	words     weights.Section
	positions []float32 // MaxPositions × Hidden, the segment 0 added
	first     norm      // of the sum of word, position and segment
	layers    []layer
	scratch   sync.Pool
}

// norm holds the parameters of a layer norm.
type norm struct{ gamma, beta []float32 }

// layer is one transformer layer; qkv has the queries, keys and values of all heads side by side.
type layer struct {
	qkv, out, up, down  *matrix
	afterAttn, afterFwd norm
}

// Open prepares the encoder in f, using all cores for a few milliseconds, and keeps f's data. It fails when a tensor is
// missing or of another shape, when a width of the model is not a multiple of 32, and for a kernel that this CPU does not run.
func Open(f *weights.File, opt *Options) (*Encoder, error) {
	if opt == nil {
		opt = &Options{}
	}
	k, err := chooseKernel(opt.Kernel)
	if err != nil {
		return nil, err
	}
	e := &Encoder{config: f.Config(), kernel: k, workers: opt.Workers}
	if e.workers <= 0 {
		e.workers = runtime.GOMAXPROCS(0)
	}
	e.scratch.New = func() any { return new(scratch) }
	if err := checkConfig(e.config); err != nil {
		return nil, err
	}
	if err := e.loadTables(f); err != nil {
		return nil, err
	}
	parts, err := e.loadLayers(f)
	if err != nil {
		return nil, err
	}
	inParallel(e.workers, len(parts), func(i int) { parts[i].pack() })
	return e, nil
}

// chooseKernel returns the kernel of that name, or the best for no name.
func chooseKernel(name string) (kernel, error) {
	all := kernels()
	if name == "" {
		return all[0], nil
	}
	for _, k := range all {
		if k.name == name {
			return k, nil
		}
	}
	return kernel{}, fmt.Errorf("bert: no kernel %q on this CPU: it runs %s", name, strings.Join(Kernels(), ", "))
}

// checkConfig reports shapes that the kernels cannot take.
func checkConfig(c weights.Config) error {
	for _, w := range []struct {
		name  string
		value int
	}{{"hidden", c.Hidden}, {"feed-forward", c.FeedForward}, {"head", c.Hidden / max(c.Heads, 1)}} {
		if w.value <= 0 || w.value%panelWidth != 0 {
			return fmt.Errorf("bert: the model's %s width is %d, it must be a multiple of %d", w.name, w.value, panelWidth)
		}
	}
	return nil
}

// loadTables reads what belongs to no layer.
func (e *Encoder) loadTables(f *weights.File) error {
	c := e.config
	var err error
	if e.words, err = section(f, "emb.word", c.Vocab, c.Hidden); err != nil {
		return err
	}
	positions, err := section(f, "emb.pos", c.MaxPositions, c.Hidden)
	if err != nil {
		return err
	}
	segments, err := section(f, "emb.type", c.TypeVocab, c.Hidden)
	if err != nil {
		return err
	}
	e.positions = positions.Float32s()
	segment := make([]float32, c.Hidden)
	segments.DequantRow(0, segment)
	for i := range e.positions {
		e.positions[i] += segment[i%c.Hidden]
	}
	e.first, err = loadNorm(f, "emb.ln", c.Hidden)
	return err
}

// loadLayers reads the small tensors of all layers and returns the parts of the large ones, yet to be packed.
func (e *Encoder) loadLayers(f *weights.File) (parts []part, err error) {
	d, ff := e.config.Hidden, e.config.FeedForward
	for i := range e.config.Layers {
		p := fmt.Sprintf("l%d.", i)
		var l layer
		for _, m := range []struct {
			to    **matrix
			k, n  int
			names []string
		}{
			{&l.qkv, d, d, []string{p + "q", p + "k", p + "v"}},
			{&l.out, d, d, []string{p + "ao"}},
			{&l.up, d, ff, []string{p + "fi"}},
			{&l.down, ff, d, []string{p + "fo"}},
		} {
			var more []part
			if *m.to, more, err = newMatrix(f, m.k, m.n, m.names...); err != nil {
				return nil, err
			}
			parts = append(parts, more...)
		}
		if l.afterAttn, err = loadNorm(f, p+"aln", d); err != nil {
			return nil, err
		}
		if l.afterFwd, err = loadNorm(f, p+"oln", d); err != nil {
			return nil, err
		}
		e.layers = append(e.layers, l)
	}
	return parts, nil
}

func loadNorm(f *weights.File, name string, n int) (norm, error) {
	gamma, err := section(f, name+".w", 1, n)
	if err != nil {
		return norm{}, err
	}
	beta, err := section(f, name+".b", 1, n)
	if err != nil {
		return norm{}, err
	}
	return norm{gamma.Float32s(), beta.Float32s()}, nil
}

// Kernel returns the name of the kernel in use: "avx512", "avx2" or "portable".
func (e *Encoder) Kernel() string { return e.kernel.name }

// Dim returns the number of values of a vector.
func (e *Encoder) Dim() int { return e.config.Hidden }

// MaxTokens returns the most tokens that a text may have, begin and end marks included.
func (e *Encoder) MaxTokens() int { return e.config.MaxPositions }

// groupTokens is how many tokens of short texts are multiplied together: enough for the expansion of the weights to
// cost little, few enough for the activations to stay in the second cache.
const groupTokens = 128

// Embed returns one vector of length 1 for each text, which is its token ids with begin and end marks, 1 to MaxTokens of
// them. A text without tokens, with too many, or with an id outside of the vocabulary is an error that names it, and so is
// a cancelled ctx; then no vectors are returned. The vector of a text is the same bits in any batch and with any number of workers.
func (e *Encoder) Embed(ctx context.Context, ids [][]int32) ([][]float32, error) {
	if err := e.check(ids); err != nil {
		return nil, err
	}
	groups := group(ids)
	out := make([][]float32, len(ids))
	errs := make([]error, len(groups))
	inParallel(e.workers, len(groups), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = e.forward(ctx, ids, groups[i], out)
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("bert: embed %d texts: %w", len(ids), err)
		}
	}
	return out, nil
}

// check reports the first text that cannot be embedded.
func (e *Encoder) check(ids [][]int32) error {
	for i, text := range ids {
		if len(text) == 0 {
			return fmt.Errorf("bert: text %d has no tokens: give it at least its begin and end marks", i)
		}
		if len(text) > e.MaxTokens() {
			return fmt.Errorf("bert: text %d has %d tokens, the model takes at most %d: split it into windows", i, len(text), e.MaxTokens())
		}
		for j, id := range text {
			if id < 0 || int(id) >= e.config.Vocab {
				return fmt.Errorf("bert: text %d has id %d as token %d, the vocabulary is 0 to %d: it was made by another tokenizer", i, id, j, e.config.Vocab-1)
			}
		}
	}
	return nil
}

// group puts short texts together, longest first, so that the last groups to be taken are small.
func group(ids [][]int32) [][]int {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(ids[b]) - len(ids[a]) })
	var groups [][]int
	tokens := groupTokens
	for _, i := range order {
		if tokens+len(ids[i]) > groupTokens {
			groups, tokens = append(groups, nil), 0
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], i)
		tokens += len(ids[i])
	}
	return groups
}

// inParallel calls f(0) to f(n-1) on up to workers goroutines, the caller's own among them.
func inParallel(workers, n int, f func(int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
		}
	}
	var wg sync.WaitGroup
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
