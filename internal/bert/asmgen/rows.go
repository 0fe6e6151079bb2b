package main

// constants writes the read-only data of the row kernels.
//
// exp: Cephes expf (S. Moshier): x = n ln 2 + r with ln 2 in two parts, and a polynomial of degree 5 for e^r.
// erf: the rational approximation on [-4, 4] that Eigen and XLA use.
func (u *unit) constants() {
	u.text.WriteByte('\n')
	for _, c := range []struct {
		name  konst
		value float64
	}{
		{"expLow", -87}, {"log2e", 1.44269504}, {"ln2Hi", 0.693359375}, {"ln2Lo", -2.12194440e-4},
		{"exp0", 1.9875691500e-4}, {"exp1", 1.3981999507e-3}, {"exp2", 8.3334519073e-3},
		{"exp3", 4.1665795894e-2}, {"exp4", 1.6666665459e-1}, {"exp5", 5.0000001201e-1}, {"one", 1}, {"half", 0.5},
		{"rsqrt2", 0.70710678118654752}, {"erfHigh", 4}, {"erfLow", -4},
		{"erfP0", -2.72614225801306e-10}, {"erfP1", 2.77068142495902e-08}, {"erfP2", -2.10102402082508e-06},
		{"erfP3", -5.69250639462346e-05}, {"erfP4", -7.34990630326855e-04}, {"erfP5", -2.95459980854025e-03},
		{"erfP6", -1.60960333262415e-02}, {"erfQ0", -1.45660718464996e-05}, {"erfQ1", -2.13374055278905e-04},
		{"erfQ2", -1.68282697438203e-03}, {"erfQ3", -7.37332916720468e-03}, {"erfQ4", -1.42647390514189e-02},
	} {
		u.table(c.name, c.value)
	}
	u.tableBits("expBias", 127)
}

// polynomial evaluates first·x^n + … by Horner's rule into sum.
func (m machine) polynomial(x, sum vec, first konst, rest ...konst) {
	m.load(first, sum)
	for _, c := range rest {
		m.op("VFMADD213PS", c, x, sum)
	}
}

// softmaxRows emits s[r] = softmax(s[r] × scale) in place, over the first 16×n lanes of each row.
func softmaxRows(u *unit, w width) {
	m := machine{u, w}
	u.fn("softmax"+w.suffix(), "replaces the first 16×n values of each row by their softmax after scaling.",
		[]arg{ptr("s"), num("ld"), num("rows"), num("n"), f32("scale")}, "SI", "DX", "CX", "BX")
	const x, t, p, mx, scale, sum, q = vec(0), vec(1), vec(2), vec(3), vec(4), vec(5), vec(6)
	u.line("SHLQ $2, DX")
	m.broadcast("scale+32(FP)", scale)
	u.label("row")
	u.line("MOVQ SI, DI")
	u.line("MOVQ BX, R8")
	m.op("VMOVUPS", mem{"DI", 0}, mx)
	u.label("max")
	m.op("VMAXPS", mem{"DI", 0}, mx, mx)
	u.line("ADDQ $%d, DI", step)
	u.line("DECQ R8")
	u.line("JNZ max")
	m.reduce("VMAXPS", mx, t)
	m.zero(sum)
	u.line("MOVQ SI, DI")
	u.line("MOVQ BX, R8")
	u.label("exp")
	m.op("VMOVUPS", mem{"DI", 0}, x)
	m.op("VSUBPS", mx, x, x)
	m.op("VMULPS", scale, x, x)
	m.op("VMAXPS", konst("expLow"), x, x)
	m.op("VMULPS", konst("log2e"), x, t)
	m.round(t, t)
	m.op("VFNMADD231PS", konst("ln2Hi"), t, x)
	m.op("VFNMADD231PS", konst("ln2Lo"), t, x)
	m.polynomial(x, p, "exp0", "exp1", "exp2", "exp3", "exp4", "exp5")
	m.op("VMULPS", x, x, q)
	m.op("VFMADD213PS", x, q, p)
	m.op("VADDPS", konst("one"), p, p)
	m.op("VCVTPS2DQ", t, t)
	m.op("VPADDD", konst("expBias"), t, t)
	m.op("VPSLLD", "$23", t, t)
	m.op("VMULPS", t, p, p)
	m.op("VMOVUPS", p, mem{"DI", 0})
	m.op("VADDPS", p, sum, sum)
	u.line("ADDQ $%d, DI", step)
	u.line("DECQ R8")
	u.line("JNZ exp")
	m.reduce("VADDPS", sum, t)
	m.load("one", t)
	m.op("VDIVPS", sum, t, sum)
	u.line("MOVQ SI, DI")
	u.line("MOVQ BX, R8")
	u.label("norm")
	m.op("VMULPS", mem{"DI", 0}, sum, t)
	m.op("VMOVUPS", t, mem{"DI", 0})
	u.line("ADDQ $%d, DI", step)
	u.line("DECQ R8")
	u.line("JNZ norm")
	u.line("ADDQ DX, SI")
	u.line("DECQ CX")
	u.line("JNZ row")
	m.end()
}

// geluRow emits p[i] = p[i]/2 × (1 + erf(p[i]/√2)).
func geluRow(u *unit, w width) {
	m := machine{u, w}
	u.fn("gelu"+w.suffix(), "applies GELU (erf) to 16×n values in place.", []arg{ptr("p"), num("n")}, "DI", "CX")
	const x, y, y2, p, q = vec(0), vec(1), vec(2), vec(3), vec(4)
	u.label("loop")
	m.op("VMOVUPS", mem{"DI", 0}, x)
	m.op("VMULPS", konst("rsqrt2"), x, y)
	m.op("VMINPS", konst("erfHigh"), y, y)
	m.op("VMAXPS", konst("erfLow"), y, y)
	m.op("VMULPS", y, y, y2)
	m.polynomial(y2, p, "erfP0", "erfP1", "erfP2", "erfP3", "erfP4", "erfP5", "erfP6")
	m.op("VMULPS", y, p, p)
	m.polynomial(y2, q, "erfQ0", "erfQ1", "erfQ2", "erfQ3", "erfQ4")
	m.op("VDIVPS", q, p, p)
	m.op("VADDPS", konst("one"), p, p)
	m.op("VMULPS", konst("half"), x, x)
	m.op("VMULPS", p, x, x)
	m.op("VMOVUPS", x, mem{"DI", 0})
	u.line("ADDQ $%d, DI", step)
	u.line("DECQ CX")
	u.line("JNZ loop")
	m.end()
}

// addNorm emits x = layernorm(x + y) × gamma + beta for one row.
func addNorm(u *unit, w width) {
	m := machine{u, w}
	u.fn("addNorm"+w.suffix(), "replaces the 16×n values of x by the layer norm of x + y; size is 16×n as a float.",
		[]arg{ptr("x"), ptr("y"), ptr("gamma"), ptr("beta"), num("n"), f32("size"), f32("eps")}, "DI", "SI", "R9", "R10", "CX")
	const x, t, mean, sum, inv = vec(0), vec(1), vec(2), vec(3), vec(4)
	loop := func(name string, body func()) {
		u.line("MOVQ DI, AX")
		u.line("MOVQ CX, R8")
		u.label(name)
		body()
		u.line("ADDQ $%d, AX", step)
		u.line("DECQ R8")
		u.line("JNZ %s", name)
	}
	m.zero(mean)
	loop("add", func() {
		m.op("VMOVUPS", mem{"AX", 0}, x)
		m.op("VADDPS", mem{"SI", 0}, x, x)
		m.op("VMOVUPS", x, mem{"AX", 0})
		m.op("VADDPS", x, mean, mean)
		u.line("ADDQ $%d, SI", step)
	})
	m.reduce("VADDPS", mean, t)
	m.broadcast("size+40(FP)", t)
	m.op("VDIVPS", t, mean, mean)
	m.zero(sum)
	loop("variance", func() {
		m.op("VMOVUPS", mem{"AX", 0}, x)
		m.op("VSUBPS", mean, x, x)
		m.op("VFMADD231PS", x, x, sum)
	})
	m.reduce("VADDPS", sum, t)
	m.broadcast("size+40(FP)", t)
	m.op("VDIVPS", t, sum, sum)
	m.broadcast("eps+44(FP)", t)
	m.op("VADDPS", t, sum, sum)
	m.op("VSQRTPS", sum, sum)
	m.load("one", inv)
	m.op("VDIVPS", sum, inv, inv)
	loop("scale", func() {
		m.op("VMOVUPS", mem{"AX", 0}, x)
		m.op("VSUBPS", mean, x, x)
		m.op("VMULPS", inv, x, x)
		m.op("VMOVUPS", mem{"R9", 0}, t)
		m.op("VFMADD213PS", mem{"R10", 0}, t, x)
		m.op("VMOVUPS", x, mem{"AX", 0})
		u.line("ADDQ $%d, R9", step)
		u.line("ADDQ $%d, R10", step)
	})
	m.end()
}

// transposeKeys emits dst[8 × 8] = src[8 × 8] transposed, repeated over blocks: the keys of a head, 8 rows a block of rows and
// 8 values a block of columns, become columns.
func transposeKeys(u *unit) {
	u.fn("transpose8", "transposes 8 rows of 8×n values into 8×n rows of 8 values; strides are in elements.",
		[]arg{ptr("src"), num("lds"), ptr("dst"), num("ldd"), num("n")}, "SI", "DX", "DI", "R8", "CX")
	u.line("SHLQ $2, DX")
	u.line("SHLQ $2, R8")
	u.line("LEAQ (DX)(DX*2), R9")
	u.line("LEAQ (R8)(R8*2), R10")
	u.label("block")
	u.line("LEAQ (SI)(DX*4), AX")
	at := func(base, high, one, three string, i int) string {
		if i >= 4 {
			base = high
		}
		return map[int]string{0: "(" + base + ")", 1: "(" + base + ")(" + one + "*1)", 2: "(" + base + ")(" + one + "*2)",
			3: "(" + base + ")(" + three + "*1)"}[i%4]
	}
	for i := range 8 {
		u.line("VMOVUPS %s, Y%d", at("SI", "AX", "DX", "R9", i), i)
	}
	for i := 0; i < 8; i += 2 { // pairs of rows
		u.line("VUNPCKLPS Y%d, Y%d, Y%d", i+1, i, 8+i)
		u.line("VUNPCKHPS Y%d, Y%d, Y%d", i+1, i, 9+i)
	}
	for i := 0; i < 8; i += 4 { // columns of four rows, in each half
		for j := range 2 {
			u.line("VSHUFPS $0x44, Y%d, Y%d, Y%d", 10+i+j, 8+i+j, i+2*j)
			u.line("VSHUFPS $0xee, Y%d, Y%d, Y%d", 10+i+j, 8+i+j, i+2*j+1)
		}
	}
	u.line("LEAQ (DI)(R8*4), BX")
	for i := range 8 { // halves
		imm := "$0x20"
		if i >= 4 {
			imm = "$0x31"
		}
		u.line("VPERM2F128 %s, Y%d, Y%d, Y8", imm, 4+i%4, i%4)
		u.line("VMOVUPS Y8, %s", at("DI", "BX", "R8", "R10", i))
	}
	u.line("ADDQ $32, SI")
	u.line("LEAQ (DI)(R8*8), DI")
	u.line("DECQ CX")
	u.line("JNZ block")
	u.line("VZEROUPPER")
	u.line("RET")
}
