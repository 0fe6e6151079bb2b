package lexical

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/exhibit-rag/exhibit/internal/bitset"
)

// A segment file, little endian:
//
//	magic 8 bytes, version u32, 0 u32
//	postings of each term, one after the other (see list)
//	length of each document, in terms: u32
//	for each term, ascending by bytes: end of its postings u64
//	for each term: end of its bytes u32
//	for each term: documents that hold it u32
//	bytes of the terms
//	footer of 64 bytes:
//	  documents u32, terms u32, sum of lengths u64, bytes of postings u64, bytes of terms u64, length of the file u64,
//	  CRC-32C of all before the footer u32, version u32, 0 u64, CRC-32C of the magic and of the footer to here u32, 0 u32
//
// The counts in the footer give the place of each part, so that opening reads the footer only.
const (
	magic       = "EXHLEXIC"
	version     = 1
	headerBytes = 16
	footerBytes = 64
)

// MaxDocuments is how many documents a segment has at most. Terms have at most 65,535 bytes.
const (
	MaxDocuments = math.MaxInt32
	maxTermBytes = math.MaxUint16
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Builder collects documents for one segment, in memory: 3 to 12 bytes for each distinct term of each document, and some 150 for
// each term. It is not safe for use by several goroutines.
type Builder struct {
	lists   map[string]*list
	lengths []uint32
	counts  map[string]uint32
}

// NewBuilder returns a Builder without documents.
func NewBuilder() *Builder {
	return &Builder{lists: map[string]*list{}, counts: map[string]uint32{}}
}

// Len returns the number of documents added.
func (b *Builder) Len() int { return len(b.lengths) }

// Add adds a document with the next ordinal: 0, 1, 2, …. It keeps neither the slice nor the memory of its strings. Order does not
// matter, repetition does.
func (b *Builder) Add(terms []string) {
	ord := uint32(len(b.lengths))
	b.lengths = append(b.lengths, uint32(len(terms)))
	clear(b.counts)
	for _, t := range terms {
		b.counts[t]++
	}
	for t, n := range b.counts {
		l := b.lists[t]
		if l == nil {
			l = newList()
			b.lists[strings.Clone(t)] = l
		}
		l.add(ord, n)
	}
}

// Write writes a segment of the documents added so far. The same documents give the same bytes.
func (b *Builder) Write(w io.Writer) error {
	if len(b.lengths) > MaxDocuments {
		return fmt.Errorf("lexical segment: %d documents, at most %d fit: make several segments", len(b.lengths), MaxDocuments)
	}
	sw := newWriter(w)
	for _, t := range slices.Sorted(maps.Keys(b.lists)) {
		if err := sw.term(t, b.lists[t]); err != nil {
			return err
		}
	}
	return sw.finish(b.lengths)
}

// Part is a segment and which of its documents to keep; nil keeps all.
type Part struct {
	Segment *Segment
	Keep    bitset.Set
}

// Merge writes one segment of the kept documents of parts, in order: the ordinals of the second part go on after those of the first. The bytes are
// those that a Builder would write for the same documents. It reads each part once and checks it first; an error
// names the part that is damaged.
func Merge(w io.Writer, parts []Part) error {
	var lengths []uint32
	moved := make([][]int32, len(parts)) // new ordinals, −1 for what is dropped
	for i, p := range parts {
		if err := p.Segment.Verify(); err != nil {
			return fmt.Errorf("merge part %d: %w", i, err)
		}
		moved[i] = make([]int32, p.Segment.Len())
		for ord := range moved[i] {
			moved[i][ord] = -1
			if p.Keep.Has(ord) {
				if len(lengths) == MaxDocuments {
					return fmt.Errorf("lexical segment: more than %d documents: merge fewer segments", MaxDocuments)
				}
				moved[i][ord] = int32(len(lengths))
				lengths = append(lengths, uint32(p.Segment.Length(ord)))
			}
		}
	}
	sw := newWriter(w)
	next := make([]int, len(parts)) // the next term of each part
	merged := newList()
	for {
		t, ok := lowest(parts, next)
		if !ok {
			return sw.finish(lengths)
		}
		merged.reset()
		for i, p := range parts {
			if next[i] < p.Segment.terms && string(p.Segment.term(next[i])) == t {
				p.Segment.move(next[i], moved[i], merged)
				next[i]++
			}
		}
		if merged.df > 0 {
			if err := sw.term(t, merged); err != nil {
				return err
			}
		}
	}
}

// lowest returns the first in order of the terms that the parts have next.
func lowest(parts []Part, next []int) (string, bool) {
	var low []byte
	for i, p := range parts {
		if next[i] < p.Segment.terms {
			if t := p.Segment.term(next[i]); low == nil || string(t) < string(low) {
				low = t
			}
		}
	}
	return string(low), low != nil
}

// move adds the postings of a term to another list under new ordinals.
func (s *Segment) move(term int, to []int32, dst *list) {
	p := s.postings(term)
	var b block
	for i := range p.blocks() {
		p.read(i, &b)
		for j, ord := range b.ords[:b.n] {
			if to[ord] >= 0 {
				dst.add(uint32(to[ord]), b.tfs[j])
			}
		}
	}
}

// writer streams a segment; it holds the dictionary until the end.
type writer struct {
	out      *bufio.Writer
	crc      uint32
	table    *crc32.Table
	written  uint64
	postings uint64
	lists    []byte // ends of postings
	ends     []byte // ends of terms
	dfs      []byte
	terms    []byte
	scratch  []byte
	err      error
}

func newWriter(w io.Writer) *writer {
	sw := &writer{out: bufio.NewWriterSize(w, 1<<16), table: castagnoli()}
	head := append([]byte(magic), make([]byte, 8)...)
	binary.LittleEndian.PutUint32(head[8:], version)
	sw.write(head)
	return sw
}

func (w *writer) write(b []byte) {
	if w.err != nil {
		return
	}
	w.crc = crc32.Update(w.crc, w.table, b)
	w.written += uint64(len(b))
	_, w.err = w.out.Write(b)
}

func (w *writer) term(t string, l *list) error {
	switch {
	case len(t) > maxTermBytes:
		return fmt.Errorf("lexical segment: a term of %d bytes, at most %d fit: shorten it (%.40q…)", len(t), maxTermBytes, t)
	case len(w.terms)+len(t) > math.MaxUint32, len(l.data) > math.MaxUint32:
		return errors.New("lexical segment: more than 4 GiB of terms or of one term's postings: make several segments")
	}
	w.scratch = l.appendTo(w.scratch[:0])
	w.write(w.scratch)
	w.postings += uint64(len(w.scratch))
	w.terms = append(w.terms, t...)
	w.lists = binary.LittleEndian.AppendUint64(w.lists, w.postings)
	w.ends = binary.LittleEndian.AppendUint32(w.ends, uint32(len(w.terms)))
	w.dfs = binary.LittleEndian.AppendUint32(w.dfs, uint32(l.df))
	return w.err
}

func (w *writer) finish(lengths []uint32) error {
	var total uint64
	buf := w.scratch[:0]
	for _, n := range lengths {
		total += uint64(n)
		buf = binary.LittleEndian.AppendUint32(buf, n)
	}
	for _, section := range [][]byte{buf, w.lists, w.ends, w.dfs, w.terms} {
		w.write(section)
	}
	foot := make([]byte, 0, footerBytes)
	le := binary.LittleEndian
	foot = le.AppendUint32(foot, uint32(len(lengths)))
	foot = le.AppendUint32(foot, uint32(len(w.dfs)/4))
	foot = le.AppendUint64(foot, total)
	foot = le.AppendUint64(foot, w.postings)
	foot = le.AppendUint64(foot, uint64(len(w.terms)))
	foot = le.AppendUint64(foot, w.written+footerBytes)
	foot = le.AppendUint32(foot, w.crc)
	foot = le.AppendUint32(foot, version)
	foot = le.AppendUint64(foot, 0)
	foot = le.AppendUint32(foot, footerSum(foot, w.table))
	foot = le.AppendUint32(foot, 0)
	w.write(foot)
	if w.err == nil {
		w.err = w.out.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("write lexical segment: %w", w.err)
	}
	return nil
}

// footerSum returns the checksum of the magic and of the footer's bytes before the sum.
func footerSum(foot []byte, table *crc32.Table) uint32 {
	return crc32.Update(crc32.Checksum([]byte(magic), table), table, foot)
}
