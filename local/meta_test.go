package local_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
	"github.com/exhibit-rag/exhibit/local"
)

// questions are asked of handbook and its variants.
func questions() []string {
	return []string{"How long is the paid leave?", "Where do bikes stand?", "ERR_4021", "new certificate for the client", "休暇", "manager notice weeks", "初始化Client"}
}

func answers(t *testing.T, s *local.Store) string {
	t.Helper()
	var b strings.Builder
	for _, q := range questions() {
		b.WriteString(shape(ask(t, s, q)) + "\n")
	}
	return b.String()
}

// TestHowItWasStoredDoesNotShow stores the same documents in many ways and holds all answers equal, byte for byte.
func TestHowItWasStoredDoesNotShow(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	docs := handbook()
	for i := range 40 {
		docs[fmt.Sprintf("more/%02d.md", i)] = fmt.Sprintf("# Page %d\n\nThe desk of floor %d has a client with certificate %d.\n\nBikes of floor %d stand outside.\n", i, i%7, i, i%5)
	}
	base := newPlace(t, fake(), docs)
	base.sync(t)
	want := answers(t, base.Store)

	singly := func(t *testing.T, p *place, names []string) {
		for _, n := range names {
			files(t, p.docs, map[string]string{n: docs[n]})
			p.sync(t)
		}
	}
	names := slices.Sorted(maps.Keys(docs))
	for name, run := range map[string]func(t *testing.T, p *place){
		"one job": func(t *testing.T, p *place) {
			p.Close()
			p.Store = open(t, p.folder, &local.Options{Embedder: &exhibittest.FakeEmbedder{}, Jobs: 1})
			files(t, p.docs, docs)
			p.sync(t)
		},
		"nine jobs": func(t *testing.T, p *place) {
			p.Close()
			p.Store = open(t, p.folder, &local.Options{Embedder: &exhibittest.FakeEmbedder{}, Jobs: 9})
			files(t, p.docs, docs)
			p.sync(t)
		},
		"one after another, shuffled": func(t *testing.T, p *place) {
			order := slices.Clone(names)
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			singly(t, p, order)
		},
		"reopened": func(t *testing.T, p *place) {
			files(t, p.docs, docs)
			p.sync(t)
			p.Close()
			p.Store = open(t, p.folder, fake())
		},
		"words first": func(t *testing.T, p *place) {
			p.Close()
			s := open(t, p.folder, words())
			files(t, p.docs, docs)
			sync(t, s, p.docs)
			s.Close()
			p.Store = open(t, p.folder, fake())
			p.sync(t)
		},
		"added, changed, removed and put back": func(t *testing.T, p *place) {
			files(t, p.docs, docs)
			files(t, p.docs, map[string]string{"gone.md": "# Gone\n\nBikes are gone.\n"})
			p.sync(t)
			if err := os.Remove(filepath.Join(p.docs, "gone.md")); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Delete(t.Context(), "", []string{"bikes.md", "it/vpn.md"}); err != nil {
				t.Fatal(err)
			}
			p.sync(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, fake(), map[string]string{"bikes.md": docs["bikes.md"]})
			run(t, p)
			if d := cmp.Diff(want, answers(t, p.Store)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDerivedFilesCanGo removes what is derived from the store file; nothing changes but the time.
func TestDerivedFilesCanGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	want := answers(t, p.Store)
	p.Close()
	derived := filepath.Join(p.folder, "derived")
	entries, err := os.ReadDir(derived)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d derived files, %v", len(entries), err)
	}
	for name, spoil := range map[string]func(path string) error{
		"removed":  os.Remove,
		"cut":      func(path string) error { return os.Truncate(path, 40) },
		"emptied":  func(path string) error { return os.Truncate(path, 0) },
		"replaced": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("nonsense ", 1000)), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, e := range entries {
				if err := spoil(filepath.Join(derived, e.Name())); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, p.folder, fake())
			if d := cmp.Diff(want, answers(t, s)); d != "" {
				t.Error(d)
			}
			syncWith(t, s, local.SyncRequest{Rebuild: local.Rebuild{Index: true}})
			if d := cmp.Diff(want, answers(t, s)); d != "" {
				t.Error("after a rebuild:", d)
			}
			s.Close()
			var err error
			if entries, err = os.ReadDir(derived); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestComposedAndDecomposedTextHaveOneOrder(t *testing.T) {
	docs := map[string]string{
		"urlaub.md": "# Urlaub für Beschäftigte\n\nDie Übertragung der Urlaubstage ist möglich.\n", "café.md": "# Café\n\nDas Café öffnet früh für Gäste.\n", "fahrrad.md": "# Räder\n\nRäder stehen hinter der Küche.\n",
	}
	var want []string
	for _, form := range []norm.Form{norm.NFC, norm.NFD} {
		contents := map[string]string{}
		for name, text := range docs {
			contents[name] = form.String(text)
		}
		p := newPlace(t, words(), contents)
		p.sync(t)
		var got []string
		for _, q := range []string{"Übertragung möglich", "Café Gäste", "Räder Küche"} {
			for _, ask := range []norm.Form{norm.NFC, norm.NFD} {
				got = append(got, fmt.Sprint(keys(lookup(t, p.Store, wide(ask.String(q))))))
			}
		}
		for i := 0; i < len(got); i += 2 {
			equal(t, "the question's form", got[i], got[i+1])
		}
		if want != nil {
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		}
		want = got
	}
}

func TestTrailingPunctuationChangesNoLexicalAnswer(t *testing.T) {
	p := newPlace(t, words(), handbook())
	p.sync(t)
	for _, q := range []string{"paid leave", "Where do bikes stand", "ERR_4021", "休暇"} {
		want := shape(ask(t, p.Store, q))
		for _, end := range []string{".", "?", "!", "…", " ?!", "。", ";", "\n"} {
			equal(t, q+end, shape(ask(t, p.Store, q+end)), want)
		}
	}
}

// TestCase_44: a longer answer begins with the shorter one.
func TestCase_44_results_are_a_prefix_of_more_results(t *testing.T) {
	docs := handbook()
	for i := range 30 {
		docs[fmt.Sprintf("p%02d.md", i)] = fmt.Sprintf("# Page %d\n\nBikes and leave of floor %d.\n\nPaid weeks of floor %d.\n", i, i, i%3)
	}
	p := newPlace(t, fake(), docs)
	p.sync(t)
	for _, q := range questions() {
		var longest []string
		for n := 40; n >= 1; n-- {
			got := keys(lookup(t, p.Store, exhibit.LookupRequest{Query: q, Settings: exhibit.LookupSettings{RetrieveK: exhibit.Set(40), ReturnN: exhibit.Set(n)}}))
			if longest == nil {
				longest = got
			}
			if d := cmp.Diff(longest[:min(n, len(longest))], got); d != "" {
				t.Fatalf("%s, return-n %d: %s", q, n, d)
			}
		}
	}
}

func TestCase_50_the_same_call_a_hundred_times(t *testing.T) {
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	req := exhibit.LookupRequest{Query: "paid leave weeks", Format: "markdown"}
	first := lookup(t, p.Store, req)
	for range 100 {
		if got := lookup(t, p.Store, req); !reflect.DeepEqual(got, first) {
			t.Fatalf("%+v\n%+v", got, first)
		}
	}
	p.Close()
	s := open(t, p.folder, fake())
	equal(t, "after a restart", lookup(t, s, req).Projection.Text, first.Projection.Text)
}

func TestTheStoreMovesWithItsSources(t *testing.T) {
	dir := t.TempDir()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	files(t, filepath.Join(here, "docs"), handbook())
	s := open(t, filepath.Join(here, ".exhibit"), words())
	first := sync(t, s, filepath.Join(here, "docs"))
	s.Close()
	if err := os.Rename(here, there); err != nil {
		t.Fatal(err)
	}
	s = open(t, filepath.Join(there, ".exhibit"), words())
	files(t, filepath.Join(there, "docs"), map[string]string{"new.md": "# New\n\nThe turbine is new.\n"})
	r := syncWith(t, s, local.SyncRequest{})
	equal(t, "documents", r.Documents, local.DocumentCounts{Added: 1, Unchanged: 4})
	if r.Revision == first.Revision {
		t.Error("a document more, and the revision is the same")
	}

	// Only the sources moved: the old place is an error and removes nothing, the new one takes the documents over.
	if err := os.Rename(filepath.Join(there, "docs"), filepath.Join(there, "pages")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sync(t.Context(), local.SyncRequest{}); code(err) != "unreadable" {
		t.Errorf("a root that is gone: %v", err)
	}
	r = sync(t, s, filepath.Join(there, "pages"))
	if r.Documents.Removed+r.Documents.Added+r.Documents.Failed > 0 {
		t.Errorf("%+v", r.Documents)
	}
	equal(t, "chunks", r.Chunks, local.ChunkCounts{Kept: len(all(t, s))})
	r = syncWith(t, s, local.SyncRequest{}) // the old root holds nothing any more, and is forgotten
	equal(t, "documents", r.Documents, local.DocumentCounts{Unchanged: 5})
}

func TestIDRoots(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, map[string]string{"one/a.md": "# A\n\nFirst turbine.\n", "two/a.md": "# A\n\nSecond turbine.\n"})
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	s := open(t, filepath.Join(dir, ".exhibit"), words())
	_, err := s.Sync(t.Context(), local.SyncRequest{Roots: []local.Root{{Path: one}, {Path: two}}})
	if code(err) != "invalid" || !strings.Contains(err.Error(), one) || !strings.Contains(err.Error(), two) || !strings.Contains(exhibit.HintOf(err), "--id-root") {
		t.Errorf("two sources of one docId: %v", err)
	}
	syncWith(t, s, local.SyncRequest{Roots: []local.Root{{Path: one, IDRoot: dir}, {Path: two, IDRoot: dir}}})
	if d := cmp.Diff(map[string]string{"one/a.md#chunk-0": "First turbine.", "two/a.md#chunk-0": "Second turbine."}, all(t, s)); d != "" {
		t.Error(d)
	}
	r := syncWith(t, s, local.SyncRequest{})
	equal(t, "documents", r.Documents, local.DocumentCounts{Unchanged: 2})
	_, err = s.Sync(t.Context(), local.SyncRequest{Roots: []local.Root{{Path: one, IDRoot: two}}})
	if code(err) != "invalid" || exhibit.HintOf(err) == "" {
		t.Errorf("outside the id root: %v", err)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	before, answer := all(t, p.Store), shape(ask(t, p.Store, "leave"))
	files(t, p.docs, map[string]string{"leave.md": "# Leave\n\nAll is new.\n", "new.md": "# New\n\nNew.\n", "broken.md": ""})
	if err := os.Remove(filepath.Join(p.docs, "bikes.md")); err != nil {
		t.Fatal(err)
	}
	for _, req := range []local.SyncRequest{{DryRun: true}, {DryRun: true, Rebuild: local.Rebuild{Vectors: true, Index: true}}} {
		r, err := p.Sync(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "documents", r.Documents, local.DocumentCounts{Added: 1, Changed: 1, Unchanged: 2, Removed: 1, Failed: 1})
		if d := cmp.Diff(before, all(t, p.Store)); d != "" {
			t.Error(d)
		}
		equal(t, "answer", shape(ask(t, p.Store, "leave")), answer)
	}
	if _, err := p.Sync(t.Context(), local.SyncRequest{DryRun: true, Collection: "new", Roots: []local.Root{{Path: p.docs}}}); err != nil {
		t.Error(err)
	}
	if names, err := p.Collections(t.Context()); err != nil || len(names) != 1 {
		t.Error(names, err)
	}
}

func TestIndexesAreNeverUsedTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t, words(), map[string]string{"a.md": "One.\n", "b.md": "Other.\n"})
	past := map[string]string{}
	for n := range 6 {
		text := fmt.Sprintf("Version %d of the turbine.", n)
		files(t, p.docs, map[string]string{"a.md": text + "\n"})
		p.sync(t)
		for key, now := range all(t, p.Store) {
			if old, ok := past[key]; ok && old != now {
				t.Errorf("%s was %q, is %q", key, old, now)
			}
			past[key] = now
		}
		if n%2 == 0 {
			if _, err := p.Delete(t.Context(), "", []string{"a.md"}); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(filepath.Join(p.docs, "a.md")); err != nil {
			t.Fatal(err)
		} else {
			p.sync(t)
		}
	}
	equal(t, "keys of a.md", len(past), 7)
}
