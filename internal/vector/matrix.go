package vector

import (
	"fmt"

	"github.com/edsrzf/mmap-go"
	"github.com/exhibit-rag/exhibit/internal/bitset"
)

// Matrix is a list of vectors of one dimension, some of which may be absent. It is read only and safe for use by several
// goroutines; [Matrix.Close] is not, and ends every use.
type Matrix struct {
	dim, rows int
	data      []float32
	has       bitset.Set
	stamp     uint64
	kernel    kernel
	mapped    mmap.MMap
}

// NewMatrix makes a matrix of len(data)/dim rows, row i at data[i*dim:], over data itself, which must not change while the
// matrix is in use. Rows that are not in has have no vector and are never found; the nil set means that every row has one.
func NewMatrix(dim int, data []float32, has bitset.Set) (*Matrix, error) {
	if dim <= 0 {
		return nil, fmt.Errorf("vector: dimension %d: it must be above 0", dim)
	}
	if len(data)%dim != 0 {
		return nil, fmt.Errorf("vector: %d values are no whole number of rows of %d", len(data), dim)
	}
	return &Matrix{dim: dim, rows: len(data) / dim, data: data, has: has, kernel: kernels()[0]}, nil
}

// Dim returns the number of values of a vector.
func (m *Matrix) Dim() int { return m.dim }

// Rows returns the number of rows, those without a vector included.
func (m *Matrix) Rows() int { return m.rows }

// Count returns the number of rows that have a vector.
func (m *Matrix) Count() int { return m.has.Count(m.rows) }

// Has reports whether row has a vector.
func (m *Matrix) Has(row int) bool { return row < m.rows && m.has.Has(row) }

// Row returns the vector of a row, a part of the matrix that must not be written to; false where there is none.
func (m *Matrix) Row(row int) ([]float32, bool) {
	if !m.Has(row) {
		return nil, false
	}
	return m.data[row*m.dim : (row+1)*m.dim : (row+1)*m.dim], true
}

// Stamp returns the number that the file was written with; 0 for a matrix of [NewMatrix].
func (m *Matrix) Stamp() uint64 { return m.stamp }

// Close gives back the mapping of a file opened by [Load]; the vectors must not be touched any more. On a matrix of
// [NewMatrix], and the second time, it does nothing.
func (m *Matrix) Close() error {
	if m.mapped == nil {
		return nil
	}
	mapped := m.mapped
	m.mapped, m.data, m.has, m.rows = nil, nil, bitset.New(0), 0
	if err := mapped.Unmap(); err != nil {
		return fmt.Errorf("vector: unmap: %w", err)
	}
	return nil
}
