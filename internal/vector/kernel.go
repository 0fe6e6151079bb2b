package vector

// A kernel computes inner products: out[i] = query · data[i*len(query):], for every i.
type kernel struct {
	name string
	dots func(query, data, out []float32)
}

// Kernel returns the name of the kernel that this CPU uses: "avx512", "avx2" or "portable".
func Kernel() string { return kernels()[0].name }

// kernels returns what this CPU runs, best first.
func kernels() []kernel { return append(nativeKernels(), kernel{"portable", dotsPortable}) }

func dotsPortable(query, data, out []float32) {
	n := len(query)
	for i := range out {
		out[i] = dot(query, data[i*n:(i+1)*n])
	}
}

// dot sums in four lanes, which the CPU works on side by side.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	sum := s0 + s2 + (s1 + s3)
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
