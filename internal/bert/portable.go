package bert

import "math"

// portable returns the kernel in plain Go: the one for CPUs that have no other, and the twin the others are tested against.
func portable() kernel {
	return kernel{
		name: "portable", height: 16,
		tile: tilePortable, dequant: dequantPortable, softmax: softmaxPortable, gelu: geluPortable,
		addNorm: addNormPortable, transpose8: transpose8Portable,
	}
}

// tilePortable works on 128 steps at a time, so that its part of b stays in the first cache, and on 2 rows × 4 columns,
// whose sums fit the registers.
func tilePortable(h, k int, a []float32, lda int, b []float32, ldb int, init []float32, ldi int, c []float32, ldc int) {
	for i := range h {
		copy(c[i*ldc:i*ldc+panelWidth], init[i*ldi:i*ldi+panelWidth])
	}
	const steps = 128
	for p := 0; p < k; p += steps {
		n := min(steps, k-p)
		for i := 0; i < h; i += 2 {
			r := min(i+1, h-1) // an odd last row is computed twice, from the same start, and stored once
			a0, a1 := a[i*lda+p:i*lda+p+n], a[r*lda+p:r*lda+p+n]
			for j := 0; j < panelWidth; j += 4 {
				mulAdd(a0, a1, b[p*ldb+j:], ldb, (*[4]float32)(c[i*ldc+j:]), (*[4]float32)(c[r*ldc+j:]))
			}
		}
	}
}

// mulAdd adds the products of two rows of a with four columns of b to c0 and c1, which may be the same.
func mulAdd(a0, a1, b []float32, ldb int, c0, c1 *[4]float32) {
	c00, c01, c02, c03 := c0[0], c0[1], c0[2], c0[3]
	c10, c11, c12, c13 := c1[0], c1[1], c1[2], c1[3]
	a1 = a1[:len(a0)]
	at := 0
	for p, x := range a0 {
		y, q := a1[p], (*[4]float32)(b[at:])
		at += ldb
		c00 += x * q[0]
		c01 += x * q[1]
		c02 += x * q[2]
		c03 += x * q[3]
		c10 += y * q[0]
		c11 += y * q[1]
		c12 += y * q[2]
		c13 += y * q[3]
	}
	c0[0], c0[1], c0[2], c0[3] = c00, c01, c02, c03
	c1[0], c1[1], c1[2], c1[3] = c10, c11, c12, c13
}

func dequantPortable(nibbles []byte, scales, dst []float32) {
	for block := 0; block < len(scales); block += panelWidth {
		scale := (*[panelWidth]float32)(scales[block:])
		for step := block; step < block+panelWidth; step++ {
			in, out := (*[panelWidth / 2]byte)(nibbles[step*panelWidth/2:]), (*[panelWidth]float32)(dst[step*panelWidth:])
			for j, v := range in {
				out[j] = float32(int32(v&15)-8) * scale[j]
				out[j+16] = float32(int32(v>>4)-8) * scale[j+16]
			}
		}
	}
}

func softmaxPortable(s []float32, ld, rows, n int, scale float32) {
	for r := range rows {
		row := s[r*ld : r*ld+n]
		highest := row[0]
		for _, v := range row {
			highest = max(highest, v)
		}
		var sum float32
		for i, v := range row {
			row[i] = exp((v - highest) * scale)
			sum += row[i]
		}
		inverse := 1 / sum
		for i := range row {
			row[i] *= inverse
		}
	}
}

func geluPortable(p []float32) {
	const rsqrt2 = 1 / math.Sqrt2
	for i, v := range p {
		p[i] = 0.5 * v * (1 + erf(v*rsqrt2))
	}
}

func addNormPortable(x, y, gamma, beta []float32, eps float32) {
	y, gamma, beta = y[:len(x)], gamma[:len(x)], beta[:len(x)]
	var sum, squares float32
	for i, v := range y {
		x[i] += v
		sum += x[i]
	}
	size := float32(len(x))
	mean := sum / size
	for _, v := range x {
		d := v - mean
		squares += d * d
	}
	inverse := 1 / float32(math.Sqrt(float64(squares/size+eps)))
	for i, v := range x {
		x[i] = (v-mean)*inverse*gamma[i] + beta[i]
	}
}

func transpose8Portable(src []float32, lds int, dst []float32, ldd, n int) {
	for i := range 8 {
		for j, v := range src[i*lds : i*lds+n] {
			dst[j*ldd+i] = v
		}
	}
}

// exp is e^x for x <= 0 (below -87 it stays at e^-87, 1.6e-38): Cephes expf (S. Moshier), x = n ln 2 + r with ln 2 in two
// parts and a polynomial of degree 5 for e^r; relative error below 2e-7.
func exp(x float32) float32 {
	const log2e, ln2Hi, ln2Lo = 1.44269504, 0.693359375, -2.12194440e-4
	x = max(x, -87)
	n := float32(int32(x*log2e - 0.5)) // rounds to nearest, as x <= 0
	x -= n * ln2Hi
	x -= n * ln2Lo
	p := float32(1.9875691500e-4)
	p = p*x + 1.3981999507e-3
	p = p*x + 8.3334519073e-3
	p = p*x + 4.1665795894e-2
	p = p*x + 1.6666665459e-1
	p = p*x + 5.0000001201e-1
	return (p*x*x + x + 1) * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// erf is the error function by the rational approximation that Eigen and XLA use on [-4, 4]; absolute error below 1e-6.
func erf(x float32) float32 {
	x = max(min(x, 4), -4)
	x2 := x * x
	p := float32(-2.72614225801306e-10)
	p = p*x2 + 2.77068142495902e-08
	p = p*x2 - 2.10102402082508e-06
	p = p*x2 - 5.69250639462346e-05
	p = p*x2 - 7.34990630326855e-04
	p = p*x2 - 2.95459980854025e-03
	p = p*x2 - 1.60960333262415e-02
	q := float32(-1.45660718464996e-05)
	q = q*x2 - 2.13374055278905e-04
	q = q*x2 - 1.68282697438203e-03
	q = q*x2 - 7.37332916720468e-03
	q = q*x2 - 1.42647390514189e-02
	return x * p / q
}
