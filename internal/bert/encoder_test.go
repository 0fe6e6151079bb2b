package bert

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit/internal/weights"
	"pgregory.net/rapid"
)

// tinySections are the tensors of a random model: 64 wide, 2 heads, 2 layers, 96 inner, 50 words, 40 positions.
func tinySections() (weights.Config, []weights.Section) {
	c := weights.Config{Hidden: 64, Layers: 2, Heads: 2, FeedForward: 96, Vocab: 50, MaxPositions: 40, TypeVocab: 2, Eps: 1e-12, EOS: 2, PAD: 1, UNK: 3}
	r := rand.New(rand.NewPCG(9, 1))
	q4 := func(name string, rows, cols int) weights.Section {
		var b []byte
		for range rows * cols / 32 {
			b = append(b, byte(r.Uint32()), 0x2c|byte(r.Uint32())&0x83) // scales of 2^-4 to 2^-3 and their negatives
			for range 16 {
				b = append(b, byte(r.Uint32()))
			}
		}
		return weights.Section{Name: name, Kind: weights.Q4, Rows: rows, Cols: cols, Data: string(b)}
	}
	f32 := func(name string, rows, cols int) weights.Section {
		var b []byte
		for range rows * cols {
			v := math.Float32bits(float32(r.NormFloat64()))
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
		return weights.Section{Name: name, Kind: weights.F32, Rows: rows, Cols: cols, Data: string(b)}
	}
	d, ff := c.Hidden, c.FeedForward
	out := []weights.Section{q4("emb.word", c.Vocab, d), f32("emb.pos", c.MaxPositions, d), f32("emb.type", 2, d), f32("emb.ln.w", 1, d), f32("emb.ln.b", 1, d)}
	for _, l := range []string{"l0.", "l1."} {
		for _, m := range []string{"q", "k", "v", "ao"} {
			out = append(out, q4(l+m+".w", d, d), f32(l+m+".b", 1, d))
		}
		out = append(out, q4(l+"fi.w", ff, d), f32(l+"fi.b", 1, ff), q4(l+"fo.w", d, ff), f32(l+"fo.b", 1, d))
		for _, n := range []string{"aln", "oln"} {
			out = append(out, f32(l+n+".w", 1, d), f32(l+n+".b", 1, d))
		}
	}
	return c, out
}

func tinyFile(t testing.TB, change func(*weights.Config, []weights.Section) []weights.Section) *weights.File {
	t.Helper()
	c, sections := tinySections()
	if change != nil {
		sections = change(&c, sections)
	}
	var b bytes.Buffer
	if err := weights.Write(&b, c, sections); err != nil {
		t.Fatal(err)
	}
	f, err := weights.Open(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// naive runs the model in double precision straight from its definition, one token and one head at a time.
func naive(f *weights.File, ids []int32) []float64 {
	c := f.Config()
	get := func(name string) []float32 { s, _ := f.Section(name); return s.Float32s() }
	linear := func(x [][]float64, name string) [][]float64 {
		w, b := get(name+".w"), get(name+".b")
		k := len(x[0])
		out := make([][]float64, len(x))
		for r := range x {
			out[r] = make([]float64, len(b))
			for j := range b {
				out[r][j] = float64(b[j])
				for i, v := range x[r] {
					out[r][j] += v * float64(w[j*k+i])
				}
			}
		}
		return out
	}
	addNorm := func(x, y [][]float64, name string) {
		g, b := get(name+".w"), get(name+".b")
		for r := range x {
			var mean, variance float64
			for i := range x[r] {
				x[r][i] += y[r][i]
				mean += x[r][i] / float64(len(g))
			}
			for _, v := range x[r] {
				variance += (v - mean) * (v - mean) / float64(len(g))
			}
			for i, v := range x[r] {
				x[r][i] = (v-mean)/math.Sqrt(variance+float64(c.Eps))*float64(g[i]) + float64(b[i])
			}
		}
	}
	word, pos, typ := get("emb.word"), get("emb.pos"), get("emb.type")
	x, y := make([][]float64, len(ids)), make([][]float64, len(ids))
	for r, id := range ids {
		x[r], y[r] = make([]float64, c.Hidden), make([]float64, c.Hidden)
		for i := range x[r] {
			x[r][i], y[r][i] = float64(word[int(id)*c.Hidden+i]), float64(pos[r*c.Hidden+i])+float64(typ[i])
		}
	}
	addNorm(x, y, "emb.ln")
	for _, l := range []string{"l0.", "l1."} {
		q, k, v := linear(x, l+"q"), linear(x, l+"k"), linear(x, l+"v")
		attn, width := make([][]float64, len(x)), c.Hidden/c.Heads
		for r := range x {
			attn[r] = make([]float64, c.Hidden)
			for h := 0; h < c.Hidden; h += width {
				p, sum := make([]float64, len(x)), 0.0
				for s := range x {
					for i := h; i < h+width; i++ {
						p[s] += q[r][i] * k[s][i]
					}
					p[s] = math.Exp(p[s] / math.Sqrt(float64(width)))
					sum += p[s]
				}
				for s := range x {
					for i := h; i < h+width; i++ {
						attn[r][i] += p[s] / sum * v[s][i]
					}
				}
			}
		}
		addNorm(x, linear(attn, l+"ao"), l+"aln")
		inner := linear(x, l+"fi")
		for r := range inner {
			for i, v := range inner[r] {
				inner[r][i] = v / 2 * (1 + math.Erf(v/math.Sqrt2))
			}
		}
		addNorm(x, linear(inner, l+"fo"), l+"oln")
	}
	mean, squares := make([]float64, c.Hidden), 0.0
	for i := range mean {
		for r := range x {
			mean[i] += x[r][i]
		}
		squares += mean[i] * mean[i]
	}
	for i := range mean {
		mean[i] /= math.Sqrt(squares)
	}
	return mean
}

func drawTexts(t *rapid.T) [][]int32 {
	return rapid.SliceOfN(rapid.SliceOfN(rapid.Int32Range(0, 49), 1, 40), 1, 12).Draw(t, "texts")
}

func TestEmbedMatchesTheDefinition(t *testing.T) {
	f := tinyFile(t, nil)
	for _, name := range Kernels() {
		e := open(t, f, &Options{Kernel: name})
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				ids := rapid.SliceOfN(rapid.Int32Range(0, 49), 1, 40).Draw(t, "ids")
				got, err := e.Embed(context.Background(), [][]int32{ids})
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range naive(f, ids) {
					if math.Abs(float64(got[0][i])-want) > 2e-4 {
						t.Fatalf("value %d is %v, want %v", i, got[0][i], want)
					}
				}
			})
		})
	}
}

func TestEmbedIsTheSameInAnyCompany(t *testing.T) {
	f := tinyFile(t, nil)
	for _, name := range Kernels() {
		alone, many := open(t, f, &Options{Kernel: name, Workers: 1}), open(t, f, &Options{Kernel: name, Workers: 3})
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				texts := drawTexts(t)
				together, err := many.Embed(context.Background(), texts)
				if err != nil {
					t.Fatal(err)
				}
				for i := range texts {
					one, err := alone.Embed(context.Background(), texts[i:i+1])
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(one[0], together[i]) {
						t.Fatalf("text %d has other bits in a batch of %d", i, len(texts))
					}
				}
			})
		})
	}
}

func TestNativeEncodersGiveTheSameBits(t *testing.T) {
	if len(nativeKernels()) < 2 {
		t.Skip("this CPU has fewer than two assembly kernels")
	}
	f := tinyFile(t, nil)
	a, b := open(t, f, &Options{Kernel: "avx512"}), open(t, f, &Options{Kernel: "avx2"})
	rapid.Check(t, func(t *rapid.T) {
		texts := drawTexts(t)
		x, errX := a.Embed(context.Background(), texts)
		y, errY := b.Embed(context.Background(), texts)
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		for i := range x {
			if !slices.Equal(x[i], y[i]) {
				t.Fatalf("text %d of %d tokens differs", i, len(texts[i]))
			}
		}
	})
}

func TestEmbedRefuses(t *testing.T) {
	e := open(t, tinyFile(t, nil), nil)
	long := make([]int32, 41)
	for _, c := range []struct {
		name string
		ids  [][]int32
		want string
	}{
		{"no tokens", [][]int32{{0, 2}, {}}, "text 1 has no tokens"},
		{"too long", [][]int32{{0, 2}, {0, 2}, long}, "text 2 has 41 tokens, the model takes at most 40"},
		{"beyond the vocabulary", [][]int32{{0, 50, 2}}, "id 50 as token 1, the vocabulary is 0 to 49"},
		{"negative", [][]int32{{-1}}, "id -1 as token 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := e.Embed(t.Context(), c.ids)
			if err == nil || !strings.Contains(err.Error(), c.want) || out != nil {
				t.Errorf("got %v, %v; want an error with %q", out, err, c.want)
			}
		})
	}
	if out, err := e.Embed(t.Context(), nil); err != nil || len(out) != 0 {
		t.Errorf("no texts: %v, %v", out, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(cancelled, [][]int32{{0, 2}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	drop := func(name string) func(*weights.Config, []weights.Section) []weights.Section {
		return func(_ *weights.Config, s []weights.Section) []weights.Section {
			return slices.DeleteFunc(s, func(s weights.Section) bool { return s.Name == name })
		}
	}
	for _, c := range []struct {
		name   string
		change func(*weights.Config, []weights.Section) []weights.Section
		opt    *Options
		want   string
	}{
		{"missing weights", drop("l1.fo.w"), nil, `no section "l1.fo.w"`},
		{"missing bias", drop("l0.q.b"), nil, `no section "l0.q.b"`},
		{"missing norm", drop("l0.aln.b"), nil, `no section "l0.aln.b"`},
		{"missing words", drop("emb.word"), nil, `no section "emb.word"`},
		{"other shape", func(c *weights.Config, s []weights.Section) []weights.Section { c.MaxPositions = 41; return s }, nil, `"emb.pos" is 40 × 64, the encoder's shape needs 41 × 64`},
		{"odd head", func(c *weights.Config, s []weights.Section) []weights.Section { c.Heads = 4; return s }, nil, "head width is 16"},
		{"no such kernel", nil, &Options{Kernel: "sse9"}, `no kernel "sse9"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(tinyFile(t, c.change), c.opt)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestEmbedReportsDamagedWeights(t *testing.T) {
	zero := func(_ *weights.Config, sections []weights.Section) []weights.Section {
		for i, s := range sections {
			if s.Name == "l1.oln.w" || s.Name == "l1.oln.b" {
				sections[i].Data = strings.Repeat("\x00", len(s.Data))
			}
		}
		return sections
	}
	e := open(t, tinyFile(t, zero), nil)
	if _, err := e.Embed(t.Context(), [][]int32{{0, 5, 2}}); !errors.Is(err, errNoDirection) {
		t.Errorf("got %v, want %v", err, errNoDirection)
	}
}

func TestWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head, tail := rapid.IntRange(0, 4).Draw(t, "head"), rapid.IntRange(0, 3).Draw(t, "tail")
		limit := rapid.IntRange(head+tail+1, 30).Draw(t, "limit")
		n := rapid.IntRange(head+tail, 200).Draw(t, "n")
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(i)
		}
		out, err := Windows(ids, head, tail, limit)
		if err != nil {
			t.Fatal(err)
		}
		var middle []int32
		shortest, longest := n, 0
		for _, w := range out {
			if len(w) > limit || !slices.Equal(w[:head], ids[:head]) || !slices.Equal(w[len(w)-tail:], ids[n-tail:]) {
				t.Fatalf("window %v of %d tokens with head %d, tail %d, limit %d", w, n, head, tail, limit)
			}
			middle = append(middle, w[head:len(w)-tail]...)
			shortest, longest = min(shortest, len(w)), max(longest, len(w))
		}
		if !slices.Equal(middle, ids[head:n-tail]) || longest-shortest > 1 {
			t.Fatalf("windows hold %v, lengths %d to %d", middle, shortest, longest)
		}
	})
	if _, err := Windows(make([]int32, 10), 3, 1, 4); err == nil {
		t.Error("windows without room were made")
	}
}

func TestMean(t *testing.T) {
	got, err := Mean([][]float32{{1, 0}, {0, 1}}, []int{3, 4})
	if err != nil || math.Abs(float64(got[0])-.6) > 1e-6 || math.Abs(float64(got[1])-.8) > 1e-6 {
		t.Errorf("got %v, %v; want .6, .8", got, err)
	}
	for _, c := range []struct {
		vectors [][]float32
		tokens  []int
	}{{nil, nil}, {[][]float32{{1}}, nil}, {[][]float32{{1}, {1, 2}}, []int{1, 1}}, {[][]float32{{1}, {-1}}, []int{1, 1}}} {
		if got, err := Mean(c.vectors, c.tokens); err == nil {
			t.Errorf("Mean(%v, %v) = %v, want an error", c.vectors, c.tokens, got)
		}
	}
}
