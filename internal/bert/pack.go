package bert

import (
	"fmt"
	"math"

	"github.com/exhibit-rag/exhibit/internal/weights"
)

// A matrix multiplies from the right: k inputs, n outputs, both multiples of 32. Its columns lie in panels of 32, and a
// panel in blocks of 32 steps. A block is 32 scales, one a column, and 512 bytes: 16 a step, whose low four bits are columns
// 0 to 15 and whose high four bits are columns 16 to 31. A weight is (bits − 8) × scale.
type matrix struct {
	k, n    int
	nibbles []byte    // n × k / 2
	scales  []float32 // n × k / 32
	bias    []float32 // n
}

// panel returns the packed columns 32p to 32p+31.
func (m *matrix) panel(p int) (nibbles []byte, scales []float32) {
	return m.nibbles[p*m.k*16 : (p+1)*m.k*16], m.scales[p*m.k : (p+1)*m.k]
}

// part is a section of the file and the panel of a matrix at which it begins.
type part struct {
	section weights.Section
	to      *matrix
	at      int
}

// newMatrix joins sections (each [outputs, k], 4 bits) side by side and takes the biases that belong to them; the weights
// themselves are copied later, by packing the parts it returns.
func newMatrix(f *weights.File, k, n int, names ...string) (*matrix, []part, error) {
	m := &matrix{k: k, n: n * len(names), nibbles: make([]byte, n*len(names)*k/2), scales: make([]float32, n*len(names)*k/32)}
	var parts []part
	for i, name := range names {
		s, err := section(f, name+".w", n, k)
		if err != nil {
			return nil, nil, err
		}
		if s.Kind != weights.Q4 {
			return nil, nil, fmt.Errorf("bert: section %q is %v, the encoder takes 4-bit weights", s.Name, s.Kind)
		}
		bias, err := section(f, name+".b", 1, n)
		if err != nil {
			return nil, nil, err
		}
		m.bias = append(m.bias, bias.Float32s()...)
		parts = append(parts, part{s, m, i * n / panelWidth})
	}
	return m, parts, nil
}

// section returns a section of the shape given.
func section(f *weights.File, name string, rows, cols int) (weights.Section, error) {
	s, ok := f.Section(name)
	if !ok {
		return s, fmt.Errorf("bert: the weights have no section %q", name)
	}
	if s.Rows != rows || s.Cols != cols {
		return s, fmt.Errorf("bert: section %q is %d × %d, the encoder's shape needs %d × %d", name, s.Rows, s.Cols, rows, cols)
	}
	return s, nil
}

// pack writes all panels of a part.
func (p part) pack() {
	rowBytes := len(p.section.Data) / p.section.Rows
	for i := range p.section.Rows / panelWidth {
		nibbles, scales := p.to.panel(p.at + i)
		packPanel(p.section.Data[i*panelWidth*rowBytes:(i+1)*panelWidth*rowBytes], rowBytes, nibbles, scales)
	}
}

// blockBytes is the size of a 4-bit block in the file: a float16 scale and 16 bytes, of which byte j holds step j in its low
// and step j+16 in its high four bits.
const blockBytes = 18

// packPanel regroups 32 rows of the file, one a column of the panel.
func packPanel(rows string, rowBytes int, nibbles []byte, scales []float32) {
	for block := range rowBytes / blockBytes {
		out, scale := nibbles[block*512:][:512], scales[block*32:][:32]
		for c := range 16 {
			low := rows[c*rowBytes+block*blockBytes:][:blockBytes]
			high := rows[(c+16)*rowBytes+block*blockBytes:][:blockBytes]
			scale[c], scale[c+16] = half(low), half(high)
			first, second := out[c:256], out[256+c:]
			for j := range 16 {
				l, h := low[2+j], high[2+j]
				first[16*j] = l&15 | h<<4
				second[16*j] = l>>4 | h&0xf0
			}
		}
	}
}

// half widens the IEEE 754 binary16 that s begins with, exactly: its bits go where a float32 keeps them, and the product
// with 2^112 mends the bias of the exponent, subnormal numbers included.
func half(s string) float32 {
	bits := uint32(s[0]) | uint32(s[1])<<8
	magnitude := math.Float32frombits(bits&0x7fff<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(magnitude) | bits>>15<<31)
}
