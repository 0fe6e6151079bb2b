package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit/internal/bitset"
)

func dense(t testing.TB, s *Store, text string, in bitset.Set) []Hit {
	return look(t, s, func(sn *Snapshot) ([]Hit, error) { return sn.Dense(t.Context(), unit(HashText(text)), 100, in) })
}

func TestWordsAndVectors(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	a, b := version("a", "red apple", "green pear"), version("b", "red plum")
	replace(t, w, a, b)
	if got := words(t, s, "red"); !cmp.Equal(got, []string{"a#chunk-0", "b#chunk-0"}) { // equal scores: by key
		t.Errorf("red: %v", got)
	}
	if got := words(t, s, "nothing"); len(got) != 0 {
		t.Errorf("zero score is a hit: %v", got)
	}
	if hits := dense(t, s, "x", nil); len(hits) != 0 {
		t.Errorf("hits without vectors: %v", hits)
	}
	embed(t, w, a)
	hits := look(t, s, func(sn *Snapshot) ([]Hit, error) { return sn.Dense(t.Context(), unit(a.Chunks[1].EmbedHash), 100, nil) })
	if len(hits) != 2 || hits[0].Key != "a#chunk-1" || hits[0].Score < .9999 {
		t.Errorf("dense: %v", hits)
	}
	if n := look(t, s, func(sn *Snapshot) (int, error) { return sn.WithoutVector(nil), nil }); n != 1 {
		t.Errorf("%d without vector, want 1", n)
	}
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if _, err := sn.Dense(t.Context(), make([]float32, 3), 5, nil); err == nil {
		t.Error("a query of another dimension is no error")
	}
	all, err := sn.Lexical(t.Context(), []string{"red", "t"}, 10, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := []int64{all[2].ID, all[0].ID, all[1].ID}
	scores, err := sn.LexicalScores(t.Context(), []string{"red", "t"}, nil, ids)
	if err != nil || !slices.Equal(scores, []float64{all[2].Score, all[0].Score, all[1].Score}) {
		t.Errorf("scores %v, %v; hits %v", scores, err, all)
	}
	if _, err := sn.LexicalScores(t.Context(), []string{"red"}, nil, []int64{999}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown row: %v", err)
	}
	ds, has, err := sn.DenseScores(t.Context(), unit(HashText("q")), ids)
	if err != nil || len(ds) != 3 || slices.Contains(has, true) && !slices.Contains(has, false) {
		t.Errorf("dense scores %v %v %v", ds, has, err)
	}
	rows, err := sn.Chunks(t.Context(), ids)
	if err != nil || rows[0].ID != ids[0] || rows[2].ID != ids[2] {
		t.Errorf("chunks in order of ids: %v, %v", rows, err)
	}
	if _, err := sn.Chunks(t.Context(), []int64{ids[0], 999}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown row: %v", err)
	}
}

func TestCase_70_asked_for_more_than_there_is(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	if got := words(t, s, "any"); len(got) != 0 {
		t.Errorf("empty collection: %v", got)
	}
	if hits := dense(t, s, "x", nil); len(hits) != 0 {
		t.Errorf("empty collection: %v", hits)
	}
	v := version("a", "one")
	replace(t, w, v)
	embed(t, w, v)
	if got := words(t, s, "one"); len(got) != 1 {
		t.Errorf("100 asked of one: %v", got)
	}
	if hits := dense(t, s, "x", nil); len(hits) != 1 {
		t.Errorf("100 asked of one: %v", hits)
	}
	publish(t, w)
	remove(t, w, "a")
	if got := words(t, s, "one"); len(got) != 0 {
		t.Errorf("emptied: %v", got)
	}
	publish(t, w)
	if got := words(t, open(t, s.Folder()), "one"); len(got) != 0 {
		t.Errorf("emptied and published: %v", got)
	}
	intact(t, s)
}

func TestCase_36_deleted_is_not_answered_with_caches_warm(t *testing.T) {
	dir := t.TempDir()
	s, reader := open(t, dir), open(t, dir)
	w := writer(t, s)
	v := version("a", "one", "two")
	replace(t, w, v, version("b", "one"))
	embed(t, w, v)
	publish(t, w)
	for _, st := range []*Store{s, reader} {
		if got := words(t, st, "one"); len(got) != 2 {
			t.Fatalf("before: %v", got)
		}
	}
	remove(t, w, "a")
	for _, st := range []*Store{s, reader} {
		if got := words(t, st, "one"); !cmp.Equal(got, []string{"b#chunk-0"}) {
			t.Errorf("after: %v", got)
		}
		if hits := dense(t, st, "one", nil); len(hits) != 0 {
			t.Errorf("after: %v", hits)
		}
	}
}

func TestCase_37_shorter_version_leaves_no_tail(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	replace(t, w, version("a", "one", "two", "three"))
	publish(t, w)
	replace(t, w, version("a", "one"))
	if got := words(t, s, "two three"); len(got) != 0 {
		t.Errorf("ghosts: %v", got)
	}
	if got := keysOf(t, s, "a"); !cmp.Equal(got, []string{"0 one"}) {
		t.Errorf("chunks %v", got)
	}
}

func TestCase_67_collections_do_not_see_each_other(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	if err := w.EnsureCollection(t.Context(), "d", testStamps); err != nil {
		t.Fatal(err)
	}
	v := version("a", "one", "two")
	replace(t, w, v)
	if _, err := w.Replace(t.Context(), "d", []Version{version("a", "one"), version("z", "one")}); err != nil {
		t.Fatal(err)
	}
	embed(t, w, v) // the same input in both: one vector serves both
	if got := words(t, s, "one"); !cmp.Equal(got, []string{"a#chunk-0"}) {
		t.Errorf("c: %v", got)
	}
	sn, err := s.Snapshot(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	if n := sn.WithoutVector(nil); n != 1 {
		t.Errorf("d: %d without vector, want 1 (z)", n)
	}
	if rows, err := sn.ChunksWithContent(t.Context(), HashText("two")); err != nil || len(rows) != 0 {
		t.Errorf("d sees text of c: %v, %v", rows, err)
	}
	rows, err := sn.DocumentChunks(t.Context(), "a")
	if err != nil || len(rows) != 1 {
		t.Errorf("d: %v, %v", rows, err)
	}
	sn.Close()
	c := look(t, s, func(sn *Snapshot) ([]ChunkRow, error) { return sn.DocumentChunks(t.Context(), "a") })
	sn, err = s.Snapshot(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if _, err := sn.Chunks(t.Context(), []int64{c[0].ID}); !errors.Is(err, ErrNotFound) {
		t.Errorf("d reads a row of c: %v", err)
	}
	remove(t, w, "a")
	if rows, err := sn.DocumentChunks(t.Context(), "a"); err != nil || len(rows) != 1 {
		t.Errorf("removing from c: %v, %v", rows, err)
	}
}

func TestCase_33_34_hostile_docIDs(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	ids := []string{"a#b", "a", "a#chunk-3", "x/../y", "%2F", "vector:x", " lead", "new\nline", "nul\x00byte", "nul", "nul\x00", "'\"", "😀", strings.Repeat("k", 4096), "_", "%", "A", "é", "e\u0301"}
	for _, id := range ids {
		replace(t, w, version(id, "text of "+id))
	}
	for _, id := range ids {
		d := look(t, s, func(sn *Snapshot) (DocumentRow, error) { return sn.Document(t.Context(), id) })
		if d.ID != id || d.Text != "text of "+id {
			t.Errorf("%q came back as %q, %q", id, d.ID, d.Text)
		}
	}
	listed := look(t, s, func(sn *Snapshot) ([]DocumentRow, error) { return sn.Documents(t.Context(), DocumentQuery{}) })
	var got []string
	for _, d := range listed {
		got = append(got, d.ID)
	}
	want := slices.Clone(ids)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	prefixed := look(t, s, func(sn *Snapshot) ([]DocumentRow, error) {
		return sn.Documents(t.Context(), DocumentQuery{Prefix: "nul\x00", After: "nul\x00"})
	})
	if len(prefixed) != 1 || prefixed[0].ID != "nul\x00byte" {
		t.Errorf("prefix: %v", prefixed)
	}
	for i, id := range ids {
		if got := remove(t, w, id); !slices.Equal(got, []string{id}) {
			t.Errorf("remove %q: %v", id, got)
		}
		if n := look(t, s, func(sn *Snapshot) (Counts, error) { return sn.Counts(t.Context(), "") }); n.Documents != len(ids)-i-1 {
			t.Errorf("after %q: %d documents", id, n.Documents)
		}
	}
	for _, bad := range []string{"", "\xff"} {
		v := version("x", "t")
		v.Document.ID = bad
		if _, err := w.Replace(t.Context(), "c", []Version{v}); err == nil {
			t.Errorf("docId %q was stored", bad)
		}
	}
}

func TestRefusesWhatDoesNotStandWhereItSays(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	for name, change := range map[string]func(v *Version){
		"other text":     func(v *Version) { v.Chunks[1].Text = "twO" },
		"beyond the end": func(v *Version) { v.Chunks[1].Span.EndByte = 99 },
		"negative":       func(v *Version) { v.Chunks[1].Span.StartByte = -1 },
		"reversed":       func(v *Version) { v.Chunks[1].Span.StartByte, v.Chunks[1].Span.EndByte = 8, 5 },
		"out of order":   func(v *Version) { v.Chunks[0], v.Chunks[1] = v.Chunks[1], v.Chunks[0] },
		"without chunks": func(v *Version) { v.Chunks = nil },
		"empty chunk":    func(v *Version) { v.Chunks[1].Text, v.Chunks[1].Span.EndByte = "", v.Chunks[1].Span.StartByte },
	} {
		v := version("a", "one", "two")
		change(&v)
		if _, err := w.Replace(t.Context(), "c", []Version{version("b", "fine"), v}); err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := look(t, s, func(sn *Snapshot) (Counts, error) { return sn.Counts(t.Context(), "") }); n.Documents != 0 {
		t.Errorf("%d documents were stored", n.Documents)
	}
}

func TestFailures(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	replace(t, w, version("a", "one"), version("b", "two"), version("stale", "three"))
	old := version("stale", "three")
	old.Document.ConfigHash = "cfg0"
	replace(t, w, old)
	fail := func(id, reason string) {
		if err := w.RecordFailures(t.Context(), "c", []Failure{{ID: id, Root: "/r", Source: "/r/" + id, Code: "no-text", Reason: reason, Hint: "ocr"}}); err != nil {
			t.Fatal(err)
		}
	}
	before := rev(t, s)
	fail("b", "first")
	fail("b", "second")
	fail("only", "never read")
	if rev(t, s) != before {
		t.Error("a failure changed the revision")
	}
	list := func(state string) (out []string) {
		for _, d := range look(t, s, func(sn *Snapshot) ([]DocumentRow, error) {
			return sn.Documents(t.Context(), DocumentQuery{State: state})
		}) {
			f := ""
			if d.Failure != nil {
				f = " " + d.Failure.Reason
			}
			out = append(out, fmt.Sprintf("%s %d%s", d.ID, d.State, f))
		}
		return out
	}
	remove(t, w, "a")
	for state, want := range map[string][]string{
		AnyState:     {"b 1 second", "only 0 never read", "stale 1"},
		StateFailed:  {"b 1 second", "only 0 never read"},
		StateStale:   {"stale 1"},
		StateCurrent: nil,
		StateGone:    {"a 2"},
	} {
		if diff := cmp.Diff(want, list(state)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", state, diff)
		}
	}
	if n := look(t, s, func(sn *Snapshot) (Counts, error) { return sn.Counts(t.Context(), "") }); n != (Counts{Documents: 2, Chunks: 2, WithoutVector: 2, Stale: 1, Failed: 2}) {
		t.Errorf("counts %+v", n)
	}
	if got := keysOf(t, s, "b"); !cmp.Equal(got, []string{"0 two"}) {
		t.Errorf("b, whose last sync failed, is served as %v", got)
	}
	only := look(t, s, func(sn *Snapshot) (DocumentRow, error) { return sn.Document(t.Context(), "only") })
	if only.State != Absent || only.Failure == nil || only.Failure.Code != "no-text" {
		t.Errorf("only: %+v", only)
	}
	replace(t, w, version("b", "two")) // unchanged, but it was read again
	remove(t, w, "only")
	if got := list(StateFailed); got != nil {
		t.Errorf("still failed: %v", got)
	}
	if _, err := w.s.Snapshot(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
}

func TestNeighboursGoByPosition(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	replace(t, w, version("a", "one", "two", "three"))
	replace(t, w, version("a", "zero", "one", "two", "three"))
	got := look(t, s, func(sn *Snapshot) ([]ChunkRow, error) { return sn.Neighbours(t.Context(), "a", 1, 5, 1) })
	var texts []string
	for _, r := range got {
		texts = append(texts, fmt.Sprintf("%d %s", r.Index, r.Text))
	}
	if !cmp.Equal(texts, []string{"3 zero", "0 one", "1 two"}) {
		t.Errorf("%v", texts)
	}
}

// TestPartsGiveWhatOneSegmentGives drives a store at random, publishing now and then, with a reader in another handle that follows each step,
// and compares all answers with those of a fresh store that was given the last state at once.
func TestPartsGiveWhatOneSegmentGives(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { followSteps(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func followSteps(t *testing.T, r *rand.Rand) {
	vocabulary := strings.Fields("ant bee cat dog eel fox gnu hen")
	dir := t.TempDir()
	s, reader := open(t, dir), open(t, dir)
	w := writer(t, s)
	state := map[string]Version{}
	for step := range 40 {
		id := fmt.Sprint("d", r.IntN(12))
		switch r.IntN(6) {
		case 0:
			remove(t, w, id)
			delete(state, id)
		case 1:
			if r.IntN(3) == 0 {
				publish(t, w)
			}
		default:
			var paragraphs []string
			for range 1 + r.IntN(4) {
				var p []string
				for range 1 + r.IntN(6) {
					p = append(p, vocabulary[r.IntN(len(vocabulary))])
				}
				paragraphs = append(paragraphs, strings.Join(p, " "))
			}
			v := version(id, paragraphs...)
			before := r.IntN(2) == 0
			if before {
				embed(t, w, v)
			}
			replace(t, w, v)
			if !before && r.IntN(4) > 0 {
				embed(t, w, v)
			}
			state[id] = v
		}
		if step%3 == 0 {
			sameAnswers(t, s, reader, vocabulary)
		}
	}
	for _, v := range state {
		embed(t, w, v)
	}
	fresh := open(t, t.TempDir())
	fw := writer(t, fresh)
	for _, id := range slices.Sorted(mapKeys(state)) {
		replace(t, fw, state[id])
		embed(t, fw, state[id])
	}
	sameAnswers(t, s, reader, vocabulary)
	a, b := answers(t, reader, vocabulary, false), answers(t, fresh, vocabulary, false)
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("fresh store (-) and the one that was edited (+) differ:\n%s", diff)
	}
	intact(t, s)
	if _, err := w.PublishDerived(t.Context(), "c", true); err != nil {
		t.Fatal(err)
	}
	intact(t, s)
	cold := open(t, dir)
	sameAnswers(t, s, cold, vocabulary)
	if sn, err := cold.Snapshot(t.Context(), "c"); err != nil || len(state) > 0 && (len(viewOf(t, sn).parts) != 1 || !viewOf(t, sn).parts[0].pure) {
		t.Errorf("a cold reader does not stand on the derived file: %v", err)
	} else {
		sn.Close()
	}
}

func mapKeys(m map[string]Version) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func sameAnswers(t *testing.T, a, b *Store, vocabulary []string) {
	t.Helper()
	if diff := cmp.Diff(answers(t, a, vocabulary, true), answers(t, b, vocabulary, true)); diff != "" {
		t.Fatalf("two handles differ:\n%s", diff)
	}
}

// answers asks many questions; without keys, hits are told by their text, since indexes depend on the way to a state.
func answers(t *testing.T, s *Store, vocabulary []string, keys bool) []string {
	t.Helper()
	return look(t, s, func(sn *Snapshot) ([]string, error) {
		var out []string
		note := func(name string, hits []Hit, err error) {
			if err != nil {
				t.Fatal(err)
			}
			var line []string
			for _, h := range hits {
				rows, err := sn.Chunks(t.Context(), []int64{h.ID})
				if err != nil {
					t.Fatal(err)
				}
				id := h.Key
				if want := fmt.Sprintf("%s#chunk-%d", rows[0].DocID, rows[0].Index); want != h.Key {
					t.Fatalf("key %s of row %s", h.Key, want)
				}
				if !keys {
					id = rows[0].DocID + " " + rows[0].Text
				}
				line = append(line, fmt.Sprintf("%.9f %s", h.Score, id))
			}
			if !keys {
				slices.Sort(line) // ties go by key
			}
			out = append(out, name+": "+strings.Join(line, "; "))
		}
		odd, err := sn.Visible(t.Context(), func(d *DocMeta) bool { return strings.ContainsAny(d.ID, "13579") })
		if err != nil {
			return nil, err
		}
		low, err := sn.Visible(t.Context(), func(d *DocMeta) bool { return len(d.ID) == 2 })
		if err != nil {
			return nil, err
		}
		for _, word := range vocabulary {
			for _, sc := range []struct {
				name        string
				visible, in bitset.Set
			}{{"all", nil, nil}, {"odd in", nil, odd.Chunks}, {"odd visible", odd.Chunks, nil}, {"odd visible, low in", odd.Chunks, low.Chunks}} {
				hits, err := sn.Lexical(t.Context(), []string{word, "bee"}, 1000, sc.visible, sc.in)
				note(word+" "+sc.name, hits, err)
				hits, err = sn.Dense(t.Context(), unit(HashText(word)), 1000, sc.in)
				note(word+" dense "+sc.name, hits, err)
			}
		}
		n, err := sn.Counts(t.Context(), "")
		if err != nil {
			return nil, err
		}
		if n.WithoutVector != sn.WithoutVector(nil) {
			t.Fatalf("%d without vector in memory, %d in the file", sn.WithoutVector(nil), n.WithoutVector)
		}
		part, err := sn.CountsOf(t.Context(), odd)
		out = append(out, fmt.Sprintf("%+v %+v %d", n, part, sn.WithoutVector(odd.Chunks)))
		if keys {
			out = append(out, sn.Revision())
		}
		return out, err
	})
}

func TestSnapshotStaysAtItsRevision(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	replace(t, w, version("a", "one", "two"))
	publish(t, w)
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	before := sn.Revision()
	replace(t, w, version("a", "three"), version("b", "one"))
	remove(t, w, "a")
	publish(t, w)
	publish(t, w2(t, w, "more"))
	hits, err := sn.Lexical(t.Context(), []string{"one"}, 10, nil, nil)
	if err != nil || len(hits) != 1 || hits[0].Key != "a#chunk-0" {
		t.Errorf("old snapshot finds %v, %v", hits, err)
	}
	rows, err := sn.Chunks(t.Context(), []int64{hits[0].ID})
	if err != nil || rows[0].Text != "one" {
		t.Errorf("old snapshot reads %v, %v", rows, err)
	}
	if sn.Revision() != before || rev(t, s) == before {
		t.Error("revisions")
	}
	if err := sn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sn.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	if _, err := sn.Chunks(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Chunks after Close: %v", err)
	}
}

func w2(t *testing.T, w *Writer, id string) *Writer {
	replace(t, w, version(id, "more words"))
	return w
}

func TestCase_39_readers_see_all_old_or_all_new(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	long := func(gen int) Version {
		var ps []string
		for i := range 12 {
			ps = append(ps, fmt.Sprintf("generation %d part %d", gen, i))
		}
		return version("d", ps...)
	}
	v := long(0)
	embed(t, w, v)
	replace(t, w, v)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 3 {
		st := s
		if i > 0 {
			st = open(t, dir)
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				whole(t, st)
			}
		})
	}
	for gen := 1; gen <= 25; gen++ {
		v := long(gen)
		embed(t, w, v)
		replace(t, w, v)
		if gen%5 == 0 {
			publish(t, w)
		}
	}
	stop()
	wg.Wait()
	intact(t, s)
}

// whole looks d up in several ways on one snapshot and compares them.
func whole(t *testing.T, s *Store) {
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Error(err)
		return
	}
	defer sn.Close()
	rows, err := sn.DocumentChunks(t.Context(), "d")
	if err != nil || len(rows) != 12 {
		t.Errorf("%d chunks, %v", len(rows), err)
		return
	}
	generation := strings.Fields(rows[0].Text)[1]
	hits, err := sn.Lexical(t.Context(), []string{"generation"}, 100, nil, nil)
	if err != nil || len(hits) != 12 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	vectors, err := sn.Dense(t.Context(), unit(HashText("q")), 100, nil)
	if err != nil || len(vectors) != 12 {
		t.Errorf("%d by vector, %v", len(vectors), err)
	}
	for _, hs := range [][]Hit{hits, vectors} {
		var ids []int64
		for _, h := range hs {
			ids = append(ids, h.ID)
		}
		rows, err := sn.Chunks(t.Context(), ids)
		if err != nil {
			t.Error(err)
		}
		for _, r := range rows {
			if strings.Fields(r.Text)[1] != generation || !r.HasVector {
				t.Errorf("%q beside generation %s", r.Text, generation)
			}
		}
	}
}

func TestDerivedFilesAreNotTrusted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	v, u := version("a", "one", "two"), version("b", "one three")
	replace(t, w, v, u)
	embed(t, w, v, u)
	publish(t, w)
	want := answers(t, s, []string{"one", "three"}, true)
	w.Close()
	s.Close()
	files, err := filepath.Glob(filepath.Join(dir, DerivedName, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) []byte {
		b := slices.Clone(good)
		b[at] ^= 0x40
		return b
	}
	for name, bad := range map[string][]byte{
		"empty": {}, "cut in the header": good[:100], "cut": good[:len(good)-1], "zeros": make([]byte, len(good)),
		"magic": flip(0), "identity": flip(20), "rows": flip(48), "a section": flip(60), "the header's sum": flip(255), "first id": flip(256), "key": flip(256 + 3*64 + 2),
	} {
		if err := os.WriteFile(files[0], bad, 0o666); err != nil {
			t.Fatal(err)
		}
		r := open(t, dir)
		if diff := cmp.Diff(want, answers(t, r, []string{"one", "three"}, true)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if sn, err := r.Snapshot(t.Context(), "c"); err != nil || viewOf(t, sn).parts[0].mapped {
			t.Errorf("%s: the file was used (%v)", name, err)
		} else {
			sn.Close()
		}
		if fs, err := r.Check(t.Context(), false); err != nil || fs[len(fs)-1].Level != "warn" {
			t.Errorf("%s: check says %+v, %v", name, fs, err)
		}
		r.Close()
	}
	other, err := Open(t.Context(), dir, Options{Terms: fields, Analyser: "fields2"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := os.WriteFile(files[0], good, 0o666); err != nil {
		t.Fatal(err)
	}
	sn, err := other.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if viewOf(t, sn).parts[0].mapped {
		t.Error("a file made by another analyser was used")
	}
	sn.Close()
	r := open(t, dir)
	sn, err = r.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if !viewOf(t, sn).parts[0].pure {
		t.Error("the good file is not used")
	}
}

func TestPublishLeavesASmallDeltaAlone(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	var ps []string
	for i := range 100 {
		ps = append(ps, fmt.Sprint("paragraph ", i))
	}
	replace(t, w, version("a", ps...))
	wrote := func(force bool) bool {
		ok, err := w.PublishDerived(t.Context(), "c", force)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !wrote(false) || wrote(false) || wrote(true) {
		t.Error("want one file, then none for the same state")
	}
	replace(t, w, version("b", "one"))
	if wrote(false) {
		t.Error("one chunk made a new file")
	}
	replace(t, w, version("b", ps[:40]...))
	if !wrote(false) {
		t.Error("40 chunks of 100 made no new file")
	}
	replace(t, w, version("b", "one"))
	if !wrote(true) {
		t.Error("force wrote nothing")
	}
	files, err := os.ReadDir(filepath.Join(s.Folder(), DerivedName))
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, want this one and the one before: %v", len(files), err)
	}
	size, err := s.Size()
	if err != nil || size < 100_000 {
		t.Errorf("size %d, %v", size, err)
	}
}

func TestGarbage(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	v, u := version("a", "one", "two"), version("b", "three")
	embed(t, w, v, u)
	replace(t, w, v, u)
	remove(t, w, "b")
	replace(t, w, version("a", "one"))
	if n, err := w.CollectGarbage(t.Context()); err != nil || n != 2 {
		t.Errorf("collected %d, %v; want 2", n, err)
	}
	have, err := w.HaveEmbeddings(t.Context(), testModel, []Hash{v.Chunks[0].EmbedHash, v.Chunks[1].EmbedHash, u.Chunks[0].EmbedHash})
	if err != nil || len(have) != 1 || !have[v.Chunks[0].EmbedHash] {
		t.Errorf("left: %v, %v", have, err)
	}
	intact(t, s)
}
