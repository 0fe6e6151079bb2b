package weights

import (
	"fmt"
	"math"
)

// Float32s returns a copy of all values of an F32 section, or of a Q4 section expanded, rows in order; nil for a Raw section.
func (s Section) Float32s() []float32 {
	switch s.Kind {
	case F32:
		out := make([]float32, len(s.Data)/4)
		decodeF32(s.Data, out)
		return out
	case Q4:
		out := make([]float32, s.Rows*s.Cols)
		for r := range s.Rows {
			s.DequantRow(r, out[r*s.Cols:(r+1)*s.Cols])
		}
		return out
	}
	return nil
}

// DequantRow writes row number row of an F32 or Q4 section to dst[:s.Cols].
// It panics, like an index does, when the row is not in the section, dst is shorter than a row, or the section is Raw:
// ids and shapes are checked where they enter, once.
func (s Section) DequantRow(row int, dst []float32) {
	if row < 0 || row >= s.Rows || s.Kind == Raw {
		panic(fmt.Sprintf("weights: row %d of section %q (%v, %d rows)", row, s.Name, s.Kind, s.Rows))
	}
	dst = dst[:s.Cols]
	if s.Kind == F32 {
		decodeF32(s.Data[row*s.Cols*4:], dst)
		return
	}
	n := s.Cols / BlockSize * blockBytes
	data := s.Data[row*n : (row+1)*n]
	for len(dst) >= BlockSize && len(data) >= blockBytes {
		scale := halfToFloat32(uint16(data[0]) | uint16(data[1])<<8)
		low, high := dst[:16], dst[16:32]
		for j, b := range []byte(data[2:18]) {
			low[j] = float32(int32(b&15)-8) * scale
			high[j] = float32(int32(b>>4)-8) * scale
		}
		dst, data = dst[BlockSize:], data[blockBytes:]
	}
}

func decodeF32(data string, dst []float32) {
	for i := range dst {
		dst[i] = math.Float32frombits(u32(data, 4*i))
	}
}

// halfToFloat32 widens an IEEE 754 binary16. The bits are moved to where a float32 keeps them and the product with 2^112
// mends the exponent's bias, exactly, subnormal numbers included. Infinities and NaN do not occur in a scale ([Write] refuses
// them); they would come out as large finite numbers.
func halfToFloat32(h uint16) float32 {
	const rebias = 0x1p112
	magnitude := math.Float32frombits(uint32(h&0x7fff)<<13) * rebias
	return math.Float32frombits(math.Float32bits(magnitude) | uint32(h&0x8000)<<16)
}
