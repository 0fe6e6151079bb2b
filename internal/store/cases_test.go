package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCase_12_batch_size_changes_nothing(t *testing.T) {
	five := version("five", "a", "b", "c", "d", "e")
	var got []string
	for _, others := range []int{0, 3, 200} { // 200 documents take several transactions
		s := open(t, t.TempDir())
		w := writer(t, s)
		batch := []Version{five}
		for i := range others {
			batch = append(batch, version(fmt.Sprint("other ", i), "x"))
		}
		replace(t, w, batch...)
		replace(t, w, batch...)
		remove(t, w, ids(batch[1:])...)
		if keys := keysOf(t, s, "five"); len(keys) != 5 {
			t.Errorf("with %d others: %v", others, keys)
		}
		got = append(got, rev(t, s))
	}
	if slices.Sort(got); len(slices.Compact(got)) != 1 {
		t.Errorf("revisions %v", got)
	}
}

func ids(vs []Version) (out []string) {
	for _, v := range vs {
		out = append(out, v.Document.ID)
	}
	return out
}

func TestCase_13_16_equal_text_is_not_merged(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	a, b := version("a", "same words", "between", "same words"), version("b", "same words")
	a.Document.Metadata, b.Document.Metadata = `{"of":"a"}`, `{"of":"b"}`
	replace(t, w, a, b)
	embed(t, w, a, b)
	if got := words(t, s, "same"); !cmp.Equal(got, []string{"a#chunk-0", "a#chunk-2", "b#chunk-0"}) {
		t.Errorf("hits %v", got)
	}
	for _, d := range []Version{a, b} {
		row := look(t, s, func(sn *Snapshot) (ChunkRow, error) { return sn.ChunkByKey(t.Context(), d.Document.ID, 0) })
		if row.Metadata != d.Document.Metadata || !row.HasVector {
			t.Errorf("%s: metadata %s, vector %v", d.Document.ID, row.Metadata, row.HasVector)
		}
	}
	intact(t, s)
}

func TestCase_27_sync_again_changes_no_id_and_embeds_nothing(t *testing.T) {
	dir := t.TempDir()
	vs := []Version{version("a", "one", "two"), version("b", "three")}
	var before []string
	for round := range 3 {
		s := open(t, dir)
		w := writer(t, s)
		replace(t, w, vs...)
		pending, err := w.PendingVectors(t.Context(), "c", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 3, false: 0}[round == 0]; len(pending) != want {
			t.Errorf("round %d: %d to embed, want %d", round, len(pending), want)
		}
		embed(t, w, vs...)
		now := append(append(keysOf(t, s, "a"), keysOf(t, s, "b")...), rev(t, s))
		if round > 0 && !slices.Equal(now, before) {
			t.Errorf("round %d: %v, before %v", round, now, before)
		}
		before = now
		w.Close()
		s.Close()
	}
}

func TestCase_29_a_paragraph_at_the_top_moves_no_key(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	v := version("a", "one", "two")
	replace(t, w, v)
	embed(t, w, v)
	ch := replace(t, w, version("a", "zero", "one", "two"))[0]
	if ch.Kept != 2 || ch.New != 1 || ch.NoVector != 1 {
		t.Errorf("change %+v", ch)
	}
	row := look(t, s, func(sn *Snapshot) (ChunkRow, error) { return sn.ChunkByKey(t.Context(), "a", 0) })
	if row.Text != "one" || row.Position != 1 || row.Span.StartByte != len("zero\n\n") {
		t.Errorf("key 0 is %+v", row)
	}
}

func TestCase_38_embedder_fails_in_mid_update(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	var old, changed []string
	for i := range 100 {
		old = append(old, fmt.Sprint("old ", i))
		changed = append(changed, fmt.Sprint("new ", i))
	}
	v, u := version("a", old...), version("a", changed...)
	embed(t, w, v)
	replace(t, w, v)
	before := rev(t, s)
	// A sync embeds the new version before it replaces the old one; here it dies after 60 of 100.
	if err := w.PutEmbeddings(t.Context(), testModel, embeddings(u)[:60]); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got := words(t, s, "old"); len(got) != 100 || rev(t, s) != before {
		t.Errorf("%d of the old version, revision %s, before %s", len(got), rev(t, s), before)
	}
	if got := words(t, s, "new"); len(got) != 0 {
		t.Errorf("%d of the new version", len(got))
	}
	w = writer(t, s)
	have, err := w.HaveEmbeddings(t.Context(), testModel, hashes(u))
	if err != nil || len(have) != 60 {
		t.Errorf("the next sync finds %d vectors of the 60, %v", len(have), err)
	}
	embed(t, w, u)
	if ch := replace(t, w, u)[0]; ch.New != 100 || ch.Removed != 100 || ch.NoVector != 0 {
		t.Errorf("change %+v", ch)
	}
	intact(t, s)
}

func hashes(v Version) (out []Hash) {
	for _, c := range v.Chunks {
		out = append(out, c.EmbedHash)
	}
	return out
}

func TestCase_50_order_is_total(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	var vs []Version
	for i := range 150 {
		v := version(fmt.Sprintf("d%03d", i*37%150), "tie tie")
		v.Document.Title, v.Chunks[0].Context, v.Chunks[0].EmbedHash = "", "", HashText("tie")
		vs = append(vs, v)
	}
	replace(t, w, vs[:70]...)
	publish(t, w)
	replace(t, w, vs[70:]...)
	embed(t, w, vs[0])
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("d%03d#chunk-0", i))
	}
	for range 50 {
		sn, err := s.Snapshot(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		for _, hits := range [][]Hit{must(sn.Lexical(t.Context(), []string{"tie"}, 20, nil, nil)), must(sn.Dense(t.Context(), unit(HashText("q")), 20, nil))} {
			var got []string
			for _, h := range hits {
				got = append(got, h.Key)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("got %v", got)
			}
		}
		sn.Close()
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestBoilerplateSharesOneVector(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	v := version("log", slices.Repeat([]string{"the same line"}, 3000)...)
	u := version("other", "the same line")
	u.Chunks[0].EmbedHash = v.Chunks[0].EmbedHash
	replace(t, w, v, u)
	pending, err := w.PendingVectors(context.Background(), "c", 0, 10_000)
	if err != nil || len(pending) != 3001 || !slices.IsSortedFunc(pending, func(a, b ChunkRow) int { return int(a.ID - b.ID) }) {
		t.Fatalf("%d pending, %v", len(pending), err)
	}
	embed(t, w, u)
	if n := look(t, s, func(sn *Snapshot) (Counts, error) { return sn.Counts(t.Context(), "") }); n.WithoutVector != 0 || n.Chunks != 3001 {
		t.Errorf("%+v", n)
	}
	ch := replace(t, w, version("log", slices.Repeat([]string{"the same line"}, 2999)...))[0]
	if ch.Kept != 2999 || ch.Removed != 1 || ch.New != 0 {
		t.Errorf("%+v", ch)
	}
	if got := keysOf(t, s, "log"); !strings.HasPrefix(got[2998], "2998 ") {
		t.Errorf("last is %q", got[2998])
	}
	intact(t, s)
}
