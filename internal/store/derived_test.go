package store

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/exhibit-rag/exhibit/internal/lexical"
)

// derivedFile returns the bytes of a small derived file.
func derivedFile(tb testing.TB) []byte {
	tb.Helper()
	dim := 2
	g := &segment{ids: []int64{3, 5}, docs: []int64{1, 1}, offs: []uint64{0, 2, 4}, keys: []byte("akbk"), dim: dim}
	if err := g.setVectors([]float32{1, 0, 0, 0}, []uint64{1}); err != nil {
		tb.Fatal(err)
	}
	lb := lexical.NewBuilder()
	lb.Add([]string{"one", "two"})
	lb.Add([]string{"two"})
	var post bytes.Buffer
	if err := lb.Write(&post); err != nil {
		tb.Fatal(err)
	}
	if err := g.setPostings(post.Bytes()); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "x")
	if err := writeDerived(path, Hash{1}, merge([]part{{segment: g}}, dim)); err != nil {
		tb.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// aligned copies b to where numbers may lie.
func aligned(b []byte) []byte {
	words := make([]uint64, (len(b)+7)/8+1)
	out := raw(words)[:len(b):len(b)]
	copy(out, b)
	return out
}

// FuzzDerived opens damaged files whose sums were made to fit again, and uses what opens: no input may panic or read outside the file.
func FuzzDerived(f *testing.F) {
	f.Add(derivedFile(f))
	f.Add([]byte(derivedMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		m := aligned(b)
		if len(m) >= derivedHeader {
			crc := crc32.New(castagnoli())
			for _, i := range []int{secIDs, secDocs, secOffs, secKeys, secHas} {
				off, n := binary.LittleEndian.Uint64(m[56+16*i:]), binary.LittleEndian.Uint64(m[64+16*i:])
				if off <= uint64(len(m)) && n <= uint64(len(m))-off {
					crc.Write(m[off : off+n])
				}
			}
			binary.LittleEndian.PutUint32(m[168:], crc.Sum32())
			binary.LittleEndian.PutUint32(m[derivedHeader-4:], crc32.Checksum(m[:derivedHeader-4], castagnoli()))
		}
		g, err := openDerived(m, Hash{1})
		if err != nil {
			return
		}
		q := lexical.NewQuery([]string{"one", "two"})
		for _, h := range g.lex.Search(q, g.lex.Stats(q, nil), 10, nil, g.less) {
			_ = g.key(h.Ord)
		}
		if g.mat != nil {
			g.mat.Search(make([]float32, g.dim), 10, nil, g.less)
		}
	})
}

func TestDerivedFileRoundTrip(t *testing.T) {
	g, err := openDerived(aligned(derivedFile(t)), Hash{1})
	if err != nil {
		t.Fatal(err)
	}
	if g.n() != 2 || g.ids[1] != 5 || string(g.key(1)) != "bk" || !g.has.Has(0) || g.has.Has(1) || g.lex.Len() != 2 {
		t.Errorf("segment %+v", g)
	}
	if score, ok := g.mat.Score([]float32{1, 0}, 0); !ok || score != 1 {
		t.Errorf("score %v %v", score, ok)
	}
	if _, err := openDerived(aligned(derivedFile(t)), Hash{2}); err == nil {
		t.Error("another identity opens")
	}
}
