package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/exhibit-rag/exhibit/internal/weights"
)

// source is what the source file holds. Its layout, little endian:
//
//	magic 4 bytes, version u32
//	hidden, layers, heads, feed-forward, vocabulary, positions, types: 7 × i32; eps f32; block size i32
//	pieces n, bos, eos, pad, unk: 5 × i32; blob length u64; offsets (n+1) × u32; scores n × f32; blob
//	character map (not used here, it knows single code points only): count i32, bytes u32, that many bytes
//	directory: count i32; per tensor name length u16, name, kind u8 (0 f32, 1 4-bit), elements u32, offset u64, bytes u64
type source struct {
	config  weights.Config
	pieces  []string
	scores  []float32
	tensors []weights.Section
}

// cursor reads numbers one after another and remembers that the data ran out.
type cursor struct {
	data  []byte
	at    int
	short bool
}

func (c *cursor) take(n int) []byte {
	if c.short || n < 0 || n > len(c.data)-c.at {
		c.short = true
		return make([]byte, min(max(n, 0), 8))
	}
	b := c.data[c.at : c.at+n]
	c.at += n
	return b
}

func (c *cursor) u16() int          { return int(binary.LittleEndian.Uint16(c.take(2))) }
func (c *cursor) i32() int          { return int(int32(binary.LittleEndian.Uint32(c.take(4)))) }
func (c *cursor) u32() int          { return int(binary.LittleEndian.Uint32(c.take(4))) }
func (c *cursor) u64() int          { return int(binary.LittleEndian.Uint64(c.take(8))) }
func (c *cursor) f32() float32      { return math.Float32frombits(binary.LittleEndian.Uint32(c.take(4))) }
func (c *cursor) text(n int) string { return string(c.take(n)) }

var errShort = errors.New("the file is truncated")

func readSource(data []byte) (*source, error) {
	c := &cursor{data: data}
	c.take(8)
	s := &source{}
	cfg := &s.config
	for _, field := range []*int{&cfg.Hidden, &cfg.Layers, &cfg.Heads, &cfg.FeedForward, &cfg.Vocab, &cfg.MaxPositions, &cfg.TypeVocab} {
		*field = c.i32()
	}
	cfg.Eps = c.f32()
	if block := c.i32(); block != weights.BlockSize {
		return nil, fmt.Errorf("block size %d, want %d", block, weights.BlockSize)
	}
	n := c.i32()
	for _, field := range []*int{&cfg.BOS, &cfg.EOS, &cfg.PAD, &cfg.UNK} {
		*field = c.i32()
	}
	if err := s.readPieces(c, n); err != nil {
		return nil, err
	}
	c.i32()
	c.take(c.u32())
	for range c.i32() {
		t, err := s.readTensor(c)
		if err != nil {
			return nil, err
		}
		s.tensors = append(s.tensors, t)
	}
	if c.short {
		return nil, errShort
	}
	return s, nil
}

func (s *source) readPieces(c *cursor, n int) error {
	blob := c.u64()
	if n <= 0 || n > len(c.data)/8 {
		return fmt.Errorf("%d pieces", n)
	}
	offsets := make([]int, n+1)
	for i := range offsets {
		offsets[i] = c.u32()
	}
	for range n {
		s.scores = append(s.scores, c.f32())
	}
	text := c.text(blob)
	if c.short {
		return errShort
	}
	for i := range n {
		from, to := offsets[i], offsets[i+1]
		if from > to || to > len(text) {
			return fmt.Errorf("piece %d lies at %d to %d of %d bytes", i, from, to, len(text))
		}
		s.pieces = append(s.pieces, text[from:to])
	}
	return nil
}

func (s *source) readTensor(c *cursor) (weights.Section, error) {
	t := weights.Section{Name: c.text(c.u16()), Kind: weights.F32}
	if c.take(1)[0] == 1 {
		t.Kind = weights.Q4
	}
	elements, offset, size := c.u32(), c.u64(), c.u64()
	if c.short || offset < 0 || size < 0 || offset > len(c.data)-size {
		return t, errShort
	}
	var err error
	if t.Rows, t.Cols, err = s.shape(t.Name); err != nil {
		return t, err
	}
	if t.Rows*t.Cols != elements {
		return t, fmt.Errorf("tensor %q has %d elements, want %d × %d", t.Name, elements, t.Rows, t.Cols)
	}
	t.Data = string(c.data[offset : offset+size])
	return t, nil
}

// shape says what shape the tensor of that name has; matrices are [out, in].
func (s *source) shape(name string) (rows, cols int, err error) {
	c := s.config
	switch name {
	case "emb.word":
		return c.Vocab, c.Hidden, nil
	case "emb.pos":
		return c.MaxPositions, c.Hidden, nil
	case "emb.type":
		return c.TypeVocab, c.Hidden, nil
	case "emb.ln.w", "emb.ln.b":
		return 1, c.Hidden, nil
	}
	layer, part, _ := strings.Cut(name, ".")
	if n, err := strconv.Atoi(strings.TrimPrefix(layer, "l")); err != nil || n < 0 || n >= c.Layers {
		return 0, 0, fmt.Errorf("unknown tensor %q", name)
	}
	switch part {
	case "q.w", "k.w", "v.w", "ao.w":
		return c.Hidden, c.Hidden, nil
	case "fi.w":
		return c.FeedForward, c.Hidden, nil
	case "fo.w":
		return c.Hidden, c.FeedForward, nil
	case "fi.b":
		return 1, c.FeedForward, nil
	case "q.b", "k.b", "v.b", "ao.b", "fo.b", "aln.w", "aln.b", "oln.w", "oln.b":
		return 1, c.Hidden, nil
	}
	return 0, 0, fmt.Errorf("unknown tensor %q", name)
}

// charsMap finds the precompiled character map in a SentencePiece model file: field 2, bytes, of field 3, the normaliser's
// settings, of the protocol buffer ModelProto (sentencepiece_model.proto).
func charsMap(model []byte) (string, error) {
	normalizer, ok := field(model, 3)
	if !ok {
		return "", errors.New("no normaliser settings: not a SentencePiece model file")
	}
	m, ok := field(normalizer, 2)
	if !ok || len(m) == 0 {
		return "", errors.New("no precompiled character map")
	}
	return string(m), nil
}

// field returns the last length-delimited field of that number in a protocol buffer message.
func field(message []byte, number uint64) (value []byte, ok bool) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return nil, false
		}
		message = message[n:]
		size := 0
		switch tag & 7 {
		case 0:
			if _, size = binary.Uvarint(message); size <= 0 {
				return nil, false
			}
		case 1:
			size = 8
		case 2:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return nil, false
			}
			message, size = message[n:], int(length)
			if tag>>3 == number {
				value, ok = message[:size], true
			}
		case 5:
			size = 4
		default:
			return nil, false
		}
		if size > len(message) {
			return nil, false
		}
		message = message[size:]
	}
	return value, ok
}
