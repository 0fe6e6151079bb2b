package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit/internal/sharedtest"
	"github.com/exhibit-rag/exhibit/internal/weights"
)

// modelFile is a SentencePiece model file with nothing but a character map and, around it, fields of other kinds.
func modelFile(charsmap string) []byte {
	bytesField := func(number uint64, value []byte) []byte {
		b := binary.AppendUvarint(nil, number<<3|2)
		b = binary.AppendUvarint(b, uint64(len(value)))
		return append(b, value...)
	}
	normalizer := append(bytesField(1, []byte("nmt_nfkc")), bytesField(2, []byte(charsmap))...)
	normalizer = append(normalizer, 3<<3, 1) // a number
	model := append(bytesField(1, []byte("a piece")), 9<<3|5, 0, 0, 0, 0, 9<<3|1, 0, 0, 0, 0, 0, 0, 0, 0)
	return append(model, bytesField(3, normalizer)...)
}

// TestConversionGivesTheCommittedFile converts the source again, with the character map that the committed file holds.
func TestConversionGivesTheCommittedFile(t *testing.T) {
	source := sharedtest.Dir(t, "models", "multilingual-e5-small", "e5-small-q4.bin")
	committed, err := os.ReadFile(filepath.Join("..", "e5small.bin"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := weights.Open(string(committed))
	if err != nil {
		t.Fatal(err)
	}
	charsmap, ok := f.Section("tok.charsmap")
	if !ok {
		t.Fatal("the committed file has no character map")
	}
	dir := t.TempDir()
	model, out := filepath.Join(dir, "m.model"), filepath.Join(dir, "out.bin")
	if err := os.WriteFile(model, modelFile(charsmap.Data), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(source, model, out); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, committed) {
		t.Errorf("%d bytes, not those of the committed file of %d", len(again), len(committed))
	}
}

// tinySource is a source file of two pieces, four marks and one tensor of each kind.
func tinySource() []byte {
	var b []byte
	u32 := func(values ...uint32) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
	u64 := func(v uint64) { b = binary.LittleEndian.AppendUint64(b, v) }
	b = append(b, "NE5W\x01\x00\x00\x00"...)
	u32(32, 1, 4, 64, 6, 8, 2, math.Float32bits(1e-12), 32)
	u32(6, 0, 2, 1, 3)
	const blob = "<s><pad></s><unk>abc"
	u64(uint64(len(blob)))
	u32(0, 3, 8, 12, 17, 18, 20)
	for _, s := range []float32{0, 0, 0, 0, -1, -2} {
		u32(math.Float32bits(s))
	}
	b = append(b, blob...)
	u32(1, 6)
	b = append(b, "skipme"...)
	u32(2)
	data := len(b) + 2*(2+1+4+8+8) + len("emb.ln.w") + len("emb.word")
	tensor := func(name string, kind byte, elements uint32, size int) {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
		b = append(append(b, name...), kind)
		u32(elements)
		u64(uint64(data))
		u64(uint64(size))
		data += size
	}
	tensor("emb.ln.w", 0, 32, 128)
	tensor("emb.word", 1, 6*32, 6*18)
	return append(append(b, bytes.Repeat([]byte{1, 2, 3, 4}, 32)...), bytes.Repeat([]byte{0, 0x3c, 9}, 6*6)...)
}

func TestReadSource(t *testing.T) {
	s, err := readSource(tinySource())
	if err != nil {
		t.Fatal(err)
	}
	if s.config.Hidden != 32 || s.config.EOS != 2 || s.config.PAD != 1 || s.config.UNK != 3 || s.config.TypeVocab != 2 || s.config.Eps != 1e-12 {
		t.Errorf("config %+v", s.config)
	}
	if got := strings.Join(s.pieces, " "); got != "<s> <pad> </s> <unk> a bc" {
		t.Errorf("pieces %q", got)
	}
	if len(s.tensors) != 2 || s.tensors[0].Kind != weights.F32 || s.tensors[1].Kind != weights.Q4 || s.tensors[1].Rows != 6 || s.tensors[1].Cols != 32 {
		t.Errorf("tensors %+v", s.tensors)
	}
	if len(s.tensors[1].Data) != 108 || s.tensors[1].Data[1] != 0x3c {
		t.Errorf("data of the second tensor: %x", s.tensors[1].Data)
	}
}

func TestReadSourceRefuses(t *testing.T) {
	whole := tinySource()
	for n := range whole {
		if _, err := readSource(whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were read without an error", n, len(whole))
		}
	}
	unknown := bytes.Replace(whole, []byte("emb.ln.w"), []byte("emb.xx.w"), 1)
	if _, err := readSource(unknown); err == nil || !strings.Contains(err.Error(), `unknown tensor "emb.xx.w"`) {
		t.Errorf("unknown tensor: %v", err)
	}
	shape := bytes.Replace(whole, []byte("emb.word"), []byte("emb.type"), 1)
	if _, err := readSource(shape); err == nil || !strings.Contains(err.Error(), "192 elements, want 2 × 32") {
		t.Errorf("wrong shape: %v", err)
	}
}

func TestCharsMap(t *testing.T) {
	model := modelFile("the map")
	if got, err := charsMap(model); err != nil || got != "the map" {
		t.Errorf("got %q, %v", got, err)
	}
	for n := range model {
		if got, err := charsMap(model[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes gave the map %q", n, len(model), got)
		}
	}
}
