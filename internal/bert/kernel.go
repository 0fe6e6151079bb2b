package bert

// panelWidth is the number of columns that a kernel computes at a time, and to which matrices are packed.
const panelWidth = 32

// laneWidth is the number of float32 that the row kernels take at a time; lengths handed to them are multiples of it.
const laneWidth = 16

// A kernel is the arithmetic of the forward pass for one kind of CPU.
//
// Every element of a result is computed in an order that depends on nothing but the shapes of its own row and column. So
// a text's vector is the same whatever it is batched with, and the AVX2 and AVX-512 kernels give the same bits. The portable
// kernel rounds products before it adds them where the others fuse, and differs from them in the last digits.
type kernel struct {
	name   string
	height int // most rows of a tile

	// tile computes c[h × 32] = init[h × 32] + a[h × k] · b[k × 32]; lda, ldb, ldi and ldc are the distances of rows in
	// elements. With ldi 0 every row starts from the same 32 values; init may be c itself, with ldi the same as ldc.
	tile func(h, k int, a []float32, lda int, b []float32, ldb int, init []float32, ldi int, c []float32, ldc int)
	// dequant expands a packed panel: len(scales) steps of 32 columns each to dst, which has room for 32×len(scales).
	dequant func(nibbles []byte, scales, dst []float32)
	// softmax replaces s[r*ld : r*ld+n], for each of the rows, by softmax(scale × it); n is a multiple of laneWidth.
	softmax func(s []float32, ld, rows, n int, scale float32)
	// gelu replaces each p by p/2 × (1 + erf(p/√2)); len(p) is a multiple of laneWidth.
	gelu func(p []float32)
	// addNorm replaces x by the layer norm of x + y, times gamma plus beta; len(x) is a multiple of laneWidth.
	addNorm func(x, y, gamma, beta []float32, eps float32)
	// transpose8 writes src[8 × n], n a multiple of 8, as dst[n × 8].
	transpose8 func(src []float32, lds int, dst []float32, ldd, n int)
}

// Kernels returns the names of the kernels that this CPU runs, the one that is chosen by default first. "portable" is
// always there; "avx2" and "avx512" are on amd64 where the CPU and the operating system support them.
func Kernels() []string {
	var names []string
	for _, k := range kernels() {
		names = append(names, k.name)
	}
	return names
}

// kernels returns what this CPU runs, best first.
func kernels() []kernel { return append(nativeKernels(), portable()) }
