package main

import (
	"fmt"
	"math"
	"strings"
)

// width is the size of the registers in bytes.
type width int

const (
	avx2   width = 32
	avx512 width = 64
)

func (w width) suffix() string {
	if w == avx512 {
		return "AVX512"
	}
	return "AVX2"
}

// maxHeight is the number of rows of the largest tile: 6×2 of 16 Y registers or 14×2 of 32 Z registers hold its sums.
func (w width) maxHeight() int {
	if w == avx512 {
		return 14
	}
	return 6
}

// unit collects the assembly text and the Go declarations of a file.
type unit struct {
	text, decl strings.Builder
}

// line writes one instruction.
func (u *unit) line(format string, args ...any) { fmt.Fprintf(&u.text, "\t"+format+"\n", args...) }

// label writes a jump target.
func (u *unit) label(name string) { fmt.Fprintf(&u.text, "%s:\n", name) }

// arg is a parameter: its name, its Go type and its size.
type arg struct {
	name, typ string
	size      int
}

func ptr(name string) arg { return arg{name, "*float32", 8} }
func num(name string) arg { return arg{name, "int", 8} }
func f32(name string) arg { return arg{name, "float32", 4} }

// fn begins a function and loads its parameters: pointers and numbers into the general registers given, floats are left.
func (u *unit) fn(name, doc string, args []arg, regs ...string) {
	var params []string
	size := 0
	for _, a := range args {
		params = append(params, a.name+" "+a.typ)
		size += a.size
	}
	sig := fmt.Sprintf("func %s(%s)", name, strings.Join(params, ", "))
	fmt.Fprintf(&u.decl, "\n// %s %s\n//\n//go:noescape\n%s\n", name, doc, sig)
	fmt.Fprintf(&u.text, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", sig, name, size)
	at := 0
	for i, a := range args {
		if i < len(regs) && regs[i] != "" {
			u.line("MOVQ %s+%d(FP), %s", a.name, at, regs[i])
		}
		at += a.size
	}
}

// vec is a vector of 16 float32 lanes: register Z[n], or the pair Y[2n] (lower lanes) and Y[2n+1].
type vec int

// machine emits 16-lane operations for one width.
type machine struct {
	*unit
	w width
}

// mem is 16 contiguous float32 at disp(reg).
type mem struct {
	reg  string
	disp int
}

// konst is a constant in every lane, kept in read-only data.
type konst string

// step is the number of bytes of one vector in memory.
const step = 64

func (m machine) operand(x any, half int) string {
	switch v := x.(type) {
	case vec:
		if m.w == avx512 {
			return fmt.Sprintf("Z%d", int(v))
		}
		return fmt.Sprintf("Y%d", 2*int(v)+half)
	case mem:
		return fmt.Sprintf("%d(%s)", v.disp+32*half, v.reg)
	case konst:
		return string(v) + "<>(SB)"
	case string:
		return v
	}
	panic(fmt.Sprintf("operand %T", x))
}

// op emits an instruction over all lanes; the destination comes last, as in Go's assembler.
func (m machine) op(name string, operands ...any) {
	halves := 2
	if m.w == avx512 {
		halves = 1
		for _, o := range operands {
			if _, ok := o.(konst); ok {
				name += ".BCST"
			}
		}
	}
	for h := range halves {
		s := make([]string, len(operands))
		for i, o := range operands {
			s[i] = m.operand(o, h)
		}
		m.line("%s %s", name, strings.Join(s, ", "))
	}
}

// broadcast copies the float32 at disp(reg) to all lanes.
func (m machine) broadcast(from string, to vec) { m.op("VBROADCASTSS", from, to) }

// load copies a constant to all lanes.
func (m machine) load(c konst, to vec) { m.broadcast(string(c)+"<>(SB)", to) }

// zero clears a vector.
func (m machine) zero(v vec) {
	if m.w == avx512 {
		m.op("VPXORQ", v, v, v)
		return
	}
	m.op("VXORPS", v, v, v)
}

// round rounds to the nearest whole number, ties to even.
func (m machine) round(from, to vec) {
	if m.w == avx512 {
		m.op("VRNDSCALEPS", "$8", from, to)
		return
	}
	m.op("VROUNDPS", "$8", from, to)
}

// reduce folds the 16 lanes of v with a two-operand instruction, always in the same order (lanes 8 apart, then 4, 2 and 1),
// and leaves the result in all lanes of v. It uses tmp.
func (m machine) reduce(name string, v, tmp vec) {
	lo, hi := fmt.Sprintf("Y%d", 2*int(v)), fmt.Sprintf("Y%d", 2*int(v)+1)
	if m.w == avx512 {
		lo, hi = fmt.Sprintf("Y%d", int(v)), fmt.Sprintf("Y%d", int(tmp))
		m.line("VEXTRACTF64X4 $1, Z%d, %s", int(v), hi)
	}
	xlo, xhi := "X"+lo[1:], "X"+hi[1:]
	m.line("%s %s, %s, %s", name, hi, lo, lo)
	m.line("VEXTRACTF128 $1, %s, %s", lo, xhi)
	m.line("%s %s, %s, %s", name, xhi, xlo, xlo)
	m.line("VPERMILPS $0x4e, %s, %s", xlo, xhi)
	m.line("%s %s, %s, %s", name, xhi, xlo, xlo)
	m.line("VPERMILPS $0xb1, %s, %s", xlo, xhi)
	m.line("%s %s, %s, %s", name, xhi, xlo, xlo)
	m.op("VBROADCASTSS", xlo, v)
}

// end returns, with the upper halves of the registers cleared for the SSE code that follows.
func (m machine) end() {
	m.line("VZEROUPPER")
	m.line("RET")
}

// table writes 32 bytes of read-only data holding v in every lane.
func (u *unit) table(name konst, v float64) { u.tableBits(name, math.Float32bits(float32(v))) }

func (u *unit) tableBits(name konst, bits uint32) {
	for i := range 4 {
		fmt.Fprintf(&u.text, "DATA %s<>+%d(SB)/8, $0x%08x%08x\n", name, 8*i, bits, bits)
	}
	fmt.Fprintf(&u.text, "GLOBL %s<>(SB), RODATA|NOPTR, $32\n", name)
}
