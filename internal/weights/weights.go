// Package weights reads and writes the one-file container in which an encoder's tensors and its tokenizer lie ready for use.
//
// A container is opened from a string, so that an embedded or mapped file is read in place: opening parses a header and a
// directory of a few hundred entries and touches no tensor. Layout, little endian:
//
//	0    magic    8 bytes "EXHIBITW"
//	8    version  u32
//	12   sections u32
//	16   config   12 × 4 bytes, in the order of the fields of [Config]; Eps is an f32, all others are u32
//	64   directory, one entry of 64 bytes per section:
//	     name 32 bytes padded with zeros · kind u32 · rows u32 · cols u32 · zero u32 · offset u64 · bytes u64
//	...  sections in directory order, each starting at a multiple of 64 bytes
//
// Values of kind F32 are float32, row by row. A row of kind Q4 is cols/32 blocks of 18 bytes: a float16 scale, then 16 bytes
// of which byte j holds weight j in its low and weight j+16 in its high four bits; a weight is (bits − 8) × scale.
// Raw sections belong to whoever wrote them; they have one row.
//
// A [File] and its sections are read only and safe for use by several goroutines.
package weights

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Version is the layout written by [Write] and the only one that [Open] takes.
const Version = 1

// BlockSize is the number of weights that share a scale in a section of kind [Q4].
const BlockSize = 32

const (
	magic      = "EXHIBITW"
	headerSize = 64
	entrySize  = 64
	nameSize   = 32
	alignment  = 64
	blockBytes = 18
	// maxSections bounds the directory of a file that claims nonsense.
	maxSections = 1 << 16
	// maxDim bounds every number of Config and every side of a section, so that products fit 63 bits.
	maxDim = 1 << 30
)

// Config is the shape of the encoder.
type Config struct {
	Hidden       int     // width of a token's vector
	Layers       int     // number of transformer layers
	Heads        int     // attention heads; divides Hidden
	FeedForward  int     // width of the inner layer of the feed-forward part
	Vocab        int     // rows of the word table; may exceed the tokenizer's pieces
	MaxPositions int     // most tokens of one input, begin and end marks included
	TypeVocab    int     // rows of the segment table
	Eps          float32 // added to the variance in layer normalisation
	BOS          int     // id that opens an input
	EOS          int     // id that closes an input
	PAD          int     // id that fills a batch
	UNK          int     // id of text that no piece covers
}

// Kind says how the values of a section are stored.
type Kind uint32

// The kinds of section.
const (
	F32 Kind = 1 // float32
	Q4  Kind = 2 // blocks of 32 four-bit weights with a float16 scale
	Raw Kind = 3 // bytes
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case F32:
		return "f32"
	case Q4:
		return "q4"
	case Raw:
		return "raw"
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// Section is a named part of a container. A matrix is [Rows, Cols] with rows contiguous, a vector is one row; a Raw section
// is one row of Cols bytes.
type Section struct {
	Name string
	Kind Kind
	Rows int
	Cols int
	Data string // exactly the section's bytes, a part of the opened string
}

// File is an opened container.
type File struct {
	config   Config
	sections []Section
	byName   map[string]int
}

// Open reads the directory of a container. It fails, naming what is wrong, on a foreign or newer file, a truncated one, a
// header that contradicts itself, and a section that lies outside of the file or does not fit its own shape.
// It keeps data, and does not look at what is in the sections.
func Open(data string) (*File, error) {
	if len(data) < headerSize || data[:len(magic)] != magic {
		return nil, fmt.Errorf("weights: not a weights file: it does not start with %q and a header of %d bytes", magic, headerSize)
	}
	if v := u32(data, 8); v != Version {
		return nil, fmt.Errorf("weights: file has layout version %d, this program reads version %d: use the file that belongs to this program", v, Version)
	}
	count := u32(data, 12)
	if count > maxSections {
		return nil, fmt.Errorf("weights: header claims %d sections, at most %d are possible: the file is damaged", count, maxSections)
	}
	end := headerSize + int(count)*entrySize
	if len(data) < end {
		return nil, fmt.Errorf("weights: file of %d bytes is shorter than its directory of %d sections: it is truncated", len(data), count)
	}
	config, err := parseConfig(data)
	if err != nil {
		return nil, err
	}
	f := &File{config: config, sections: make([]Section, 0, count), byName: make(map[string]int, count)}
	floor := uint64(end)
	for i := range int(count) {
		s, next, err := parseEntry(data, headerSize+i*entrySize, floor)
		if err != nil {
			return nil, err
		}
		if _, twice := f.byName[s.Name]; twice {
			return nil, fmt.Errorf("weights: section %q is listed twice: the file is damaged", s.Name)
		}
		f.byName[s.Name] = len(f.sections)
		f.sections = append(f.sections, s)
		floor = next
	}
	return f, nil
}

// Config returns the encoder's shape.
func (f *File) Config() Config { return f.config }

// Section returns the section of that name and whether there is one.
func (f *File) Section(name string) (Section, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Section{}, false
	}
	return f.sections[i], true
}

// Sections returns all sections in file order.
func (f *File) Sections() []Section {
	return append([]Section(nil), f.sections...)
}

// parseConfig reads and checks the twelve numbers behind the magic, the version and the section count.
func parseConfig(data string) (Config, error) {
	var c Config
	for i, field := range c.ints() {
		v := u32(data, 16+4*i)
		if field == nil { // Eps
			c.Eps = math.Float32frombits(v)
			continue
		}
		*field = int(v)
	}
	return c, c.validate()
}

// ints lists the fields in file order, nil standing for Eps.
func (c *Config) ints() [12]*int {
	return [12]*int{&c.Hidden, &c.Layers, &c.Heads, &c.FeedForward, &c.Vocab, &c.MaxPositions, &c.TypeVocab, nil, &c.BOS, &c.EOS, &c.PAD, &c.UNK}
}

func (c Config) validate() error {
	for _, field := range c.ints() {
		if field != nil && *field > maxDim {
			return fmt.Errorf("weights: shape %+v has a number above the limit of %d: the file is damaged", c, maxDim)
		}
	}
	switch {
	case c.Hidden <= 0 || c.Layers <= 0 || c.Heads <= 0 || c.FeedForward <= 0 || c.Vocab <= 0 || c.MaxPositions <= 0 || c.TypeVocab <= 0:
		return fmt.Errorf("weights: shape %+v has a size that is not positive: the file is damaged", c)
	case c.Hidden%c.Heads != 0:
		return fmt.Errorf("weights: %d heads do not divide a width of %d: the file is damaged", c.Heads, c.Hidden)
	case !(c.Eps >= 0 && c.Eps < 1):
		return fmt.Errorf("weights: eps %g is not in [0, 1): the file is damaged", c.Eps)
	}
	for _, id := range []int{c.BOS, c.EOS, c.PAD, c.UNK} {
		if id < 0 || id >= c.Vocab {
			return fmt.Errorf("weights: special id %d is outside the vocabulary of %d: the file is damaged", id, c.Vocab)
		}
	}
	return nil
}

// parseEntry reads the directory entry at offset at; the section must start at or after floor. It also returns the section's end.
func parseEntry(data string, at int, floor uint64) (Section, uint64, error) {
	raw := data[at : at+nameSize]
	name := strings.TrimRight(raw, "\x00")
	s := Section{Name: name, Kind: Kind(u32(data, at+32))}
	rows, cols := u32(data, at+36), u32(data, at+40)
	offset, size := u64(data, at+48), u64(data, at+56)
	s.Rows, s.Cols = int(rows), int(cols)
	if err := s.checkShape(); err != nil {
		return s, 0, err
	}
	if uint64(s.size()) != size {
		return s, 0, fmt.Errorf("weights: section %q holds %d bytes, its shape needs %d: the file is damaged", name, size, s.size())
	}
	total := uint64(len(data))
	switch {
	case offset%alignment != 0:
		return s, 0, fmt.Errorf("weights: section %q starts at %d, not a multiple of %d: the file is damaged", name, offset, alignment)
	case offset < floor:
		return s, 0, fmt.Errorf("weights: section %q starts at %d, inside of what comes before it: the file is damaged", name, offset)
	case offset > total || size > total-offset:
		return s, 0, fmt.Errorf("weights: section %q ends at %d, the file at %d: the file is truncated", name, offset+size, total)
	}
	s.Data = data[offset : offset+size]
	return s, offset + size, nil
}

// checkShape reports a name or shape that no container may hold.
func (s Section) checkShape() error {
	switch {
	case s.Name == "" || len(s.Name) > nameSize || strings.ContainsRune(s.Name, 0):
		return fmt.Errorf("weights: section name %q is empty, longer than %d bytes or holds a zero byte", s.Name, nameSize)
	case s.Kind != F32 && s.Kind != Q4 && s.Kind != Raw:
		return fmt.Errorf("weights: section %q is of unknown %v", s.Name, s.Kind)
	case s.Rows < 0 || s.Rows > maxDim || s.Cols < 0 || s.Cols > maxDim:
		return fmt.Errorf("weights: section %q has shape %d × %d, the limit of a side is %d", s.Name, s.Rows, s.Cols, maxDim)
	case s.Kind == Raw && s.Rows != 1:
		return fmt.Errorf("weights: raw section %q has %d rows, want 1", s.Name, s.Rows)
	case s.Kind == Q4 && s.Cols%BlockSize != 0:
		return fmt.Errorf("weights: section %q has rows of %d weights, not a multiple of the block size %d", s.Name, s.Cols, BlockSize)
	}
	return nil
}

// size is the number of bytes that the section's kind and shape need.
func (s Section) size() int64 {
	rows, cols := int64(s.Rows), int64(s.Cols)
	switch s.Kind {
	case F32:
		return rows * cols * 4
	case Q4:
		return rows * (cols / BlockSize) * blockBytes
	}
	return cols
}

func u32(s string, at int) uint32 {
	_ = s[at+3]
	return uint32(s[at]) | uint32(s[at+1])<<8 | uint32(s[at+2])<<16 | uint32(s[at+3])<<24
}

func u64(s string, at int) uint64 {
	return uint64(u32(s, at)) | uint64(u32(s, at+4))<<32
}

// put32 appends v in little endian order.
func put32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }
