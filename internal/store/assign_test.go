package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func held(hs ...any) []Held {
	var out []Held
	for i := 0; i < len(hs); i += 2 {
		out = append(out, Held{Index: hs[i].(int), Position: i / 2, Hash: HashText(hs[i+1].(string))})
	}
	return out
}

func TestAssign(t *testing.T) {
	for _, c := range []struct {
		name          string
		current, past []Held
		next          int
		texts         string
		want          []int
		wantNext      int
	}{
		{"first version", nil, nil, 0, "abc", []int{0, 1, 2}, 3},
		{"unchanged", held(0, "a", 1, "b"), nil, 2, "ab", []int{0, 1}, 2},
		{"inserted at the top", held(0, "a", 1, "b"), nil, 2, "xab", []int{2, 0, 1}, 3},
		{"reordered", held(0, "a", 1, "b", 2, "c"), nil, 3, "cab", []int{2, 0, 1}, 3},
		{"one of two equal goes", held(1, "a", 4, "a"), held(1, "a", 4, "a"), 5, "a", []int{1}, 5},
		{"and comes back", held(1, "a"), held(1, "a", 4, "a"), 5, "aa", []int{1, 4}, 5},
		{"equal texts in order of position, not of index", []Held{{7, 0, HashText("a")}, {2, 1, HashText("a")}}, nil, 8, "aa", []int{7, 2}, 8},
		{"a third equal one is new", held(0, "a", 1, "a"), nil, 2, "aaa", []int{0, 1, 2}, 3},
		{"removed index is not given to other text", held(0, "a"), held(0, "a", 1, "b"), 2, "ac", []int{0, 2}, 3},
		{"same text returns to its index", held(0, "a"), held(0, "a", 1, "b"), 2, "ab", []int{0, 1}, 2},
		{"smallest first", nil, held(5, "a", 3, "a"), 6, "aa", []int{3, 5}, 6},
		{"an index that held both goes to the first", nil, held(0, "a", 0, "b"), 1, "ba", []int{0, 1}, 2},
		{"nothing left", held(0, "a"), held(0, "a"), 1, "", []int{}, 1},
	} {
		var texts []Hash
		for _, r := range c.texts {
			texts = append(texts, HashText(string(r)))
		}
		got, next := Assign(c.current, c.past, c.next, texts)
		if !slices.Equal(got, c.want) || next != c.wantNext {
			t.Errorf("%s: %v, %d; want %v, %d", c.name, got, next, c.want, c.wantNext)
		}
	}
}

// TestAssignNeverGivesAnIndexToOtherText runs random versions and holds the promises of contract §2 against a plain record of all that was given.
func TestAssignNeverGivesAnIndexToOtherText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var current, past []Held
		owner := map[int]Hash{}
		next := 0
		for range rapid.IntRange(1, 8).Draw(t, "versions") {
			letters := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 8).Draw(t, "texts")
			var texts []Hash
			for _, l := range letters {
				texts = append(texts, HashText(fmt.Sprint(l)))
			}
			before := next
			got, after := Assign(current, past, next, texts)
			next = after
			seen := map[int]bool{}
			var now []Held
			for i, index := range got {
				if seen[index] || index >= next {
					t.Fatalf("index %d twice or not below the counter %d: %v", index, next, got)
				}
				seen[index] = true
				if h, ok := owner[index]; ok && h != texts[i] || !ok && index < before {
					t.Fatalf("index %d given to other text: %v", index, got)
				}
				owner[index] = texts[i]
				now = append(now, Held{index, i, texts[i]})
			}
			for _, h := range current { // as many of a text as before and now both have keep their index
				n := min(countHash(current, h.Hash), countHash(now, h.Hash))
				if kept := countKept(current, now, h.Hash); kept != n {
					t.Fatalf("%d of %d equal texts kept their index", kept, n)
				}
			}
			current, past = now, append(past, now...)
		}
	})
}

func countHash(hs []Held, h Hash) (n int) {
	for _, x := range hs {
		if x.Hash == h {
			n++
		}
	}
	return n
}

func countKept(a, b []Held, h Hash) (n int) {
	for _, x := range a {
		for _, y := range b {
			if x.Hash == h && y.Hash == h && x.Index == y.Index {
				n++
			}
		}
	}
	return n
}

func TestIdentityOutlivesEdits(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	steps := []struct {
		paragraphs []string
		want       []string
		change     Change
	}{
		{[]string{"a", "b", "c"}, []string{"0 a", "1 b", "2 c"}, Change{Added: true, New: 3}},
		{[]string{"x", "a", "c"}, []string{"3 x", "0 a", "2 c"}, Change{Kept: 2, New: 1, Removed: 1}},
		{[]string{"b", "x"}, []string{"1 b", "3 x"}, Change{Kept: 1, New: 1, Removed: 2}},
		{nil, nil, Change{}},
		{[]string{"new", "b", "b"}, []string{"4 new", "1 b", "5 b"}, Change{Added: true, New: 3}},
	}
	for i, step := range steps {
		if step.paragraphs == nil {
			if got := remove(t, w, "d"); !slices.Equal(got, []string{"d"}) {
				t.Errorf("removed %v", got)
			}
			continue
		}
		ch := replace(t, w, version("d", step.paragraphs...))[0]
		ch.ID, ch.NoVector = "", 0
		if ch != step.change {
			t.Errorf("step %d: change %+v, want %+v", i, ch, step.change)
		}
		if got := keysOf(t, s, "d"); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
	intact(t, s)
}

func TestHistoryAndTombstone(t *testing.T) {
	s := open(t, t.TempDir())
	now := int64(1_000_000)
	s.o.Now = func() time.Time { now++; return fromMicro(now) }
	w := writer(t, s)
	replace(t, w, version("d", "a", "b"))
	replace(t, w, version("d", "long text before", "a"))
	history := func(index int) []Past {
		return look(t, s, func(sn *Snapshot) ([]Past, error) { return sn.History(t.Context(), "d", index) })
	}
	a := history(0)
	if len(a) != 1 || a[0].ContentHash != HashText("a") || a[0].First.StartByte != 0 || !a[0].GoneAt.IsZero() || !a[0].LastSeen.After(a[0].FirstSeen) {
		t.Errorf("a, which moved: %+v", a)
	}
	b := history(1)
	if len(b) != 1 || b[0].First.StartByte != 3 || b[0].GoneAt.IsZero() || !b[0].GoneAt.After(b[0].LastSeen) {
		t.Errorf("b, which went: %+v", b)
	}
	remove(t, w, "d")
	d := look(t, s, func(sn *Snapshot) (DocumentRow, error) { return sn.Document(t.Context(), "d") })
	if d.State != Gone || d.GoneAt.IsZero() || d.Text != "" || d.Chunks != 0 || d.NextIndex != 3 {
		t.Errorf("tombstone %+v", d)
	}
	if a = history(0); len(a) != 1 || a[0].GoneAt.IsZero() {
		t.Errorf("a, after its document went: %+v", a)
	}
	replace(t, w, version("d", "a"))
	if a = history(0); len(a) != 1 || !a[0].GoneAt.IsZero() || a[0].First.StartByte != 0 {
		t.Errorf("a, back again: %+v", a)
	}
	if none := history(99); len(none) != 0 {
		t.Errorf("a key that never was has a history: %+v", none)
	}
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if _, err := sn.Document(t.Context(), "never"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown document: %v", err)
	}
	if _, err := sn.ChunkByKey(t.Context(), "d", 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("key that is gone: %v", err)
	}
	same, err := sn.ChunksWithContent(t.Context(), HashText("a"))
	if err != nil || len(same) != 1 || same[0].Index != 0 {
		t.Errorf("chunks with content a: %v, %v", same, err)
	}
}

// TestRevisionDependsOnStateOnly reaches one state by random ways and compares revisions, also with the one of a smaller scope.
func TestRevisionDependsOnStateOnly(t *testing.T) {
	final := []Version{version("a", "one", "two"), version("b", "three"), version("é/ü", "four", "five", "six")}
	reach := func(t *testing.T, way func(w *Writer)) (string, string) {
		s := open(t, t.TempDir())
		w := writer(t, s)
		way(w)
		intact(t, s)
		return rev(t, s), look(t, s, func(sn *Snapshot) (string, error) {
			sc, err := sn.Visible(t.Context(), func(d *DocMeta) bool { return d.ID != "b" })
			if err != nil {
				return "", err
			}
			return sn.RevisionOf(t.Context(), sc.Documents)
		})
	}
	want, wantPart := reach(t, func(w *Writer) {
		replace(t, w, final...)
		embed(t, w, final...)
	})
	if want == wantPart {
		t.Error("a part has the revision of the whole")
	}
	for name, way := range map[string]func(t *testing.T, w *Writer){
		"one by one, backwards, vectors first": func(t *testing.T, w *Writer) {
			for _, v := range slices.Backward(final) {
				embed(t, w, v)
				replace(t, w, v)
			}
		},
		"with a document that comes and goes": func(t *testing.T, w *Writer) {
			replace(t, w, version("x", "other"), final[0])
			remove(t, w, "x")
			replace(t, w, final[1:]...)
			embed(t, w, final...)
		},
		"twice": func(t *testing.T, w *Writer) {
			replace(t, w, final...)
			embed(t, w, final...)
			replace(t, w, final...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, part := reach(t, func(w *Writer) { way(t, w) })
			if got != want || part != wantPart {
				t.Errorf("revision %s, part %s; want %s, %s", got, part, want, wantPart)
			}
		})
	}
	for name, way := range map[string]func(w *Writer){
		"a vector less": func(w *Writer) { replace(t, w, final...); embed(t, w, final[:2]...) },
		"another title": func(w *Writer) {
			v := final[1]
			v.Document.Title = "other"
			replace(t, w, final[0], v, final[2])
			embed(t, w, final...)
		},
		"another source": func(w *Writer) {
			v := final[1]
			v.Document.Source = "other"
			replace(t, w, final[0], v, final[2])
			embed(t, w, final...)
		},
		"other metadata": func(w *Writer) {
			v := final[1]
			v.Document.Metadata = "{}"
			replace(t, w, final[0], v, final[2])
			embed(t, w, final...)
		},
		"other text": func(w *Writer) { replace(t, w, final[0], version("b", "THREE"), final[2]); embed(t, w, final...) },
		"other config": func(w *Writer) {
			v := final[1]
			v.Document.ConfigHash = "cfg0"
			replace(t, w, final[0], v, final[2])
			embed(t, w, final...)
		},
		"a document less": func(w *Writer) { replace(t, w, final[:2]...); embed(t, w, final...) },
		"another index":   func(w *Writer) { replace(t, w, version("b", "zero")); replace(t, w, final...); embed(t, w, final...) },
		"another chunking": func(w *Writer) {
			v := final[0]
			v.Chunks = v.Chunks[:1]
			replace(t, w, v, final[1], final[2])
			embed(t, w, final...)
		},
	} {
		if got, _ := reach(t, way); got == want {
			t.Errorf("%s: the revision is the same", name)
		}
	}
}

func TestSumIsAGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) (h Hash) {
			copy(h[:], rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 127, 128, 254, 255}), 32, 32).Draw(t, "bytes"))
			return h
		})
		a, b, c := gen.Draw(t, "a"), gen.Draw(t, "b"), gen.Draw(t, "c")
		if a.add(b) != b.add(a) || a.add(b).add(c) != a.add(b.add(c)) || a.add(b).sub(b) != a || a.sub(a) != (Hash{}) {
			t.Fatalf("a %v b %v c %v", a, b, c)
		}
	})
	one, max := Hash{31: 1}, Hash{}.sub(Hash{31: 1})
	if diff := cmp.Diff(Hash{}, max.add(one)); diff != "" {
		t.Error(diff)
	}
}
