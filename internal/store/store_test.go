package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	testModel = "test-model"
	testDim   = 4
)

// fields is an analyser for tests: lower-case words.
func fields(dst []string, text string) []string {
	return append(dst, strings.Fields(strings.ToLower(text))...)
}

var testStamps = Stamps{Chunker: "cfg1", Analyser: "fields1", Model: testModel, Dimension: testDim}

func testOptions() Options {
	return Options{Create: true, LockTimeout: 200 * time.Millisecond, Terms: fields, Analyser: "fields1"}
}

// open opens the store in dir, making it where there is none, and closes it with the test.
func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// writer locks s and makes the collection c.
func writer(t testing.TB, s *Store) *Writer {
	t.Helper()
	w, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.EnsureCollection(t.Context(), "c", testStamps); err != nil {
		t.Fatal(err)
	}
	return w
}

// version makes a document of paragraphs, each a chunk.
func version(id string, paragraphs ...string) Version {
	text := strings.Join(paragraphs, "\n\n")
	v := Version{Document: Document{ID: id, Root: "/r", Source: "/r/" + id, Title: "T " + id, MediaType: "text/plain", Text: text,
		SourceHash: HashText("raw" + text), Reader: "text1", ConfigHash: "cfg1"}}
	at := 0
	for i, p := range paragraphs {
		v.Chunks = append(v.Chunks, Chunk{
			Span:        Span{StartByte: at, EndByte: at + len(p), StartLine: 2*i + 1, EndLine: 2*i + 1},
			HeadingPath: []string{"T " + id}, Context: "T " + id, Text: p, EmbedHash: HashText("T " + id + "\n" + p),
		})
		at += len(p) + 2
	}
	return v
}

// unit makes a unit vector out of a hash.
func unit(h Hash) []float32 {
	sum := sha256.Sum256(h[:])
	v, norm := make([]float32, testDim), 0.0
	for i := range v {
		v[i] = float32(sum[i]) - 127.5
		norm += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(norm))
	}
	return v
}

func embeddings(vs ...Version) []Embedding {
	var out []Embedding
	for _, v := range vs {
		for _, c := range v.Chunks {
			out = append(out, Embedding{Hash: c.EmbedHash, Vector: unit(c.EmbedHash)})
		}
	}
	return out
}

func replace(t testing.TB, w *Writer, vs ...Version) []Change {
	t.Helper()
	chs, err := w.Replace(t.Context(), "c", vs)
	if err != nil {
		t.Fatal(err)
	}
	return chs
}

func embed(t testing.TB, w *Writer, vs ...Version) {
	t.Helper()
	if err := w.PutEmbeddings(t.Context(), testModel, embeddings(vs...)); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, w *Writer, ids ...string) []string {
	t.Helper()
	gone, _, err := w.Remove(t.Context(), "c", ids)
	if err != nil {
		t.Fatal(err)
	}
	return gone
}

func publish(t testing.TB, w *Writer) {
	t.Helper()
	if wrote, err := w.PublishDerived(t.Context(), "c", true); err != nil || !wrote {
		t.Fatalf("publish: %v, %v", wrote, err)
	}
}

// look runs f on a snapshot of c.
func look[T any](t testing.TB, s *Store, f func(sn *Snapshot) (T, error)) T {
	t.Helper()
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	v, err := f(sn)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func viewOf(t testing.TB, sn *Snapshot) *view {
	t.Helper()
	v, err := sn.view(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func rev(t testing.TB, s *Store) string {
	t.Helper()
	return look(t, s, func(sn *Snapshot) (string, error) { return sn.Revision(), nil })
}

// keysOf returns "index text" of a document's chunks in order of position.
func keysOf(t testing.TB, s *Store, id string) []string {
	t.Helper()
	return look(t, s, func(sn *Snapshot) ([]string, error) {
		rows, err := sn.DocumentChunks(t.Context(), id)
		var out []string
		for _, r := range rows {
			out = append(out, fmt.Sprintf("%d %s", r.Index, r.Text))
		}
		return out, err
	})
}

// words returns the keys that a query by words finds.
func words(t testing.TB, s *Store, query string) []string {
	t.Helper()
	return look(t, s, func(sn *Snapshot) ([]string, error) {
		hits, err := sn.Lexical(t.Context(), fields(nil, query), 100, nil, nil)
		out := []string{}
		for _, h := range hits {
			out = append(out, h.Key)
		}
		return out, err
	})
}

// intact fails the test unless a deep check finds nothing wrong.
func intact(t testing.TB, s *Store) {
	t.Helper()
	fs, err := s.Check(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fs {
		if f.Level == "fail" || strings.Contains(f.Detail, "not what the rows give") {
			t.Errorf("check: %+v", f)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b#%?", "store") // a path that a URI must escape
	s := open(t, dir)
	w := writer(t, s)
	v := version("doc", "alpha one", "beta two")
	v.Document.Metadata = `{"k":"v"}`
	v.Document.Mark = "m"
	v.Chunks[1].Span.StartPage, v.Chunks[1].Span.EndPage = 3, 4
	chs := replace(t, w, v)
	if want := (Change{ID: "doc", Added: true, New: 2, NoVector: 2}); chs[0] != want {
		t.Errorf("change %+v, want %+v", chs[0], want)
	}
	embed(t, w, v)
	if _, err := w.s.Snapshot(t.Context(), "other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("snapshot of no collection: %v", err)
	}
	w.Close()
	s.Close()

	s = open(t, dir)
	d := look(t, s, func(sn *Snapshot) (DocumentRow, error) { return sn.Document(t.Context(), "doc") })
	if diff := cmp.Diff(v.Document, d.Document); diff != "" {
		t.Errorf("document (-put +got):\n%s", diff)
	}
	if d.State != Current || d.Stale || d.Chunks != 2 || d.NextIndex != 2 || d.ContentHash != HashText(v.Document.Text) || d.SyncedAt.IsZero() || d.Failure != nil {
		t.Errorf("row %+v", d)
	}
	rows := look(t, s, func(sn *Snapshot) ([]ChunkRow, error) { return sn.DocumentChunks(t.Context(), "doc") })
	for i, r := range rows {
		if diff := cmp.Diff(v.Chunks[i], r.Chunk); diff != "" {
			t.Errorf("chunk %d (-put +got):\n%s", i, diff)
		}
		if r.Index != i || r.Position != i || !r.HasVector || r.DocID != "doc" || r.Title != "T doc" || r.Metadata != `{"k":"v"}` || r.ConfigHash != "cfg1" || r.ContentHash != HashText(r.Text) {
			t.Errorf("chunk row %d: %+v", i, r)
		}
	}
	intact(t, s)
}

func TestSyncTwiceChangesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	vs := []Version{version("a", "one", "two"), version("b", "three")}
	replace(t, w, vs...)
	embed(t, w, vs...)
	before := rev(t, s)
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	seq := sn.coll.seq
	sn.Close()
	for _, ch := range replace(t, w, vs...) {
		if !ch.Unchanged || ch.New+ch.Removed+ch.Changed+ch.NoVector != 0 {
			t.Errorf("change %+v", ch)
		}
	}
	embed(t, w, vs...)
	if err := w.Touch(t.Context(), "c", []Document{vs[0].Document}); err != nil {
		t.Fatal(err)
	}
	if err := w.EnsureCollection(t.Context(), "c", testStamps); err != nil {
		t.Fatal(err)
	}
	after := look(t, s, func(sn *Snapshot) (int64, error) { return sn.coll.seq, nil })
	if rev(t, s) != before || after != seq {
		t.Errorf("revision %s, seq %d; before %s, %d", rev(t, s), after, before, seq)
	}
}

func TestFingerprints(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	a, b := version("a", "one"), version("b", "two")
	a.Document.Metadata, a.Document.Mark, b.Document.Root = `{}`, "7", "/other"
	replace(t, w, a, b)
	if err := w.RecordFailures(t.Context(), "c", []Failure{{ID: "a", Root: "/r", Source: "/r/a", Code: "unreadable", Reason: "r", Hint: "h"}}); err != nil {
		t.Fatal(err)
	}
	got, err := w.Fingerprints(t.Context(), "c", "/r")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Fingerprint{"a": {Root: "/r", Source: "/r/a", Title: "T a", SourceHash: a.Document.SourceHash, ContentHash: HashText("one"),
		MetadataHash: HashText("{}"), Reader: "text1", Mark: "7", ConfigHash: "cfg1", Failed: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all, err := w.Fingerprints(t.Context(), "c", AnyRoot); err != nil || len(all) != 2 {
		t.Errorf("all roots: %d, %v", len(all), err)
	}
}

func TestStamps(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	for _, c := range []struct {
		change func(*Stamps)
		name   string
	}{
		{func(st *Stamps) { st.Model = "other" }, "model"},
		{func(st *Stamps) { st.Dimension = 5 }, "dimension"},
		{func(st *Stamps) { st.Analyser = "fields2" }, "analyser"},
		{func(st *Stamps) { st.Model, st.Dimension = "", 0 }, ""},
		{func(st *Stamps) { st.Dimension = 0 }, ""},
		{func(st *Stamps) { st.Chunker = "cfg2" }, ""},
	} {
		st := testStamps
		c.change(&st)
		err := w.EnsureCollection(t.Context(), "c", st)
		var se *StampError
		if errors.As(err, &se) != (c.name != "") || (se != nil && se.Name != c.name) {
			t.Errorf("%+v: %v, want an error about %q", st, err, c.name)
		}
	}
	st := look(t, s, func(sn *Snapshot) (Stamps, error) { return sn.Stamps(), nil })
	if want := (Stamps{"cfg2", "fields1", testModel, testDim}); st != want {
		t.Errorf("stamps %+v, want %+v", st, want)
	}
	err := w.PutEmbeddings(t.Context(), testModel, []Embedding{{Hash: HashText("x"), Vector: make([]float32, 5)}})
	var se *StampError
	if !errors.As(err, &se) || se.Name != "dimension" || se.Stored != "4" || se.Wanted != "5" {
		t.Errorf("vector of 5: %v", err)
	}
	for _, bad := range [][]float32{{1, 2, 3, float32(math.NaN())}, {1, 2, float32(math.Inf(-1)), 3}, {}} {
		if err := w.PutEmbeddings(t.Context(), testModel, []Embedding{{Hash: HashText("x"), Vector: bad}}); err == nil {
			t.Errorf("vector %v was stored", bad)
		}
	}
}

func TestModelComesLater(t *testing.T) {
	s := open(t, t.TempDir())
	w, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	none := Stamps{Chunker: "cfg1", Analyser: "fields1"}
	if err := w.EnsureCollection(t.Context(), "c", none); err != nil {
		t.Fatal(err)
	}
	v, u := version("a", "one", "two"), version("b", "three")
	replace(t, w, v, u)
	embed(t, w, v) // no collection of this model yet: kept
	if n := look(t, s, func(sn *Snapshot) (int, error) { return sn.WithoutVector(nil), nil }); n != 3 {
		t.Errorf("without a model: %d without vector, want 3", n)
	}
	if err := w.EnsureCollection(t.Context(), "c", testStamps); err != nil {
		t.Fatal(err)
	}
	pending, err := w.PendingVectors(t.Context(), "c", 0, 10)
	if err != nil || len(pending) != 1 || pending[0].Text != "three" {
		t.Errorf("pending %v, %v", pending, err)
	}
	embed(t, w, u)
	if n := look(t, s, func(sn *Snapshot) (int, error) { return sn.WithoutVector(nil), nil }); n != 0 {
		t.Errorf("%d without vector", n)
	}
	intact(t, s)
}

func TestSecretStaysAndDiffers(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir)
	secret := a.Secret()
	a.Close()
	if b := open(t, dir); b.Secret() != secret || (Hash(secret)).IsZero() {
		t.Error("the secret is zero or changed on reopening")
	}
	if c := open(t, t.TempDir()); c.Secret() == secret {
		t.Error("two stores have one secret")
	}
}

func TestSecondWriterIsToldWhoHoldsIt(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, open(t, dir))
	other := open(t, dir)
	_, err := other.Lock(t.Context())
	var held *LockedError
	if !errors.As(err, &held) || held.PID == 0 || held.Since.IsZero() {
		t.Fatalf("second writer: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	if _, err := w.Replace(context.Background(), "c", []Version{version("a", "x")}); !errors.Is(err, ErrClosed) {
		t.Errorf("Replace after Close: %v", err)
	}
	w2, err := other.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w2.Close()
}
