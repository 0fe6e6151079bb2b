package vector

import "golang.org/x/sys/cpu"

// dotsAVX2 writes the inner products of query with rows rows of dim values each; rows and dim are at least 1.
//
//go:noescape
func dotsAVX2(query, data *float32, dim, rows int, out *float32)

// dotsAVX512 writes the same bits as dotsAVX2.
//
//go:noescape
func dotsAVX512(query, data *float32, dim, rows int, out *float32)

// nativeKernels returns the assembly kernels that this CPU runs, best first.
func nativeKernels() []kernel {
	var out []kernel
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}
	if cpu.X86.HasAVX512F {
		out = append(out, kernel{"avx512", checked(dotsAVX512)})
	}
	return append(out, kernel{"avx2", checked(dotsAVX2)})
}

// checked indexes the last value that the assembly will read, so that a wrong shape panics like any other index.
func checked(f func(query, data *float32, dim, rows int, out *float32)) func(query, data, out []float32) {
	return func(query, data, out []float32) {
		if len(out) == 0 {
			return
		}
		_ = data[len(out)*len(query)-1]
		f(&query[0], &data[0], len(query), len(out), &out[0])
	}
}
