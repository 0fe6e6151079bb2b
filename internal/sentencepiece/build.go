package sentencepiece

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit/internal/weights"
)

// unkPenalty is how much less than the lowest score an unknown character counts (kUnkPenalty of the sentencepiece package).
const unkPenalty = 10

// Vocabulary is what a tokenizer is built from.
type Vocabulary struct {
	Pieces   []string  // by id
	Scores   []float32 // log probabilities by id
	Control  []int     // ids that no text gives: marks, padding, unknown
	CharsMap string    // the precompiled character map of a SentencePiece model
}

// Build lays a vocabulary out in the sections that [Open] reads. It is for converters: it takes a second or two for 250,000
// pieces. The same vocabulary gives the same bytes. It refuses pieces that are empty, given twice, not UTF-8 or that hold a
// zero byte, scores that are not finite, and a map that lets U+2581 through, which would then pass for white space.
func Build(v Vocabulary) ([]weights.Section, error) {
	if len(v.Pieces) != len(v.Scores) {
		return nil, fmt.Errorf("sentencepiece: %d pieces and %d scores", len(v.Pieces), len(v.Scores))
	}
	keys, unk, longest, err := v.keys()
	if err != nil {
		return nil, err
	}
	charsmap, texts, err := splitMap(v.CharsMap)
	if err != nil {
		return nil, err
	}
	t := Tokenizer{charsmap: charsmap, mapped: texts}
	if became, n := t.normalizePrefix(space); became != " " || n != len(space) {
		return nil, fmt.Errorf("sentencepiece: the character map makes %q of U+2581, want a space", became)
	}
	units, err := buildDoubleArray(keys)
	if err != nil {
		return nil, err
	}
	var trie, scores, meta []byte
	for _, u := range units {
		trie = binary.LittleEndian.AppendUint32(trie, u)
	}
	for _, s := range v.Scores {
		scores = binary.LittleEndian.AppendUint32(scores, math.Float32bits(s))
	}
	for _, m := range []float32{unk, float32(longest)} {
		meta = binary.LittleEndian.AppendUint32(meta, math.Float32bits(m))
	}
	return []weights.Section{
		{Name: sectionTrie, Kind: weights.Raw, Rows: 1, Cols: len(trie), Data: string(trie)},
		{Name: sectionScores, Kind: weights.F32, Rows: 1, Cols: len(v.Scores), Data: string(scores)},
		{Name: sectionMeta, Kind: weights.F32, Rows: 1, Cols: 2, Data: string(meta)},
		{Name: sectionMap, Kind: weights.Raw, Rows: 1, Cols: len(v.CharsMap), Data: v.CharsMap},
	}, nil
}

// entry is a key of a double array.
type entry struct {
	key   string
	value uint32
}

// keys returns the pieces that text can give in byte order, the score of an unknown character and the longest piece's bytes.
func (v Vocabulary) keys() (keys []entry, unk float32, longest int, err error) {
	lowest := float32(math.MaxFloat32)
	for id, p := range v.Pieces {
		if slices.Contains(v.Control, id) {
			continue
		}
		if p == "" || !utf8.ValidString(p) || strings.IndexByte(p, 0) >= 0 {
			return nil, 0, 0, fmt.Errorf("sentencepiece: piece %d is %q: empty, not UTF-8 or with a zero byte", id, p)
		}
		score := v.Scores[id]
		if !(math.Abs(float64(score)) < math.MaxFloat32) {
			return nil, 0, 0, fmt.Errorf("sentencepiece: piece %d %q has the score %g", id, p, score)
		}
		lowest, longest = min(lowest, score), max(longest, len(p))
		keys = append(keys, entry{p, uint32(id)})
	}
	slices.SortFunc(keys, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	for i := 1; i < len(keys); i++ {
		if keys[i].key == keys[i-1].key {
			return nil, 0, 0, fmt.Errorf("sentencepiece: pieces %d and %d are both %q", keys[i-1].value, keys[i].value, keys[i].key)
		}
	}
	if len(keys) == 0 {
		return nil, 0, 0, errors.New("sentencepiece: no pieces")
	}
	return keys, lowest - unkPenalty, longest, nil
}

// arrayBuilder places the nodes of a trie so that children of different nodes interleave. Free units form a circular list.
type arrayBuilder struct {
	units    []uint32
	taken    []bool
	based    []bool // places that are some node's place of children; no two nodes share one
	next     []int  // free list, valid for free units only
	prev     []int
	first    int // a free unit, or -1
	keys     []entry
	overflow bool
}

// blockUnits is by how much the array grows; labels, being bytes, only reach places of the same block.
const blockUnits = 256

// maxTries bounds the search for a place; beyond it the array grows, at the cost of some holes.
const maxTries = 2000

// buildDoubleArray builds the double array of keys in strict byte order, none empty or with a zero byte, values below 2^31.
func buildDoubleArray(keys []entry) ([]uint32, error) {
	b := &arrayBuilder{first: -1, keys: keys}
	b.grow()
	b.take(0)
	b.place(0, 0, 0, len(keys))
	if b.overflow {
		return nil, fmt.Errorf("sentencepiece: %d keys need more units than an offset of 21 bits reaches", len(keys))
	}
	return b.units, nil
}

// place puts the children of the node at pos, which are those of keys[from:to] at the byte number depth, and all below them.
func (b *arrayBuilder) place(pos uint32, depth, from, to int) {
	var labels []byte
	var starts []int
	for i := from; i < to; i++ {
		c := byte(0)
		if depth < len(b.keys[i].key) {
			c = b.keys[i].key[depth]
		}
		if len(labels) == 0 || labels[len(labels)-1] != c {
			labels, starts = append(labels, c), append(starts, i)
		}
	}
	starts = append(starts, to)
	base := b.find(labels)
	b.based[base] = true
	offset := pos ^ base
	if offset >= 1<<21 {
		b.overflow = true
		return
	}
	b.units[pos] |= offset << 10
	for i, c := range labels {
		child := base ^ uint32(c)
		b.take(int(child))
		if c == 0 {
			b.units[pos] |= leafBit
			b.units[child] = b.keys[starts[i]].value | valueBit
		} else {
			b.units[child] = uint32(c)
		}
	}
	for i, c := range labels {
		if c != 0 {
			b.place(base^uint32(c), depth+1, starts[i], starts[i+1])
		}
	}
}

// find returns a place of children that no node has, all of whose children by labels are free.
func (b *arrayBuilder) find(labels []byte) uint32 {
	free := b.first
	for range maxTries {
		if free < 0 {
			break
		}
		base := uint32(free) ^ uint32(labels[0])
		if !b.based[base] && !slices.ContainsFunc(labels, func(c byte) bool { return b.taken[base^uint32(c)] }) {
			return base
		}
		if free = b.next[free]; free == b.first {
			break
		}
	}
	b.grow()
	return uint32(len(b.units) - blockUnits)
}

// grow adds a block of free units to the end of the array and of the free list. They are zero, which is no child's label, so
// that those left over pass for nobody's child.
func (b *arrayBuilder) grow() {
	for range blockUnits {
		i := len(b.units)
		b.units, b.taken, b.based = append(b.units, 0), append(b.taken, false), append(b.based, false)
		b.next, b.prev = append(b.next, i), append(b.prev, i)
		if b.first < 0 {
			b.first = i
			continue
		}
		last := b.prev[b.first]
		b.next[last], b.prev[i] = i, last
		b.next[i], b.prev[b.first] = b.first, i
	}
}

// take removes a unit from the free list.
func (b *arrayBuilder) take(i int) {
	b.taken[i] = true
	if b.next[i] == i {
		b.first = -1
		return
	}
	b.next[b.prev[i]], b.prev[b.next[i]] = b.next[i], b.prev[i]
	if b.first == i {
		b.first = b.next[i]
	}
}
