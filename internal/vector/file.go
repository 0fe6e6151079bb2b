package vector

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"os"
	"unsafe"

	"github.com/edsrzf/mmap-go"
	"github.com/exhibit-rag/exhibit/internal/bitset"
)

// A file of vectors, little endian:
//
//	0   magic   8 bytes "EXHIBITV"
//	8   version u32
//	12  dim     u32
//	16  rows    u64
//	24  stamp   u64, the writer's own
//	32  zeros
//	60  CRC-32C of bytes 0 to 59, u32
//	64  rows × dim float32; a row without a vector is zeros
//	    then a bit for each row that has a vector, in words of u64
//
// Opening checks the header and the size, whatever the number of rows. The values themselves are not checked.
const (
	fileMagic   = "EXHIBITV"
	fileVersion = 1
	headerSize  = 64
	maxDim      = 1 << 20
)

// ErrFormat is wrapped by the errors of [Load] that tell of a file that is not one of vectors, is of another version, or is
// damaged: whoever derived it derives it again.
var ErrFormat = errors.New("not a usable file of vectors")

// Write writes a file that [Load] opens: rows vectors of dim values, in order; nil stands for a row without one. The stamp
// comes back from [Matrix.Stamp], so that the reader knows what the file was derived from. It fails for another number of
// rows than it is told, a vector of another dimension, and a failing w.
func Write(w io.Writer, dim, rows int, stamp uint64, vectors iter.Seq[[]float32]) error {
	if dim <= 0 || dim > maxDim || rows < 0 {
		return fmt.Errorf("vector: write %d rows of %d values: dimensions are 1 to %d", rows, dim, maxDim)
	}
	head := make([]byte, headerSize)
	copy(head, fileMagic)
	binary.LittleEndian.PutUint32(head[8:], fileVersion)
	binary.LittleEndian.PutUint32(head[12:], uint32(dim))
	binary.LittleEndian.PutUint64(head[16:], uint64(rows))
	binary.LittleEndian.PutUint64(head[24:], stamp)
	binary.LittleEndian.PutUint32(head[60:], checksum(head))
	out := bufio.NewWriterSize(w, 1<<16)
	out.Write(head) // bufio keeps the first error and Flush returns it
	has, i := bitset.New(rows), 0
	row := make([]byte, 4*dim)
	for v := range vectors {
		if i == rows {
			return fmt.Errorf("vector: write: more than the %d rows announced", rows)
		}
		if v != nil && len(v) != dim {
			return fmt.Errorf("vector: write: row %d has %d values, not %d", i, len(v), dim)
		}
		clear(row)
		for j, x := range v {
			binary.LittleEndian.PutUint32(row[4*j:], math.Float32bits(x))
		}
		if v != nil {
			has.Add(i)
		}
		out.Write(row)
		i++
	}
	if i < rows {
		return fmt.Errorf("vector: write: %d rows, %d were announced", i, rows)
	}
	for _, word := range has {
		out.Write(binary.LittleEndian.AppendUint64(nil, word))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("vector: write: %w", err)
	}
	return nil
}

func checksum(head []byte) uint32 {
	return crc32.Checksum(head[:60], crc32.MakeTable(crc32.Castagnoli))
}

// Load maps a file that [Write] wrote and checks its header and its size; call [Matrix.Close] to give the mapping back.
// A file that is foreign, of another version, cut short or damaged in its header is an error that wraps [ErrFormat].
// The file must not be changed or cut while it is open (replace it by renaming): reading what is gone stops the program.
func Load(path string) (*Matrix, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("vector: %w", err)
	}
	defer f.Close()
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(f, head); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("vector: %s is shorter than a header: %w", path, ErrFormat)
		}
		return nil, fmt.Errorf("vector: read %s: %w", path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("vector: %w", err)
	}
	dim, rows, err := parseHeader(head, info.Size())
	if err != nil {
		return nil, fmt.Errorf("vector: %s %w", path, err)
	}
	mapped, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("vector: map %s: %w", path, err)
	}
	end := headerSize + 4*dim*rows
	has := bitset.New(rows)
	for i := range has {
		has[i] = binary.LittleEndian.Uint64(mapped[end+8*i:])
	}
	m, err := NewMatrix(dim, floats(mapped[headerSize:end]), has)
	if err != nil {
		return nil, errors.Join(err, mapped.Unmap())
	}
	m.mapped, m.stamp = mapped, binary.LittleEndian.Uint64(head[24:])
	return m, nil
}

// parseHeader returns the shape of a file of size bytes.
func parseHeader(head []byte, size int64) (dim, rows int, err error) {
	if string(head[:8]) != fileMagic {
		return 0, 0, fmt.Errorf("does not begin with %q: %w", fileMagic, ErrFormat)
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != fileVersion {
		return 0, 0, fmt.Errorf("has version %d, this program reads version %d: %w", v, fileVersion, ErrFormat)
	}
	if binary.LittleEndian.Uint32(head[60:]) != checksum(head) {
		return 0, 0, fmt.Errorf("has a damaged header: %w", ErrFormat)
	}
	d, n := uint64(binary.LittleEndian.Uint32(head[12:])), binary.LittleEndian.Uint64(head[16:])
	if d == 0 || d > maxDim || n > math.MaxInt/(8*maxDim) {
		return 0, 0, fmt.Errorf("claims %d rows of %d values: %w", n, d, ErrFormat)
	}
	if want := headerSize + 4*d*n + (n+63)/64*8; uint64(size) != want {
		return 0, 0, fmt.Errorf("has %d bytes, its %d rows of %d values need %d: %w", size, n, d, want, ErrFormat)
	}
	return int(d), int(n), nil
}

// floats returns the little-endian float32 in b: in place where the machine's order and the alignment allow, a copy elsewhere.
func floats(b []byte) []float32 {
	n := len(b) / 4
	if n == 0 {
		return nil
	}
	one := [2]byte{1, 0}
	if p := unsafe.Pointer(unsafe.SliceData(b)); binary.NativeEndian.Uint16(one[:]) == 1 && uintptr(p)%unsafe.Alignof(float32(0)) == 0 {
		return unsafe.Slice((*float32)(p), n)
	}
	return copied(b)
}

// copied decodes little-endian float32 anywhere.
func copied(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}
