package sentencepiece

// doubleArray is a trie over byte strings in the unit format of darts-clone, which is also what a precompiled character map
// of SentencePiece holds. Its units are little endian uint32; of a unit that is a node
//
//	bits 0–7   are the label by which its parent reaches it
//	bit  8     says that a value lies at its child with label 0
//	bits 10–30 are the offset to its children, shifted left by 8 when bit 9 is set
//
// and a unit with bit 31 set is a value of 31 bits. The child of the node at i with label c is at i ^ offset ^ c, if that
// unit has label c. Whatever the bytes are, walking them ends and stays within them.
// Source: the description of the format in https://github.com/s-yata/darts-clone (BSD 2-clause).
type doubleArray string

const (
	leafBit  = 1 << 8
	shiftBit = 1 << 9
	valueBit = 1 << 31
	// labelMask keeps the label together with the bit that tells a value from a node, so that no value passes for a child.
	labelMask = valueBit | 0xff
)

// root is the unit from which every walk starts; ok is false for an empty array.
func (d doubleArray) root() (unit uint32, ok bool) {
	if len(d) < 4 {
		return 0, false
	}
	return d.unit(0), true
}

func (d doubleArray) unit(i uint32) uint32 {
	s := d[4*i : 4*i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// children returns the place that, xor a label, is the place of that child of the node at pos.
func children(pos, unit uint32) uint32 {
	return pos ^ unit>>10<<(unit&shiftBit>>6)
}

// step goes from a node, given by its place of children, to the child with the label c.
func (d doubleArray) step(base uint32, c byte) (pos, unit uint32, ok bool) {
	pos = base ^ uint32(c)
	if uint64(pos) >= uint64(len(d)/4) {
		return 0, 0, false
	}
	unit = d.unit(pos)
	return pos, unit, unit&labelMask == uint32(c) && c != 0
}

// value returns the value of the node with that unit and place of children, if it has one.
func (d doubleArray) value(base, unit uint32) (v uint32, ok bool) {
	if unit&leafBit == 0 || uint64(base) >= uint64(len(d)/4) {
		return 0, false
	}
	v = d.unit(base)
	return v &^ valueBit, v&valueBit != 0
}

// longest returns the length and value of the longest key that s starts with; length 0 when there is none.
func (d doubleArray) longest(s string) (length int, value uint32) {
	unit, ok := d.root()
	if !ok {
		return 0, 0
	}
	base := children(0, unit)
	for i := 0; i < len(s); i++ {
		pos, unit, ok := d.step(base, s[i])
		if !ok {
			break
		}
		base = children(pos, unit)
		if v, ok := d.value(base, unit); ok {
			length, value = i+1, v
		}
	}
	return length, value
}
