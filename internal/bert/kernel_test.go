package bert

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// kernelTolerance is how far an element of an assembly kernel's result may be from the portable twin's, relative to the
// larger of 1 and its size: the two round in another order.
const kernelTolerance = 2e-5

// natives runs f for each assembly kernel of this CPU.
func natives(t *testing.T, f func(t *testing.T, k kernel)) {
	ks := nativeKernels()
	if len(ks) == 0 {
		t.Log("this CPU has the portable kernel only")
	}
	for _, k := range ks {
		t.Run(k.name, func(t *testing.T) { f(t, k) })
	}
}

func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if !(d <= kernelTolerance*max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// reference computes a tile in double precision.
func reference(h, k int, a []float32, lda int, b []float32, ldb int, init []float32, ldi int, c []float32, ldc int) {
	for i := range h {
		for j := range panelWidth {
			sum := float64(init[i*ldi+j])
			for p := range k {
				sum += float64(a[i*lda+p]) * float64(b[p*ldb+j])
			}
			c[i*ldc+j] = float32(sum)
		}
	}
}

func TestTileOfEveryHeight(t *testing.T) {
	for _, k := range kernels() {
		t.Run(k.name, func(t *testing.T) {
			for h := 1; h <= k.height; h++ {
				for _, steps := range []int{1, 2, 3, 4, 5, 7, 32, 131} {
					lda, ldb, ldc := steps+3, panelWidth+h, panelWidth+5
					a, b, init := noise(h*lda, 1), noise(steps*ldb, 2), noise(panelWidth, 3)
					got, want := noise(h*ldc, 4), noise(h*ldc, 4)
					k.tile(h, steps, a, lda, b, ldb, init, 0, got, ldc)
					reference(h, steps, a, lda, b, ldb, init, 0, want, ldc)
					near(t, fmt.Sprintf("%d × %d", h, steps), got, want)
					k.tile(h, steps, a, lda, b, ldb, got, ldc, got, ldc)
					reference(h, steps, a, lda, b, ldb, want, ldc, want, ldc)
					near(t, fmt.Sprintf("%d × %d on top", h, steps), got, want)
				}
			}
		})
	}
}

func TestDequantIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	const steps = 96
	nibbles, scales := make([]byte, steps*16), make([]float32, steps)
	for i := range nibbles {
		nibbles[i] = byte(r.Uint32())
	}
	for i := range scales {
		scales[i] = half(string([]byte{byte(r.Uint32()), byte(r.Uint32()) &^ 0x40})) // finite
	}
	want := make([]float32, steps*32)
	for s := range steps {
		for c := range 32 {
			bits := nibbles[s*16+c%16] >> (4 * (c / 16)) & 15
			want[s*32+c] = float32(int(bits)-8) * scales[s/32*32+c]
		}
	}
	for _, k := range kernels() {
		got := make([]float32, len(want))
		k.dequant(nibbles, scales, got)
		if !slices.Equal(got, want) {
			t.Errorf("kernel %s expands to other values", k.name)
		}
	}
}

func TestRowKernelsMatchTheTwin(t *testing.T) {
	twin := portable()
	natives(t, func(t *testing.T, k kernel) {
		for _, n := range []int{16, 32, 48, 384} {
			const rows = 3
			got, want := noise(rows*(n+5), 1), noise(rows*(n+5), 1)
			k.softmax(got, n+5, rows, n, .7)
			twin.softmax(want, n+5, rows, n, .7)
			near(t, "softmax", got, want)

			got, want = noise(n, 2), noise(n, 2)
			k.gelu(got)
			twin.gelu(want)
			near(t, "gelu", got, want)

			y, gamma, beta := noise(n, 4), noise(n, 5), noise(n, 6)
			k.addNorm(got, y, gamma, beta, 1e-12)
			twin.addNorm(want, y, gamma, beta, 1e-12)
			near(t, "addNorm", got, want)

			src := noise(8*(n+3), 7)
			got, want = make([]float32, n*11), make([]float32, n*11)
			k.transpose8(src, n+3, got, 11, n)
			twin.transpose8(src, n+3, want, 11, n)
			if !slices.Equal(got, want) {
				t.Errorf("transpose of 8 × %d differs", n)
			}
		}
	})
}

// TestNativeKernelsGiveTheSameBits holds AVX2 to AVX-512: a store filled on one CPU is searched on another.
func TestNativeKernelsGiveTheSameBits(t *testing.T) {
	ks := nativeKernels()
	if len(ks) < 2 {
		t.Skip("this CPU has fewer than two assembly kernels")
	}
	a, b := ks[0], ks[1]
	x, y := noise(384, 1), noise(384, 1)
	a.softmax(x, 384, 1, 384, 3)
	b.softmax(y, 384, 1, 384, 3)
	a.addNorm(x, noise(384, 2), noise(384, 3), noise(384, 4), 1e-12)
	b.addNorm(y, noise(384, 2), noise(384, 3), noise(384, 4), 1e-12)
	a.gelu(x)
	b.gelu(y)
	if !slices.Equal(x, y) {
		t.Error("row kernels differ")
	}
	for h := 1; h <= b.height; h++ {
		in, panel := noise(h*384, 5), noise(384*32, 6)
		a.tile(h, 384, in, 384, panel, 32, x, 0, x, 32)
		b.tile(h, 384, in, 384, panel, 32, y, 0, y, 32)
		if !slices.Equal(x[:h*32], y[:h*32]) {
			t.Errorf("tiles of height %d differ", h)
		}
	}
}

func TestExpAndErf(t *testing.T) {
	for x := -100.0; x <= 0; x += .01 {
		got, want := float64(exp(float32(x))), math.Exp(float64(float32(x)))
		if x < -87 {
			want = math.Exp(-87)
		}
		if math.Abs(got-want) > 3e-7*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for x := -6.0; x <= 6; x += .01 {
		got, want := float64(erf(float32(x))), math.Erf(float64(float32(x)))
		if math.Abs(got-want) > 1e-6 {
			t.Fatalf("erf(%v) = %v, want %v", x, got, want)
		}
	}
}

// TestSoftmaxOfExtremes: masked scores weigh nothing, and rows of equal or huge scores stay finite.
func TestSoftmaxOfExtremes(t *testing.T) {
	for _, k := range kernels() {
		row := make([]float32, 16)
		for i := range row {
			row[i] = masked
		}
		row[3], row[4] = 3e30, 3e30
		k.softmax(row, 16, 1, 16, .25)
		for i, v := range row {
			want := float32(0)
			if i == 3 || i == 4 {
				want = .5
			}
			if math.Abs(float64(v-want)) > 1e-30 {
				t.Errorf("kernel %s: weight %d is %v, want %v", k.name, i, v, want)
			}
		}
	}
}
