package lexical

import (
	"encoding/binary"
)

// blockSize is the number of postings between two entries of a skip table.
const blockSize = 128

const skipBytes = 8

// list is the postings of one term while they are written: for each document, ascending, the distance d to the one before it
// (the first: to −1) and the frequency f, as
//
//	uvarint((d−1)<<1)                   if f is 1
//	uvarint((d−1)<<1 | 1) uvarint(f−2)  otherwise
//
// Of more than blockSize postings, a table goes before them with an entry for each block: the last ordinal in it and where it
// ends, counted from the end of the table, both u32 little endian.
type list struct {
	df    int
	last  int64 // the last ordinal; −1 before the first
	data  []byte
	skips []byte
}

func newList() *list { return &list{last: -1} }

func (l *list) reset() {
	l.df, l.last, l.data, l.skips = 0, -1, l.data[:0], l.skips[:0]
}

func (l *list) add(ord, tf uint32) {
	d := uint64(int64(ord)-l.last-1) << 1
	if tf == 1 {
		l.data = binary.AppendUvarint(l.data, d)
	} else {
		l.data = binary.AppendUvarint(l.data, d|1)
		l.data = binary.AppendUvarint(l.data, uint64(tf-2))
	}
	l.df++
	l.last = int64(ord)
	if l.df%blockSize == 0 {
		l.skips = l.skip(l.skips)
	}
}

func (l *list) skip(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.last))
	return binary.LittleEndian.AppendUint32(dst, uint32(len(l.data)))
}

// appendTo appends the finished list.
func (l *list) appendTo(dst []byte) []byte {
	if l.df > blockSize {
		dst = append(dst, l.skips...)
		if l.df%blockSize != 0 {
			dst = l.skip(dst)
		}
	}
	return append(dst, l.data...)
}

// postings is the list of one term where it lies in a segment.
type postings struct {
	df    int
	limit uint32 // ordinals are below
	skips []byte
	data  []byte
}

// openPostings never fails: of bytes that are no list it makes one that ends where they stop to make sense.
func openPostings(raw []byte, df int, limit uint32) postings {
	p := postings{df: df, limit: limit, data: raw}
	if df > blockSize {
		n := p.blocks() * skipBytes
		if n > len(raw) {
			return postings{}
		}
		p.skips, p.data = raw[:n], raw[n:]
	}
	return p
}

func (p *postings) blocks() int { return (p.df + blockSize - 1) / blockSize }

// block is one decoded block.
type block struct {
	n    int
	ords [blockSize]uint32
	tfs  [blockSize]uint32
}

// lastOf returns the last ordinal of block b of a list with skips.
func (p *postings) lastOf(b int) int64 {
	return int64(binary.LittleEndian.Uint32(p.skips[b*skipBytes:]))
}

// read decodes block b and reports whether it is sound: as many postings as it should have, ordinals ascending and below
// the limit. What was sound before the fault is in it.
func (p *postings) read(b int, into *block) bool {
	into.n = 0
	before, data := int64(-1), p.data
	if p.skips != nil {
		from := uint32(0)
		if b > 0 {
			before, from = p.lastOf(b-1), binary.LittleEndian.Uint32(p.skips[b*skipBytes-4:])
		}
		to := binary.LittleEndian.Uint32(p.skips[b*skipBytes+4:])
		if from > to || uint64(to) > uint64(len(p.data)) {
			return false
		}
		data = p.data[from:to]
	}
	return into.decode(data, before, min(blockSize, p.df-b*blockSize), p.limit)
}

func (into *block) decode(data []byte, before int64, want int, limit uint32) bool {
	at := 0
	for into.n < want {
		d, n := uvarint(data[at:])
		if n == 0 || d>>1 > uint64(limit) {
			return false
		}
		at += n
		tf := uint64(1)
		if d&1 == 1 {
			f, n := uvarint(data[at:])
			if n == 0 || f > 1<<32-3 {
				return false
			}
			at += n
			tf = f + 2
		}
		before += int64(d>>1) + 1
		if before >= int64(limit) {
			return false
		}
		into.ords[into.n], into.tfs[into.n] = uint32(before), uint32(tf)
		into.n++
	}
	return at == len(data)
}

// uvarint is binary.Uvarint with a short way for one byte, and 0 for every kind of fault.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v, n := binary.Uvarint(b)
	return v, max(n, 0)
}
