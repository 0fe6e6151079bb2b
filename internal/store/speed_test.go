package store

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/exhibit-rag/exhibit/internal/sharedtest"
)

// scifact reads the corpus as versions of one or more chunks of about 1,000 bytes.
func scifact(tb testing.TB) []Version {
	f, err := os.Open(sharedtest.Dir(tb, "datasets", "scifact", "corpus.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []Version
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var d struct {
			ID    string `json:"_id"`
			Title string
			Text  string
		}
		if err := json.Unmarshal(sc.Bytes(), &d); err != nil {
			tb.Fatal(err)
		}
		var ps []string
		for rest := d.Text; rest != ""; {
			n := len(rest)
			if n > 1200 {
				if n = strings.LastIndexByte(rest[:1200], ' '); n <= 0 {
					n = len(rest)
				}
			}
			ps = append(ps, strings.TrimSpace(rest[:n]))
			rest = strings.TrimSpace(rest[n:])
		}
		if len(ps) > 0 {
			v := version(d.ID, ps...)
			v.Document.Title = d.Title
			out = append(out, v)
		}
	}
	return out
}

// TestSpeed holds the times that a user waits, with room for a busy machine: the figures are printed with -v.
func TestSpeed(t *testing.T) {
	if testing.Short() || os.Getenv("EXHIBIT_SLOW") == "" {
		t.Skip("needs EXHIBIT_SLOW=1")
	}
	vs := scifact(t)
	dim := 384
	dir := filepath.Join(t.TempDir(), "s")
	s := open(t, dir)
	w, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st := testStamps
	st.Dimension = dim
	if err := w.EnsureCollection(t.Context(), "c", st); err != nil {
		t.Fatal(err)
	}
	took := func(name string, most time.Duration, f func()) {
		start := time.Now()
		f()
		d := time.Since(start)
		t.Logf("%-40s %v", name, d.Round(time.Microsecond))
		if d > most {
			t.Errorf("%s took %v, more than %v", name, d, most)
		}
	}
	chunks := 0
	for _, v := range vs {
		chunks += len(v.Chunks)
	}
	took(fmt.Sprintf("add %d documents, %d chunks", len(vs), chunks), 20*time.Second, func() { replace(t, w, vs...) })
	took("put their vectors", 20*time.Second, func() {
		for v := range slices.Chunk(vs, 64) {
			es := embeddings(v...)
			for i := range es {
				es[i].Vector = append(es[i].Vector, make([]float32, dim-testDim)...)
			}
			if err := w.PutEmbeddings(t.Context(), testModel, es); err != nil {
				t.Fatal(err)
			}
		}
	})
	took("publish", 20*time.Second, func() { publish(t, w) })
	took("fingerprints", 300*time.Millisecond, func() {
		if f, err := w.Fingerprints(t.Context(), "c", AnyRoot); err != nil || len(f) != len(vs) {
			t.Fatal(len(f), err)
		}
	})
	took("replace all, nothing changed", 5*time.Second, func() { replace(t, w, vs...) })
	w.Close()
	s.Close()
	took("open, first snapshot, one search", 30*time.Millisecond, func() {
		s, err = Open(t.Context(), dir, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		if len(words(t, s, "protein")) != 100 {
			t.Error("no hits")
		}
	})
	defer s.Close()
	const n = 200
	took("200 warm snapshots", n*100*time.Microsecond, func() {
		for range n {
			rev(t, s)
		}
	})
	ids := look(t, s, func(sn *Snapshot) ([]int64, error) {
		hits, err := sn.Lexical(t.Context(), []string{"protein", "cell"}, 40, nil, nil)
		var ids []int64
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		return ids, err
	})
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	took("20 × 40 chunks by id", 20*2*time.Millisecond, func() {
		for range 20 {
			if _, err := sn.Chunks(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
		}
	})
	q := append(unit(HashText("q")), make([]float32, dim-testDim)...)
	took("100 × words, vectors, both completed", 100*10*time.Millisecond, func() {
		for range 100 {
			if _, err := sn.Lexical(t.Context(), []string{"protein", "cell", "growth"}, 20, nil, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := sn.Dense(t.Context(), q, 20, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := sn.LexicalScores(t.Context(), []string{"protein", "cell", "growth"}, nil, ids); err != nil {
				t.Fatal(err)
			}
			if _, _, err := sn.DenseScores(t.Context(), q, ids); err != nil {
				t.Fatal(err)
			}
		}
	})
	took("visible, first time", time.Second, func() {
		if _, err := sn.Visible(t.Context(), func(d *DocMeta) bool { return true }); err != nil {
			t.Fatal(err)
		}
	})
	took("visible, again", 50*time.Millisecond, func() {
		if _, err := sn.Visible(t.Context(), func(d *DocMeta) bool { return d.ID > "5" }); err != nil {
			t.Fatal(err)
		}
	})
	took("check", time.Second, func() { s.Check(t.Context(), false) })
	took("deep check", time.Minute, func() { intact(t, s) })
	size, _ := s.Size()
	t.Logf("size %.1f MB", float64(size)/1e6)
}
