package bert

import "golang.org/x/sys/cpu"

//go:generate go run ./asmgen

// nativeKernels returns the assembly kernels that this CPU runs, best first.
func nativeKernels() []kernel {
	var out []kernel
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}
	if cpu.X86.HasAVX512F {
		out = append(out, kernelAVX512())
	}
	return append(out, kernelAVX2())
}

func kernelAVX512() kernel {
	tiles := tilesAVX512()
	return kernel{
		name: "avx512", height: len(tiles) - 1,
		tile: func(h, k int, a []float32, lda int, b []float32, ldb int, init []float32, ldi int, c []float32, ldc int) {
			checkTile(h, k, a, lda, b, ldb, init, ldi, c, ldc)
			tiles[h](k, &a[0], lda, &b[0], ldb, &init[0], ldi, &c[0], ldc)
		},
		dequant:    checkedDequant(dequantAVX512),
		softmax:    checkedSoftmax(softmaxAVX512),
		gelu:       checkedGELU(geluAVX512),
		addNorm:    checkedAddNorm(addNormAVX512),
		transpose8: checkedTranspose,
	}
}

func kernelAVX2() kernel {
	tiles := tilesAVX2()
	return kernel{
		name: "avx2", height: len(tiles) - 1,
		tile: func(h, k int, a []float32, lda int, b []float32, ldb int, init []float32, ldi int, c []float32, ldc int) {
			checkTile(h, k, a, lda, b, ldb, init, ldi, c, ldc)
			tiles[h](k, &a[0], lda, &b[0], ldb, &init[0], ldi, &c[0], ldc)
			tiles[h](k, &a[0], lda, &b[16], ldb, &init[16], ldi, &c[16], ldc)
		},
		dequant:    checkedDequant(dequantAVX2),
		softmax:    checkedSoftmax(softmaxAVX2),
		gelu:       checkedGELU(geluAVX2),
		addNorm:    checkedAddNorm(addNormAVX2),
		transpose8: checkedTranspose,
	}
}

// The assembly trusts its lengths. The functions below index the last element that it will touch, so that a wrong shape
// panics like any other index.

func checkTile(h, k int, a []float32, lda int, b []float32, ldb int, init []float32, ldi int, c []float32, ldc int) {
	_ = a[(h-1)*lda+k-1]
	_ = b[(k-1)*ldb+panelWidth-1]
	_ = init[(h-1)*ldi+panelWidth-1]
	_ = c[(h-1)*ldc+panelWidth-1]
}

func checkedDequant(f func(int, *byte, *float32, *float32)) func([]byte, []float32, []float32) {
	return func(nibbles []byte, scales, dst []float32) {
		n := len(scales) / panelWidth
		_ = nibbles[n*panelWidth*panelWidth/2-1]
		_ = dst[n*panelWidth*panelWidth-1]
		f(n, &nibbles[0], &scales[0], &dst[0])
	}
}

func checkedSoftmax(f func(*float32, int, int, int, float32)) func([]float32, int, int, int, float32) {
	return func(s []float32, ld, rows, n int, scale float32) {
		_ = s[(rows-1)*ld+n-1]
		f(&s[0], ld, rows, n/laneWidth, scale)
	}
}

func checkedGELU(f func(*float32, int)) func([]float32) {
	return func(p []float32) { f(&p[0], len(p)/laneWidth) }
}

func checkedAddNorm(f func(x, y, gamma, beta *float32, n int, size, eps float32)) func(x, y, gamma, beta []float32, eps float32) {
	return func(x, y, gamma, beta []float32, eps float32) {
		n := len(x)
		_, _, _ = y[n-1], gamma[n-1], beta[n-1]
		f(&x[0], &y[0], &gamma[0], &beta[0], n/laneWidth, float32(n), eps)
	}
}

func checkedTranspose(src []float32, lds int, dst []float32, ldd, n int) {
	_ = src[7*lds+n-1]
	_ = dst[(n-1)*ldd+7]
	transpose8(&src[0], lds, &dst[0], ldd, n/8)
}
