package lexical

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sort"
	"sync"

	mmap "github.com/edsrzf/mmap-go"
)

// ErrCorrupt is wrapped by every error about bytes that are not a whole segment of a version that can be read. Segments
// are derived data: the mend is to make them anew.
var ErrCorrupt = errors.New("not a whole lexical segment")

// Segment is an immutable index that is read where it lies. It is safe for use by several goroutines, but for [Segment.Close].
type Segment struct {
	mapped mmap.MMap // nil if not from a file

	docs, terms int
	total       uint64
	sum         uint32 // of body
	body        []byte // all before the footer

	lists, lengths, listEnds, termEnds, dfs, text []byte
	sums                                          sync.Pool // *[]float64, of docs elements
}

// OpenSegment opens a segment over data, which must not change while it is used. It takes constant time: the footer is
// checked, not what it describes ([Segment.Verify] does that). Data damaged elsewhere gives wrong answers but no panic.
func OpenSegment(data []byte) (*Segment, error) {
	if len(data) < headerBytes+footerBytes {
		return nil, fmt.Errorf("%w: %d bytes, fewer than an empty one has", ErrCorrupt, len(data))
	}
	le := binary.LittleEndian
	body, foot := data[:len(data)-footerBytes], data[len(data)-footerBytes:]
	if string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not begin like one", ErrCorrupt)
	}
	if v := le.Uint32(data[len(magic):]); v != version {
		return nil, fmt.Errorf("%w: version %d, this program reads version %d", ErrCorrupt, v, version)
	}
	if le.Uint32(foot[56:]) != footerSum(foot[:56], castagnoli()) || le.Uint32(foot[60:]) != 0 {
		return nil, fmt.Errorf("%w: checksum of its footer (was it cut off?)", ErrCorrupt)
	}
	s := &Segment{docs: int(le.Uint32(foot)), terms: int(le.Uint32(foot[4:])), total: le.Uint64(foot[8:]), sum: le.Uint32(foot[40:]), body: body}
	rest := uint64(len(body) - headerBytes)
	place := body[headerBytes:]
	for _, part := range []struct {
		at   *[]byte
		size uint64
	}{
		{&s.lists, le.Uint64(foot[16:])}, {&s.lengths, 4 * uint64(s.docs)}, {&s.listEnds, 8 * uint64(s.terms)},
		{&s.termEnds, 4 * uint64(s.terms)}, {&s.dfs, 4 * uint64(s.terms)}, {&s.text, le.Uint64(foot[24:])},
	} {
		if part.size > rest {
			return nil, fmt.Errorf("%w: its parts are larger than it", ErrCorrupt)
		}
		*part.at, place = place[:part.size], place[part.size:]
		rest -= part.size
	}
	if rest != 0 || le.Uint64(foot[32:]) != uint64(len(data)) || s.docs > MaxDocuments {
		return nil, fmt.Errorf("%w: its parts are not as large as it", ErrCorrupt)
	}
	return s, nil
}

// OpenFile maps a file and opens the segment in it, in constant time. The file must not be written to while it is open: write
// another and rename it. Windows does not let go of an open one.
func OpenFile(path string) (*Segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lexical segment: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("lexical segment: %w", err)
	}
	if info.Size() < headerBytes+footerBytes || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: %d bytes, fewer than an empty one has", path, ErrCorrupt, info.Size())
	}
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("lexical segment %s: map: %w", path, err)
	}
	s, err := OpenSegment(m)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), m.Unmap())
	}
	s.mapped = m
	return s, nil
}

// Close lets go of the file. Nothing may use the segment any more. It does nothing to a segment over bytes.
func (s *Segment) Close() error {
	if s.mapped == nil {
		return nil
	}
	m := s.mapped
	s.mapped, s.docs, s.terms, s.body = nil, 0, 0, nil
	s.lists, s.lengths, s.listEnds, s.termEnds, s.dfs, s.text = nil, nil, nil, nil, nil, nil
	if err := m.Unmap(); err != nil {
		return fmt.Errorf("lexical segment: unmap: %w", err)
	}
	return nil
}

// Len returns the number of documents.
func (s *Segment) Len() int { return s.docs }

// Total returns the sum of the lengths of all documents.
func (s *Segment) Total() uint64 { return s.total }

// Length returns the number of terms of a document, repeated ones repeated; 0 for an ordinal that is none.
func (s *Segment) Length(ord int) int {
	if ord < 0 || ord >= s.docs {
		return 0
	}
	return int(s.length(uint32(ord)))
}

func (s *Segment) length(ord uint32) uint32 {
	return binary.LittleEndian.Uint32(s.lengths[4*int(ord):])
}

// Verify reads all of the segment, in linear time, and returns an error that wraps [ErrCorrupt] where it is not as it was written.
func (s *Segment) Verify() error {
	if got := crc32.Checksum(s.body, castagnoli()); got != s.sum {
		return fmt.Errorf("%w: checksum is %08x, should be %08x", ErrCorrupt, got, s.sum)
	}
	var b block
	for t := range s.terms {
		if t > 0 && string(s.term(t-1)) >= string(s.term(t)) {
			return fmt.Errorf("%w: terms %d and %d are not in order", ErrCorrupt, t-1, t)
		}
		p := s.postings(t)
		if p.df == 0 {
			return fmt.Errorf("%w: term %d has no postings", ErrCorrupt, t)
		}
		for i := range p.blocks() {
			if !p.read(i, &b) || p.skips != nil && int64(b.ords[b.n-1]) != p.lastOf(i) {
				return fmt.Errorf("%w: postings of term %d", ErrCorrupt, t)
			}
		}
	}
	var total uint64
	for ord := range s.docs {
		total += uint64(s.Length(ord))
	}
	if total != s.total {
		return fmt.Errorf("%w: lengths add up to %d, should be %d", ErrCorrupt, total, s.total)
	}
	return nil
}

// between returns the bytes of a section from the end of entry i−1 to the end of entry i; nil if there are none such.
func between(section []byte, from, to uint64) []byte {
	if from > to || to > uint64(len(section)) {
		return nil
	}
	return section[from:to]
}

func (s *Segment) term(i int) []byte {
	var from uint32
	if i > 0 {
		from = binary.LittleEndian.Uint32(s.termEnds[4*i-4:])
	}
	return between(s.text, uint64(from), uint64(binary.LittleEndian.Uint32(s.termEnds[4*i:])))
}

func (s *Segment) df(i int) int { return int(binary.LittleEndian.Uint32(s.dfs[4*i:])) }

func (s *Segment) postings(i int) postings {
	var from uint64
	if i > 0 {
		from = binary.LittleEndian.Uint64(s.listEnds[8*i-8:])
	}
	raw := between(s.lists, from, binary.LittleEndian.Uint64(s.listEnds[8*i:]))
	return openPostings(raw, min(s.df(i), s.docs), uint32(s.docs))
}

// find returns the place of a term in the dictionary, or −1.
func (s *Segment) find(t string) int {
	i := sort.Search(s.terms, func(i int) bool { return string(s.term(i)) >= t })
	if i < s.terms && string(s.term(i)) == t {
		return i
	}
	return -1
}
