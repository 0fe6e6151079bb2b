package main

import (
	"fmt"
	"math"
	"strings"
)

// rowBases are the registers that point at rows 0, 3, 6, 9 and 12 of A; the rows between are reached by the stride in DX.
var rowBases = [...]string{"SI", "R9", "R10", "R11", "R12"}

// rowAt is the address of element k+at of row i of A.
func rowAt(i, at int) string {
	s := fmt.Sprintf("%d(%s)", 4*at, rowBases[i/3])
	if i%3 > 0 {
		s += fmt.Sprintf("(DX*%d)", i%3)
	}
	return s
}

// gemmTile emits C[h × 2 registers] = init + A[h × k] · B[k × 2 registers]: every sum runs over k in ascending order, one
// fused multiply-add a step, starting from its initial value.
func gemmTile(u *unit, w width, h int) {
	name := fmt.Sprintf("gemm%s_%d", w.suffix(), h)
	u.fn(name, fmt.Sprintf("computes a tile of %d rows and %d columns; strides are in elements.", h, int(w)/2),
		[]arg{num("k"), ptr("a"), num("lda"), ptr("b"), num("ldb"), ptr("init"), num("ldi"), ptr("c"), num("ldc")},
		"CX", "SI", "DX", "BX", "R13", "AX", "R8", "DI")
	r := "Y"
	if w == avx512 {
		r = "Z"
	}
	u.line("SHLQ $2, DX")
	u.line("SHLQ $2, R13")
	u.line("SHLQ $2, R8")
	bases := (h + 2) / 3
	for i := 1; i < bases; i++ {
		u.line("LEAQ (%s)(DX*2), %s", rowBases[i-1], rowBases[i])
		u.line("ADDQ DX, %s", rowBases[i])
	}
	acc := func(i, j int) string { return fmt.Sprintf("%s%d", r, 4+2*i+j) }
	for i := range h {
		u.line("VMOVUPS (AX), %s", acc(i, 0))
		u.line("VMOVUPS %d(AX), %s", int(w), acc(i, 1))
		if i < h-1 {
			u.line("ADDQ R8, AX")
		}
	}
	body := func(at int) {
		u.line("VMOVUPS (BX), %s0", r)
		u.line("VMOVUPS %d(BX), %s1", int(w), r)
		for i := range h {
			t := fmt.Sprintf("%s%d", r, 2+i%2)
			u.line("VBROADCASTSS %s, %s", rowAt(i, at), t)
			u.line("VFMADD231PS %s0, %s, %s", r, t, acc(i, 0))
			u.line("VFMADD231PS %s1, %s, %s", r, t, acc(i, 1))
		}
		u.line("ADDQ R13, BX")
	}
	advance := func(n int) {
		for i := range bases {
			u.line("ADDQ $%d, %s", 4*n, rowBases[i])
		}
	}
	const unroll = 4
	u.line("SUBQ $%d, CX", unroll)
	u.line("JLT rest")
	u.line("PCALIGN $32")
	u.label("loop")
	for at := range unroll {
		body(at)
	}
	advance(unroll)
	u.line("SUBQ $%d, CX", unroll)
	u.line("JGE loop")
	u.label("rest")
	u.line("ADDQ $%d, CX", unroll)
	u.line("JLE done")
	u.label("one")
	body(0)
	advance(1)
	u.line("DECQ CX")
	u.line("JNZ one")
	u.label("done")
	u.line("MOVQ ldc+64(FP), R8")
	u.line("SHLQ $2, R8")
	for i := range h {
		u.line("VMOVUPS %s, (DI)", acc(i, 0))
		u.line("VMOVUPS %s, %d(DI)", acc(i, 1), int(w))
		if i < h-1 {
			u.line("ADDQ R8, DI")
		}
	}
	machine{u, w}.end()
}

// prefetchBytes is how far ahead the packed weights are asked for: a block of 128 steps, so that they come from memory while
// the block before them is multiplied.
const prefetchBytes = 128 * 16

// dequant emits the expansion of one panel of 32 columns: per block of 32 steps, 32 scales, and per step 16 bytes whose
// low four bits are columns 0 to 15 and whose high four bits are columns 16 to 31; a weight is (bits − 8) × scale.
func dequant(u *unit, w width) {
	if w == avx512 { // the sixteen values of four bits, looked up by VPERMPS
		for i := 0; i < 16; i += 2 {
			lo, hi := math.Float32bits(float32(i-8)), math.Float32bits(float32(i-7))
			fmt.Fprintf(&u.text, "DATA nibbles<>+%d(SB)/8, $0x%08x%08x\n", 4*i, hi, lo)
		}
		fmt.Fprintf(&u.text, "GLOBL nibbles<>(SB), RODATA|NOPTR, $64\n")
	} else {
		u.tableBits("fifteen", 15)
		u.table("eight", 8)
	}
	u.fn("dequant"+w.suffix(), "expands a panel of 32 columns and 32×blocks steps from 4 bits.",
		[]arg{num("blocks"), {"nibbles", "*byte", 8}, ptr("scales"), ptr("dst")}, "CX", "SI", "BX", "DI")
	if w == avx512 {
		u.line("VMOVUPS nibbles<>(SB), Z31")
	} else {
		u.line("VMOVUPS fifteen<>(SB), Y15")
		u.line("VMOVUPS eight<>(SB), Y14")
	}
	u.label("block")
	for i := 0; i < 128; i += int(w) {
		u.line("VMOVUPS %d(BX), %s%d", i, map[width]string{avx2: "Y", avx512: "Z"}[w], 8+i/int(w))
	}
	u.line("ADDQ $128, BX")
	u.line("MOVQ $8, DX")
	u.label("steps")
	u.line("PREFETCHT0 %d(SI)", prefetchBytes)
	for at := range 4 {
		if w == avx512 {
			u.line("VPMOVZXBD %d(SI), Z0", 16*at)
			u.line("VPERMPS Z31, Z0, Z1")
			u.line("VPSRLD $4, Z0, Z0")
			u.line("VPERMPS Z31, Z0, Z2")
			u.line("VMULPS Z8, Z1, Z1")
			u.line("VMULPS Z9, Z2, Z2")
			u.line("VMOVUPS Z1, %d(DI)", 128*at)
			u.line("VMOVUPS Z2, %d(DI)", 128*at+64)
			continue
		}
		for half := range 2 {
			u.line("VPMOVZXBD %d(SI), Y0", 16*at+8*half)
			u.line("VPSRLD $4, Y0, Y1")
			u.line("VPAND Y15, Y0, Y0")
			for j := range 2 {
				u.line("VCVTDQ2PS Y%d, Y%d", j, j)
				u.line("VSUBPS Y14, Y%d, Y%d", j, j)
				u.line("VMULPS Y%d, Y%d, Y%d", 8+half+2*j, j, j)
				u.line("VMOVUPS Y%d, %d(DI)", j, 128*at+32*half+64*j)
			}
		}
	}
	u.line("ADDQ $64, SI")
	u.line("ADDQ $512, DI")
	u.line("DECQ DX")
	u.line("JNZ steps")
	u.line("DECQ CX")
	u.line("JNZ block")
	machine{u, w}.end()
}

// tables emits the lists of tile functions by height.
func tables() string {
	var b strings.Builder
	b.WriteString("\n// tileFunc is the shape of the gemm functions.\ntype tileFunc func(k int, a *float32, lda int, b *float32, ldb int, init *float32, ldi int, c *float32, ldc int)\n")
	for _, w := range []width{avx2, avx512} {
		fmt.Fprintf(&b, "\n// tiles%s returns the tile functions by height; there is none of height 0.\nfunc tiles%s() [%d]tileFunc {\n\treturn [...]tileFunc{nil", w.suffix(), w.suffix(), w.maxHeight()+1)
		for h := 1; h <= w.maxHeight(); h++ {
			fmt.Fprintf(&b, ", gemm%s_%d", w.suffix(), h)
		}
		b.WriteString("}\n}\n")
	}
	return b.String()
}
