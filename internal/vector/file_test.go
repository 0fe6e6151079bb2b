package vector

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// save writes vectors to a file of a fresh folder.
func save(t testing.TB, dim int, stamp uint64, vectors [][]float32) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, dim, len(vectors), stamp, slices.Values(vectors)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "vectors")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWriteThenLoad(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dim := rapid.IntRange(1, 20).Draw(rt, "dim")
		vectors := make([][]float32, rapid.IntRange(0, 130).Draw(rt, "rows"))
		for i := range vectors {
			if rapid.Bool().Draw(rt, "has") {
				vectors[i] = units(1, dim, uint64(i))
			}
		}
		m, err := Load(save(t, dim, 77, vectors))
		if err != nil {
			rt.Fatal(err)
		}
		if m.Dim() != dim || m.Rows() != len(vectors) || m.Stamp() != 77 {
			rt.Fatalf("dim %d, rows %d, stamp %d", m.Dim(), m.Rows(), m.Stamp())
		}
		count := 0
		for i, want := range vectors {
			got, ok := m.Row(i)
			if ok != (want != nil) || !slices.Equal(got, want) {
				rt.Fatalf("row %d: %v, %v; want %v", i, got, ok, want)
			}
			if ok {
				count++
			}
		}
		if m.Count() != count {
			rt.Fatalf("Count = %d, want %d", m.Count(), count)
		}
		if err := m.Close(); err != nil {
			rt.Fatal(err)
		}
		if _, ok := m.Row(0); ok || m.Close() != nil {
			rt.Fatal("a closed matrix has rows, or is not closed twice")
		}
	})
}

func TestLoadRefuses(t *testing.T) {
	good, err := os.ReadFile(save(t, 3, 1, [][]float32{{1, 0, 0}, nil, {0, 1, 0}}))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, b byte) []byte { out := slices.Clone(good); out[at] ^= b; return out }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "shorter than a header"},
		{"cut in the header", good[:40], "shorter than a header"},
		{"foreign", changed(0, 1), "does not begin with"},
		{"newer", changed(8, 2), "has version 3"},
		{"other rows", changed(16, 1), "damaged header"},
		{"other checksum", changed(60, 1), "damaged header"},
		{"cut", good[:len(good)-1], "bytes, its 3 rows of 3 values need"},
		{"longer", append(slices.Clone(good), 0), "bytes, its 3 rows of 3 values need"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "vectors")
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(path)
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want an error with %q and the path", err, c.want)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	rows := [][]float32{{1, 0}, {0, 1}}
	for _, c := range []struct {
		name      string
		dim, rows int
		want      string
	}{
		{"no dimension", 0, 2, "dimensions are 1 to"},
		{"other dimension", 3, 2, "row 0 has 2 values, not 3"},
		{"too few", 2, 3, "2 rows, 3 were announced"},
		{"too many", 2, 1, "more than the 1 rows"},
	} {
		err := Write(io.Discard, c.dim, c.rows, 0, slices.Values(rows))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	r, w := io.Pipe()
	r.CloseWithError(io.ErrClosedPipe)
	if err := Write(w, 2, 2, 0, slices.Values(rows)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("failing writer: %v", err)
	}
}

// FuzzHeader: whatever a header says, it is refused or describes exactly the file's size.
func FuzzHeader(f *testing.F) {
	good, err := os.ReadFile(save(f, 3, 1, [][]float32{{1, 0, 0}, nil}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:headerSize], int64(len(good)))
	f.Add(make([]byte, headerSize), int64(0))
	huge := bytes.Repeat([]byte{0xff}, headerSize)
	copy(huge, good[:12])
	f.Add(huge, int64(1)<<62)
	f.Fuzz(func(t *testing.T, head []byte, size int64) {
		if len(head) != headerSize {
			return
		}
		for _, seal := range []bool{false, true} {
			if seal { // lets the rest of the header through
				c := checksum(head)
				head = append(slices.Clone(head[:60]), byte(c), byte(c>>8), byte(c>>16), byte(c>>24))
			}
			dim, rows, err := parseHeader(head, size)
			if err != nil {
				if !errors.Is(err, ErrFormat) {
					t.Fatalf("error %v", err)
				}
				continue
			}
			if dim < 1 || rows < 0 || int64(headerSize+4*dim*rows+(rows+63)/64*8) != size {
				t.Fatalf("%d rows of %d values in %d bytes", rows, dim, size)
			}
		}
	})
}

func TestFloatsInPlaceAndCopiedAgree(t *testing.T) {
	b := make([]byte, 4*10+1)
	for i := range b {
		b[i] = byte(i * 7)
	}
	for at := range 2 {
		if got, want := floats(b[at:at+40]), copied(b[at:at+40]); !slices.Equal(got, want) {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
}
