package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"github.com/exhibit-rag/exhibit/internal/bitset"
	"github.com/exhibit-rag/exhibit/internal/lexical"
	"github.com/exhibit-rag/exhibit/internal/vector"
)

// A derived file holds one segment: all chunks of a collection at one sequence number. Little endian; sections begin at multiples of 64.
//
//	0    magic "EXHDRV1\n", 8 bytes
//	8    header size u32 (256), dimension u32
//	16   identity: SHA-256 over store, collection, seq, accumulator, analyser, model, dimension
//	48   rows u64
//	56   seven sections, offset and length u64 each: ids i64, documents i64, key offsets u64 (rows+1), keys, postings, rows with vectors u64 words, vectors f32
//	168  CRC-32C u32 of ids, documents, key offsets, keys, rows with vectors
//	172  zeros
//	252  CRC-32C u32 of bytes 0 to 251
//
// What the first CRC covers is read when the file is opened; it is about 50 bytes a chunk. Postings and vectors are not read then: that takes
// [Store.Check] with deep. Targets of this program are all little endian, so numbers are used where they lie in the mapped file.
const (
	derivedMagic  = "EXHDRV1\n"
	derivedHeader = 256
	derivedExt    = ".derived"
	sectionAlign  = 64
	sections      = 7
)

const (
	secIDs = iota
	secDocs
	secOffs
	secKeys
	secLex
	secHas
	secVec
)

// castagnoli returns the CRC-32C table, which hash/crc32 makes once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// identity says of what a derived file must be made to be used in this transaction.
func (s *Store) identity(coll *collection, seq int64, acc Hash) Hash {
	var d digester
	d.str("derived", string(s.secret[:]), string(acc[:]), s.o.Analyser, coll.st.Model)
	d.ints(int(coll.id), int(seq), coll.st.Dimension)
	return d.done()
}

func (s *Store) derivedPath(coll, seq int64) string {
	return filepath.Join(s.folder, DerivedName, fmt.Sprintf("c%d-%d%s", coll, seq, derivedExt))
}

// loadDerived maps a derived file. An error means only that it cannot be used.
func loadDerived(path string, identity Hash) (_ *segment, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives the descriptor
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.Unmap()
		}
	}()
	g, err := openDerived(m, identity)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	g.mapped, g.pure, g.release = true, true, func() { m.Unmap() }
	return g, nil
}

// openDerived makes a segment over the bytes of a derived file, which begin at a multiple of 8 in memory.
func openDerived(m []byte, identity Hash) (*segment, error) {
	sec, rows, dim, err := derivedSections(m, identity)
	if err != nil {
		return nil, err
	}
	g := &segment{ids: cast[int64](sec[secIDs]), docs: cast[int64](sec[secDocs]), offs: cast[uint64](sec[secOffs]), keys: sec[secKeys], dim: dim}
	if err := g.checkTable(rows); err != nil {
		return nil, err
	}
	if err := g.setPostings(sec[secLex]); err != nil {
		return nil, err
	}
	if len(sec[secVec]) > 0 {
		return g, g.setVectors(cast[float32](sec[secVec]), cast[uint64](sec[secHas]))
	}
	return g, nil
}

// cast sees bytes as numbers; sections are aligned, and mappings begin at pages.
func cast[T int64 | uint64 | float32](b []byte) []T {
	var zero T
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// derivedSections checks header and table and cuts the file up.
func derivedSections(m []byte, identity Hash) (sec [sections][]byte, rows, dim int, err error) {
	if len(m) < derivedHeader || string(m[:8]) != derivedMagic || binary.LittleEndian.Uint32(m[8:]) != derivedHeader {
		return sec, 0, 0, errors.New("no derived file of this version")
	}
	if crc32.Checksum(m[:derivedHeader-4], castagnoli()) != binary.LittleEndian.Uint32(m[derivedHeader-4:]) {
		return sec, 0, 0, errors.New("header is damaged")
	}
	if Hash(m[16:48]) != identity {
		return sec, 0, 0, errors.New("made of another state")
	}
	for i := range sec {
		off, n := binary.LittleEndian.Uint64(m[56+16*i:]), binary.LittleEndian.Uint64(m[64+16*i:])
		if off%sectionAlign != 0 || off > uint64(len(m)) || n > uint64(len(m))-off {
			return sec, 0, 0, errors.New("truncated")
		}
		sec[i] = m[off : off+n : off+n]
	}
	crc := crc32.New(castagnoli())
	for _, i := range []int{secIDs, secDocs, secOffs, secKeys, secHas} {
		crc.Write(sec[i])
	}
	if crc.Sum32() != binary.LittleEndian.Uint32(m[168:]) {
		return sec, 0, 0, errors.New("table is damaged")
	}
	n := binary.LittleEndian.Uint64(m[48:])
	if n > uint64(len(m)) {
		return sec, 0, 0, errors.New("row count is damaged")
	}
	return sec, int(n), int(binary.LittleEndian.Uint32(m[12:])), nil
}

func (g *segment) checkTable(rows int) error {
	if len(g.ids) != rows || len(g.docs) != rows || len(g.offs) != rows+1 || g.offs[rows] != uint64(len(g.keys)) {
		return errors.New("sections do not fit together")
	}
	for i := range rows {
		if g.offs[i] > g.offs[i+1] || (i > 0 && g.ids[i] <= g.ids[i-1]) {
			return errors.New("rows are out of order")
		}
	}
	return nil
}

// setPostings gives a segment its postings.
func (g *segment) setPostings(b []byte) error {
	lex, err := lexical.OpenSegment(b)
	if err != nil {
		return err
	}
	if lex.Len() != g.n() {
		return fmt.Errorf("postings of %d rows, not %d", lex.Len(), g.n())
	}
	g.lex, g.post = lex, b
	return nil
}

// setVectors gives a segment its matrix.
func (g *segment) setVectors(data []float32, has bitset.Set) error {
	if g.dim <= 0 || len(data) != g.n()*g.dim || len(has) != (g.n()+63)/64 {
		return fmt.Errorf("%d numbers are no %d vectors of %d", len(data), g.n(), g.dim)
	}
	mat, err := vector.NewMatrix(g.dim, data, has)
	if err != nil {
		return err
	}
	g.data, g.has, g.mat = data, has, mat
	return nil
}

// derivedWriter writes sections one after another.
type derivedWriter struct {
	w      *bufio.Writer
	at     uint64
	header [derivedHeader]byte
	crc    uint32
}

func (d *derivedWriter) Write(b []byte) (int, error) {
	n, err := d.w.Write(b)
	d.at += uint64(n)
	return n, err
}

// section writes one section with f and notes where it lies.
func (d *derivedWriter) section(i int, f func(io.Writer) error) error {
	if pad := -d.at % sectionAlign; pad > 0 {
		if _, err := d.Write(make([]byte, pad)); err != nil {
			return err
		}
	}
	start := d.at
	if err := f(d); err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(d.header[56+16*i:], start)
	binary.LittleEndian.PutUint64(d.header[64+16*i:], d.at-start)
	return nil
}

// bytes is section for a part of the table, which goes into the table's CRC.
func (d *derivedWriter) bytes(i int, b []byte) error {
	d.crc = crc32.Update(d.crc, castagnoli(), b)
	return d.section(i, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// raw sees numbers as the bytes that a derived file holds.
func raw[T int64 | uint64 | float32](v []T) []byte {
	var zero T
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}

// writeDerived writes a segment to path: a temporary name, fsync, rename.
func writeDerived(path string, identity Hash, m *merged) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	// The writer's lock makes the name unique. No CreateTemp: its files are for their owner only, and readers may be others.
	f, err := os.OpenFile(path+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	d := &derivedWriter{w: bufio.NewWriterSize(f, 1<<18)}
	if _, err := d.Write(d.header[:]); err != nil {
		return err
	}
	if err := d.all(m); err != nil {
		return err
	}
	if err := d.w.Flush(); err != nil {
		return err
	}
	h := d.header[:]
	copy(h, derivedMagic)
	binary.LittleEndian.PutUint32(h[8:], derivedHeader)
	binary.LittleEndian.PutUint32(h[12:], uint32(m.table.dim))
	copy(h[16:], identity[:])
	binary.LittleEndian.PutUint64(h[48:], uint64(m.table.n()))
	binary.LittleEndian.PutUint32(h[168:], d.crc)
	binary.LittleEndian.PutUint32(h[derivedHeader-4:], crc32.Checksum(h[:derivedHeader-4], castagnoli()))
	if _, err := f.WriteAt(h, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func (d *derivedWriter) all(m *merged) error {
	g := m.table
	for _, s := range []struct {
		i int
		b []byte
	}{{secIDs, raw(g.ids)}, {secDocs, raw(g.docs)}, {secOffs, raw(g.offs)}, {secKeys, g.keys}, {secHas, raw(g.has)}} {
		if err := d.bytes(s.i, s.b); err != nil {
			return err
		}
	}
	if err := d.section(secLex, m.postings); err != nil {
		return err
	}
	return d.section(secVec, func(w io.Writer) error {
		for v := range m.vectors {
			if _, err := w.Write(raw(v)); err != nil {
				return err
			}
		}
		return nil
	})
}

// sweepDerived removes a collection's derived files but the ones to keep. What Windows will not let go of, since a reader has it mapped, goes next time.
func (s *Store) sweepDerived(coll int64, keep ...int64) error {
	dir := filepath.Join(s.folder, DerivedName)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, seq := range keep {
		kept[filepath.Base(s.derivedPath(coll, seq))] = true
	}
	prefix := fmt.Sprintf("c%d-", coll)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || kept[e.Name()] {
			continue
		}
		err := os.Remove(filepath.Join(dir, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "windows" {
			return err
		}
	}
	return nil
}
