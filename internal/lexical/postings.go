package lexical

import (
	"encoding/binary"
	"math"
)

// blockSize is the number of postings in a block; only the last one of a list may have fewer.
const blockSize = 128

const skipBytes = 8

// list is the postings of one term while they are written, in blocks:
//
//	width of distances u8 (0, 1, 2 or 4 bytes), width of frequencies u8
//	for each document, ascending, the distance to the one before it (of the first to −1), less 1
//	for each document the frequency, less 1
//
// Width 0 is for nothing but zeroes. All of a block has one width because a search spends its time in
// reading this, and steps that depend on each number cost more than the bytes they save.
//
// Of more than one block, a table goes before them with an entry for each: the last ordinal in it and where it
// ends, counted from the end of the table, both u32 little endian.
type list struct {
	df    int
	last  int64 // the last ordinal of the blocks that are done; −1 before the first
	open  []posting
	data  []byte
	skips []byte
}

type posting struct{ ord, tf uint32 }

func newList() *list { return &list{last: -1} }

func (l *list) reset() {
	l.df, l.last, l.open, l.data, l.skips = 0, -1, l.open[:0], l.data[:0], l.skips[:0]
}

func (l *list) add(ord, tf uint32) {
	l.open = append(l.open, posting{ord, tf})
	l.df++
	if len(l.open) == blockSize {
		l.data = appendBlock(l.data, l.last, l.open)
		l.last = int64(ord)
		l.skips = appendSkip(l.skips, ord, len(l.data))
		l.open = l.open[:0]
	}
}

func appendSkip(dst []byte, last uint32, end int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, last)
	return binary.LittleEndian.AppendUint32(dst, uint32(end))
}

func appendBlock(dst []byte, before int64, postings []posting) []byte {
	var distances, frequencies uint32
	prev := before
	for _, p := range postings {
		distances |= uint32(int64(p.ord) - prev - 1)
		frequencies |= p.tf - 1
		prev = int64(p.ord)
	}
	wide, deep := width(distances), width(frequencies)
	dst = append(dst, byte(wide), byte(deep))
	prev = before
	for _, p := range postings {
		dst = appendFixed(dst, wide, uint32(int64(p.ord)-prev-1))
		prev = int64(p.ord)
	}
	for _, p := range postings {
		dst = appendFixed(dst, deep, p.tf-1)
	}
	return dst
}

// width returns the bytes that the larger of numbers needs, given all of them or-ed together.
func width(bits uint32) int {
	switch {
	case bits == 0:
		return 0
	case bits <= math.MaxUint8:
		return 1
	case bits <= math.MaxUint16:
		return 2
	}
	return 4
}

func appendFixed(dst []byte, width int, v uint32) []byte {
	switch width {
	case 1:
		return append(dst, byte(v))
	case 2:
		return binary.LittleEndian.AppendUint16(dst, uint16(v))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

// appendTo appends the finished list; l stays as it is.
func (l *list) appendTo(dst []byte) []byte {
	if l.df > blockSize {
		dst = append(dst, l.skips...)
		if n := len(l.open); n > 0 {
			end := len(appendBlock(nil, l.last, l.open))
			dst = appendSkip(dst, l.open[n-1].ord, len(l.data)+end)
		}
	}
	dst = append(dst, l.data...)
	if len(l.open) > 0 {
		dst = appendBlock(dst, l.last, l.open)
	}
	return dst
}

// postings is the list of one term where it lies in a segment.
type postings struct {
	df    int
	limit uint32 // ordinals are below
	skips []byte
	data  []byte
}

// openPostings never fails: of bytes that are no list it makes one whose blocks cannot be read.
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

// read decodes block b and reports whether it is sound: as many bytes as it should have, ordinals below the limit. A
// block that is not is read as empty.
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
	n := min(blockSize, p.df-b*blockSize)
	if len(data) < 2 {
		return false
	}
	wide, deep, data := int(data[0]), int(data[1]), data[2:]
	if len(data) != n*(wide+deep) || !readFixed(into.ords[:n], wide, data) || !readFixed(into.tfs[:n], deep, data[n*wide:]) {
		return false
	}
	// No ordinal is above the last, for distances are not negative; 128 of 32 bits fit in 64.
	for i, d := range into.ords[:n] {
		before += int64(d) + 1
		into.ords[i] = uint32(before)
		into.tfs[i]++
	}
	if before >= int64(p.limit) {
		return false
	}
	into.n = n
	return true
}

func readFixed(dst []uint32, width int, data []byte) bool {
	switch width {
	case 0:
		clear(dst)
	case 1:
		for i, v := range data[:len(dst)] {
			dst[i] = uint32(v)
		}
	case 2:
		data = data[:2*len(dst)]
		for i := range dst {
			dst[i] = uint32(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case 4:
		data = data[:4*len(dst)]
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint32(data[4*i:])
		}
	default:
		return false
	}
	return true
}
