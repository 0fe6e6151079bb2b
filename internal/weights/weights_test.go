package weights

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func tinyConfig() Config {
	return Config{Hidden: 64, Layers: 2, Heads: 4, FeedForward: 96, Vocab: 3, MaxPositions: 8, TypeVocab: 1, Eps: 1e-12, BOS: 0, EOS: 2, PAD: 1, UNK: 2}
}

// q4Block is one block with the scale's bits and the sixteen bytes of weights counting up from first.
func q4Block(scale uint16, first byte) string {
	b := binary.LittleEndian.AppendUint16(nil, scale)
	for j := range byte(16) {
		b = append(b, first+j)
	}
	return string(b)
}

func tinySections() []Section {
	var f []byte
	for _, v := range []float32{1.5, -2, 0, float32(math.Pi)} {
		f = binary.LittleEndian.AppendUint32(f, math.Float32bits(v))
	}
	return []Section{
		{Name: "emb.ln.w", Kind: F32, Rows: 2, Cols: 2, Data: string(f)},
		{Name: "emb.word", Kind: Q4, Rows: 2, Cols: 64, Data: q4Block(0x3c00, 0) + q4Block(0xbc00, 16) + q4Block(0x0001, 200) + q4Block(0x7bff, 90)},
		{Name: "tok.raw", Kind: Raw, Rows: 1, Cols: 5, Data: "bytes"},
		{Name: "empty", Kind: Raw, Rows: 1},
	}
}

func tinyFile(t testing.TB) string {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(&buf, tinyConfig(), tinySections()); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestWriteThenOpenGivesTheSameBack(t *testing.T) {
	data := tinyFile(t)
	f, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tinyConfig(), f.Config()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(tinySections(), f.Sections()); diff != "" {
		t.Error(diff)
	}
	for i := range tinySections() {
		if offset := binary.LittleEndian.Uint64([]byte(data[headerSize+i*entrySize+48:])); offset%64 != 0 {
			t.Errorf("section %d starts at %d", i, offset)
		}
	}
	if _, ok := f.Section("absent"); ok {
		t.Error("a section that is not there was found")
	}
}

func TestDequantRowFollowsTheFormula(t *testing.T) {
	s := tinySections()[1]
	scales := []float32{1, -1, 0x1p-24, 65504}
	dst := make([]float32, 64)
	for row := range 2 {
		s.DequantRow(row, dst)
		for i, got := range dst {
			block := row*2 + i/32
			b := s.Data[block*18+2+i%16]
			q := int(b & 15)
			if i%32 >= 16 {
				q = int(b >> 4)
			}
			if want := float32(q-8) * scales[block]; got != want {
				t.Fatalf("row %d weight %d: got %g, want %g", row, i, got, want)
			}
		}
		if diff := cmp.Diff(s.Float32s()[row*64:row*64+64], dst); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFloat32sOfF32(t *testing.T) {
	s := tinySections()[0]
	if diff := cmp.Diff([]float32{1.5, -2, 0, float32(math.Pi)}, s.Float32s()); diff != "" {
		t.Error(diff)
	}
	dst := make([]float32, 2)
	s.DequantRow(1, dst)
	if diff := cmp.Diff([]float32{0, float32(math.Pi)}, dst); diff != "" {
		t.Error(diff)
	}
}

// TestHalfToFloat32IsExact compares every finite half with its value by definition: (−1)^s × 2^(e−15) × (1 + m/1024), and
// 2^−14 × m/1024 where e is 0.
func TestHalfToFloat32IsExact(t *testing.T) {
	for h := range 1 << 16 {
		e, m := h>>10&31, float64(h&1023)/1024
		if e == 31 {
			continue
		}
		want := math.Ldexp(1+m, e-15)
		if e == 0 {
			want = math.Ldexp(m, -14)
		}
		if h>>15 == 1 {
			want = -want
		}
		got := halfToFloat32(uint16(h))
		if float64(got) != want || math.Signbit(float64(got)) != (h>>15 == 1) {
			t.Fatalf("half %04x: got %g, want %g", h, got, want)
		}
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	good := tinyFile(t)
	patch := func(at int, bytes ...byte) string { return good[:at] + string(bytes) + good[at+len(bytes):] }
	entry := func(i, field int) int { return headerSize + i*entrySize + field }
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "not a weights file"},
		{"foreign", strings.Repeat("x", 500), "not a weights file"},
		{"newer", patch(8, 2), "layout version 2"},
		{"many sections", patch(12, 0, 0, 0, 1), "claims 16777216 sections"},
		{"directory cut", good[:headerSize+entrySize], "truncated"},
		{"data cut", good[:len(good)-20], "truncated"},
		{"no layers", patch(20, 0, 0, 0, 0), "not positive"},
		{"huge", patch(16, 255, 255, 255, 255), "above the limit"},
		{"heads", patch(24, 5), "do not divide"},
		{"eps", patch(44, 0, 0, 0xc0, 0x7f), "eps NaN"},
		{"special id", patch(48, 3), "outside the vocabulary"},
		{"empty name", patch(entry(0, 0), make([]byte, 32)...), "section name"},
		{"same name", patch(entry(1, 0), []byte("emb.ln.w")...), "twice"},
		{"kind", patch(entry(1, 32), 9), "unknown kind 9"},
		{"shape", patch(entry(0, 36), 3), "its shape needs 24"},
		{"block", patch(entry(1, 40), 65), "block size"},
		{"raw rows", patch(entry(2, 36), 2), "raw section"},
		{"unaligned", patch(entry(1, 48), 1), "not a multiple"},
		{"overlap", patch(entry(1, 48), 64, 0), "inside of what comes before"},
		{"outside", patch(entry(3, 48+4), 1), "truncated"},
		{"wraps", patch(entry(3, 48), 0xc0, 255, 255, 255, 255, 255, 255, 255), "truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	config := tinyConfig()
	config.Heads = 3
	if err := Write(&bytes.Buffer{}, config, nil); err == nil {
		t.Error("heads that do not divide the width were written")
	}
	for _, c := range []struct {
		name string
		s    Section
	}{
		{"short data", Section{Name: "a", Kind: F32, Rows: 1, Cols: 2, Data: "1234"}},
		{"infinite scale", Section{Name: "a", Kind: Q4, Rows: 1, Cols: 32, Data: q4Block(0x7c00, 0)}},
		{"long name", Section{Name: strings.Repeat("n", 33), Kind: Raw, Rows: 1}},
		{"negative", Section{Name: "a", Kind: F32, Rows: -1, Cols: -1, Data: "1234"}},
	} {
		var buf bytes.Buffer
		if err := Write(&buf, tinyConfig(), []Section{c.s}); err == nil || buf.Len() > 0 {
			t.Errorf("%s: error %v after %d bytes", c.name, err, buf.Len())
		}
	}
	twice := tinySections()[:1]
	if err := Write(&bytes.Buffer{}, tinyConfig(), append(twice, twice...)); err == nil {
		t.Error("a name was written twice")
	}
}

func TestWriteReportsTheWritersError(t *testing.T) {
	whole := len(tinyFile(t))
	for n := range whole {
		if err := Write(&shortWriter{left: n}, tinyConfig(), tinySections()); err == nil {
			t.Fatalf("no error after %d of %d bytes", n, whole)
		}
	}
}

// shortWriter takes left bytes and then fails.
type shortWriter struct{ left int }

func (w *shortWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return w.left, bytes.ErrTooLarge
	}
	w.left -= len(p)
	return len(p), nil
}

func TestOpenSurvivesAnyDamage(t *testing.T) {
	good := tinyFile(t)
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(good)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			b[rapid.IntRange(0, headerSize+4*entrySize-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		checkOpened(t, string(b[:rapid.IntRange(0, len(b)).Draw(t, "length")]))
	})
}

// checkOpened reads every value of what Open accepts.
func checkOpened(t interface{ Fatalf(string, ...any) }, data string) {
	f, err := Open(data)
	if err != nil {
		return
	}
	for _, s := range f.Sections() {
		if s.Kind != Raw && s.Rows*s.Cols < 1<<16 && len(s.Float32s()) != s.Rows*s.Cols {
			t.Fatalf("section %q has %d values, its shape %d × %d", s.Name, len(s.Float32s()), s.Rows, s.Cols)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(tinyFile(f))
	f.Fuzz(func(t *testing.T, data string) { checkOpened(t, data) })
}

func BenchmarkDequantRow(b *testing.B) {
	s := Section{Name: "w", Kind: Q4, Rows: 1, Cols: 384, Data: strings.Repeat(q4Block(0x2000, 7), 12)}
	dst := make([]float32, 384)
	for b.Loop() {
		s.DequantRow(0, dst)
	}
}
