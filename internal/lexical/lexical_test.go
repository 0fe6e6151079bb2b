package lexical

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit/internal/bitset"
)

func build(t testing.TB, docs [][]string) []byte {
	t.Helper()
	b := NewBuilder()
	for _, d := range docs {
		b.Add(d)
	}
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(t testing.TB, data []byte) *Segment {
	t.Helper()
	s, err := OpenSegment(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Fatal(args ...any)
}

func segmentOf(t tb, docs [][]string) *Segment {
	b := NewBuilder()
	for _, d := range docs {
		b.Add(d)
	}
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSegment(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// collections draws documents of few distinct terms, often more of them than a block has.
func collections() *rapid.Generator[[][]string] {
	return rapid.Custom(func(t *rapid.T) [][]string {
		vocabulary := []string{"", "a", "b", "c", "ab", "ß", "的", "z\x00", strings.Repeat("long", 40)}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		docs := make([][]string, rapid.SampledFrom([]int{0, 1, 2, 7, 127, 128, 129, 300, 513}).Draw(t, "documents"))
		for i := range docs {
			for range r.IntN(12) {
				docs[i] = append(docs[i], vocabulary[int(float64(len(vocabulary))*math.Pow(r.Float64(), 2))])
			}
		}
		return docs
	})
}

func questions() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "ab", "ß", "的", "none", "z\x00"}), 0, 8)
}

func sets(n int) *rapid.Generator[bitset.Set] {
	return rapid.Custom(func(t *rapid.T) bitset.Set {
		if rapid.Bool().Draw(t, "all") {
			return nil
		}
		s := bitset.New(n)
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "members"), 2))
		for i := range n {
			if r.Float64() < share {
				s.Add(i)
			}
		}
		return s
	})
}

// naive scores every document from the formula alone, over the statistics of the visible ones.
func naive(docs [][]string, question []string, visible bitset.Set) []float64 {
	n, total := 0.0, 0.0
	for i, d := range docs {
		if visible.Has(i) {
			n++
			total += float64(len(d))
		}
	}
	scores := make([]float64, len(docs))
	for i, d := range docs {
		for _, t := range question {
			tf, df := 0.0, 0.0
			for _, x := range d {
				if x == t {
					tf++
				}
			}
			for j, other := range docs {
				if visible.Has(j) && slices.Contains(other, t) {
					df++
				}
			}
			if tf > 0 {
				idf := math.Log(1 + (n-df+0.5)/(df+0.5))
				scores[i] += idf * tf * (1.2 + 1) / (tf + 1.2*(1-0.75+0.75*float64(len(d))/(total/n)))
			}
		}
	}
	return scores
}

func TestSearchIsTextbookBM25(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs, question := collections().Draw(t, "docs"), questions().Draw(t, "question")
		visible := sets(len(docs)).Draw(t, "visible")
		in := visible.And(sets(len(docs)).Draw(t, "filter"))
		s, q := segmentOf(t, docs), NewQuery(question)
		hits := s.Search(q, s.Stats(q, visible), len(docs)+5, in, nil)
		want := naive(docs, question, visible)
		found := map[int]bool{}
		for i, h := range hits {
			found[h.Ord] = true
			if !in.Has(h.Ord) {
				t.Errorf("document %d is not in the set", h.Ord)
			}
			if math.Abs(h.Score-want[h.Ord]) > 1e-12*want[h.Ord] {
				t.Errorf("document %d scores %v, want %v", h.Ord, h.Score, want[h.Ord])
			}
			if i > 0 && (hits[i-1].Score < h.Score || hits[i-1].Score == h.Score && hits[i-1].Ord >= h.Ord) {
				t.Errorf("hits %d and %d are not in order: %v", i-1, i, hits)
			}
		}
		for ord, score := range want {
			if in.Has(ord) && (score > 0) != found[ord] {
				t.Errorf("document %d scores %v, found: %v", ord, score, found[ord])
			}
		}
	})
}

func TestStatsOverASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := collections().Draw(t, "docs")
		in := sets(len(docs)).Draw(t, "in")
		s, q := segmentOf(t, docs), NewQuery(questions().Draw(t, "question"))
		want := Stats{DF: make([]int, len(q.Terms()))}
		for i, d := range docs {
			if !in.Has(i) {
				continue
			}
			want.N++
			want.Total += uint64(len(d))
			for j, term := range q.Terms() {
				if slices.Contains(d, term) {
					want.DF[j]++
				}
			}
		}
		if diff := gocmp.Diff(want, s.Stats(q, in)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestFewerHitsAreAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := collections().Draw(t, "docs")
		s, q := segmentOf(t, docs), NewQuery(questions().Draw(t, "question"))
		descending := func(a, b int) bool { return a > b }
		st := s.Stats(q, nil)
		all := s.Search(q, st, len(docs), nil, descending)
		k := rapid.IntRange(-1, len(docs)+1).Draw(t, "k")
		want := all[:min(max(k, 0), len(all))]
		if got := s.Search(q, st, k, nil, descending); !slices.Equal(got, want) {
			t.Errorf("k %d: got %v, want %v", k, got, want)
		}
	})
}

func TestScoresAreThoseOfSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := collections().Draw(t, "docs")
		s, q := segmentOf(t, docs), NewQuery(questions().Draw(t, "question"))
		visible := sets(len(docs)).Draw(t, "visible")
		st := s.Stats(q, visible)
		want := map[int]float64{}
		for _, h := range s.Search(q, st, len(docs), nil, nil) {
			want[h.Ord] = h.Score
		}
		ords := rapid.SliceOfN(rapid.IntRange(-2, len(docs)+2), 0, 50).Draw(t, "ords")
		for i, score := range s.Scores(q, st, ords) {
			if score != want[ords[i]] {
				t.Errorf("document %d: %v, Search gives %v", ords[i], score, want[ords[i]])
			}
		}
	})
}

// hit names a document by its place in the collection.
func searchAll(q Query, segments []*Segment, names [][]int, visible func(int) bool) map[int]float64 {
	var st Stats
	var in []bitset.Set
	for i, s := range segments {
		set := bitset.New(s.Len())
		for ord, name := range names[i] {
			if visible(name) {
				set.Add(ord)
			}
		}
		in = append(in, set)
		st.Add(s.Stats(q, set))
	}
	scores := map[int]float64{}
	for i, s := range segments {
		for _, h := range s.Search(q, st, s.Len(), in[i], nil) {
			scores[names[i][h.Ord]] = h.Score
		}
	}
	return scores
}

// TestLayoutChangesNoBit: documents shuffled and dealt to segments, some dropped and the rest merged, score the same to the bit.
func TestLayoutChangesNoBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := collections().Draw(t, "docs")
		q := NewQuery(questions().Draw(t, "question"))
		live := sets(len(docs)).Draw(t, "live")
		all := make([]int, len(docs))
		for i := range all {
			all[i] = i
		}
		want := searchAll(q, []*Segment{segmentOf(t, docs)}, [][]int{all}, live.Has)

		order := rapid.Permutation(all).Draw(t, "order")
		cut := rapid.IntRange(0, len(docs)).Draw(t, "cut")
		names := [][]int{order[:cut], {}, order[cut:]}
		var segments []*Segment
		var parts []Part
		var kept [][]string
		var keptNames []int
		for _, part := range names {
			var of [][]string
			keep := bitset.New(len(part))
			for ord, name := range part {
				of = append(of, docs[name])
				if live.Has(name) {
					keep.Add(ord)
					kept, keptNames = append(kept, docs[name]), append(keptNames, name)
				}
			}
			segments = append(segments, segmentOf(t, of))
			parts = append(parts, Part{segments[len(segments)-1], keep})
		}
		if diff := gocmp.Diff(want, searchAll(q, segments, names, live.Has)); diff != "" {
			t.Errorf("dealt to segments (-one +several):\n%s", diff)
		}
		var merged, rebuilt bytes.Buffer
		if err := Merge(&merged, parts); err != nil {
			t.Fatal(err)
		}
		b := NewBuilder()
		for _, d := range kept {
			b.Add(d)
		}
		if err := b.Write(&rebuilt); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(merged.Bytes(), rebuilt.Bytes()) {
			t.Error("merged and built from the kept documents differ")
		}
		s, err := OpenSegment(merged.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, searchAll(q, []*Segment{s}, [][]int{keptNames}, live.Has)); diff != "" {
			t.Errorf("merged (-before +after):\n%s", diff)
		}
	})
}

func TestMergeKeepsAllWithoutASet(t *testing.T) {
	docs := [][]string{{"a", "b"}, {"b"}, {}}
	s := open(t, build(t, docs))
	var out bytes.Buffer
	if err := Merge(&out, []Part{{Segment: s}, {Segment: s}}); err != nil {
		t.Fatal(err)
	}
	if want := build(t, append(slices.Clone(docs), docs...)); !bytes.Equal(out.Bytes(), want) {
		t.Error("not the same as built from both")
	}
	out.Reset()
	if err := Merge(&out, nil); err != nil || open(t, out.Bytes()).Len() != 0 {
		t.Errorf("merge of nothing: %v", err)
	}
}

func TestRepeatedTermsOfAQuestionCount(t *testing.T) {
	s := open(t, build(t, [][]string{{"a", "b"}, {"b", "c"}, {"c"}}))
	one, two := NewQuery([]string{"c"}), NewQuery([]string{"c", "c"})
	if a, b := s.Scores(one, s.Stats(one, nil), []int{2})[0], s.Scores(two, s.Stats(two, nil), []int{2})[0]; b != 2*a {
		t.Errorf("once %v, twice %v", a, b)
	}
}

func TestParamsAreUsed(t *testing.T) {
	s := open(t, build(t, [][]string{{"a", "a", "b", "b"}, {"a"}, {"c"}}))
	q := NewQuery([]string{"a"})
	q.Params = Params{K1: 0, B: 0}
	hits := s.Search(q, s.Stats(q, nil), 5, nil, nil)
	if want := math.Log(1 + 1.5/2.5); len(hits) != 2 || hits[0].Score != want || hits[1].Score != want {
		t.Errorf("with k1 0 the score is idf, %v; got %v", want, hits)
	}
}

func TestManyGoroutines(t *testing.T) {
	docs := make([][]string, 400)
	for i := range docs {
		docs[i] = []string{"all", fmt.Sprint("n", i%7)}
	}
	s := open(t, build(t, docs))
	q := NewQuery([]string{"n3", "all"})
	want := s.Search(q, s.Stats(q, nil), 50, nil, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := s.Search(q, s.Stats(q, nil), 50, nil, nil); !slices.Equal(got, want) {
					t.Error("another answer")
				}
			}
		})
	}
	wg.Wait()
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	data := build(t, [][]string{{"a", "b"}, {"b"}})
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s, err := OpenFile(write("good", data))
	if err != nil {
		t.Fatal(err)
	}
	q := NewQuery([]string{"a"})
	if hits := s.Search(q, s.Stats(q, nil), 5, nil, nil); len(hits) != 1 || hits[0].Ord != 0 {
		t.Errorf("got %v", hits)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if hits := s.Search(q, s.Stats(q, nil), 5, nil, nil); hits != nil || s.Length(0) != 0 {
		t.Errorf("a closed segment answers %v", hits)
	}
	for name, path := range map[string]string{
		"empty":   write("empty", nil),
		"cut":     write("cut", data[:len(data)-1]),
		"foreign": write("foreign", bytes.Repeat([]byte("SQLite format 3\x00"), 20)),
		"newer":   write("newer", append([]byte(magic+"\x02"), data[9:]...)),
		"folder":  dir,
	} {
		if _, err := OpenFile(path); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestTooLongATerm(t *testing.T) {
	b := NewBuilder()
	b.Add([]string{strings.Repeat("x", 1<<16)})
	if err := b.Write(&bytes.Buffer{}); err == nil {
		t.Error("no error")
	}
}

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestWriteErrorsComeBack(t *testing.T) {
	docs := make([][]string, 40_000)
	for i := range docs {
		docs[i] = []string{fmt.Sprint(i), fmt.Sprint(i % 100)}
	}
	b := NewBuilder()
	for _, d := range docs {
		b.Add(d)
	}
	for _, left := range []int{0, 1 << 16, 1 << 18} {
		if err := b.Write(&failing{left}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
}

// exercise does all that can be done with a segment.
func exercise(s *Segment) {
	q := NewQuery([]string{"a", "b", "的", "none"})
	half := bitset.New(s.Len())
	for i := 0; i < s.Len(); i += 2 {
		half.Add(i)
	}
	s.Stats(q, half)
	st := s.Stats(q, nil)
	s.Search(q, st, 10, nil, nil)
	s.Search(q, Stats{N: 10, Total: 10, DF: make([]int, 4)}, 10, half, nil)
	s.Scores(q, st, []int{0, s.Len() - 1, s.Len() / 2})
	_ = Merge(&bytes.Buffer{}, []Part{{s, half}})
}

func damaged(t testing.TB) []byte {
	docs := make([][]string, 300)
	for i := range docs {
		docs[i] = append(docs[i], "a", "a", fmt.Sprint(i%17))
		if i%2 == 0 {
			docs[i] = append(docs[i], "b", "的")
		}
	}
	return build(t, docs)
}

func TestEveryDamageIsFound(t *testing.T) {
	good := damaged(t)
	if err := open(t, good).Verify(); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[i] ^= flip
			s, err := OpenSegment(bad)
			if err == nil {
				exercise(s)
				err = s.Verify()
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("byte %d of %d changed: %v", i, len(good), err)
			}
		}
	}
	for n := range good {
		if _, err := OpenSegment(good[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(good), err)
		}
	}
	if _, err := OpenSegment(append(bytes.Clone(good), 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestMergeRefusesDamage(t *testing.T) {
	bad := damaged(t)
	bad[headerBytes+3] ^= 1
	if err := Merge(&bytes.Buffer{}, []Part{{Segment: open(t, bad)}}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "part 0") {
		t.Errorf("got %v", err)
	}
}

func FuzzOpenSegment(f *testing.F) {
	good := damaged(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(build(f, nil))
	f.Add(build(f, [][]string{{"a"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := OpenSegment(data); err == nil {
			exercise(s)
		}
		// With a footer made good, what it describes is reached.
		if len(data) >= headerBytes+footerBytes {
			data = bytes.Clone(data)
			copy(data, magic)
			copy(data[8:], []byte{version, 0, 0, 0})
			foot := data[len(data)-footerBytes:]
			binary.LittleEndian.PutUint64(foot[32:], uint64(len(data)))
			binary.LittleEndian.PutUint32(foot[56:], footerSum(foot[:56], castagnoli()))
			if s, err := OpenSegment(data); err == nil {
				exercise(s)
			}
		}
	})
}

func TestHitsOrderedByKey(t *testing.T) {
	keys := []string{"d", "b", "c", "a"}
	s := open(t, build(t, [][]string{{"x"}, {"x"}, {"x"}, {"x"}}))
	q := NewQuery([]string{"x"})
	hits := s.Search(q, s.Stats(q, nil), 3, nil, func(a, b int) bool { return cmp.Less(keys[a], keys[b]) })
	var got []string
	for _, h := range hits {
		got = append(got, keys[h.Ord])
	}
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %v", got)
	}
}

// large makes a segment whose terms are as unevenly frequent as words are.
func large(t testing.TB, docs, terms int) *Segment {
	r := rand.New(rand.NewPCG(1, 1))
	z := rand.NewZipf(r, 1.1, 10, 60_000)
	b := NewBuilder()
	doc := make([]string, terms)
	for range docs {
		for i := range doc {
			doc[i] = fmt.Sprint("t", z.Uint64())
		}
		b.Add(doc)
	}
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return open(t, out.Bytes())
}

func BenchmarkSearch(b *testing.B) {
	for _, docs := range []int{8_000, 100_000} {
		s := large(b, docs, 200)
		var terms []string
		for _, i := range []int{3, 8, 20, 33, 60, 120, 400, 900, 2_000, 5_000, 12_000, 30_000} {
			terms = append(terms, fmt.Sprint("t", i))
		}
		postings := 0
		for _, df := range s.Stats(NewQuery(terms), nil).DF {
			postings += df
		}
		set := bitset.New(docs)
		for i := range docs {
			if i%10 != 0 {
				set.Add(i)
			}
		}
		for name, in := range map[string]bitset.Set{"all": nil, "set": set} {
			b.Run(fmt.Sprintf("docs=%d/postings=%d/%s", docs, postings, name), func(b *testing.B) {
				for b.Loop() {
					q := NewQuery(terms)
					s.Search(q, s.Stats(q, in), 20, in, nil)
				}
			})
		}
		b.Run(fmt.Sprintf("docs=%d/scores", docs), func(b *testing.B) {
			ords := make([]int, 40)
			for i := range ords {
				ords[i] = i * docs / 40
			}
			q := NewQuery(terms)
			st := s.Stats(q, nil)
			for b.Loop() {
				s.Scores(q, st, ords)
			}
		})
	}
}
