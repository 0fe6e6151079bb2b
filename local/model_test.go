package local_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/sharedtest"
	"github.com/exhibit-rag/exhibit/local"
)

// model is what must be true of a store after any number of edits: it holds the texts of now, and no key ever named
// two texts.
type model struct {
	named map[string]string // evidence key → the text it named first
	next  map[string]int    // docId → least index that new text may get
}

func newModel() *model { return &model{named: map[string]string{}, next: map[string]int{}} }

// check holds a store against the model and against the files of now, and returns what is wrong.
func (m *model) check(t testing.TB, s *local.Store, docs map[string]string) (wrong []string) {
	t.Helper()
	errorf := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	now := all(t, s)
	perDoc := map[string]bool{}
	highest := maps.Clone(m.next)
	for key, text := range now {
		k, err := exhibit.ParseKey(key)
		if err != nil {
			t.Fatal(err)
		}
		perDoc[k.DocID()] = true
		if old, ok := m.named[key]; ok && old != text {
			errorf("%s named %q, and names %q", key, old, text)
		} else if !ok && k.Index() < m.next[k.DocID()] {
			errorf("%s is new, and its index was passed before", key)
		}
		m.named[key] = text
		highest[k.DocID()] = max(highest[k.DocID()], k.Index()+1)
		if docs != nil && !strings.Contains(docs[k.DocID()], text) {
			errorf("%s: %q does not stand in the file", key, text)
		}
	}
	m.next = highest
	for id := range docs {
		if !perDoc[id] {
			errorf("%s is not there", id)
		}
	}
	for id := range perDoc {
		if _, ok := docs[id]; docs != nil && !ok {
			errorf("%s is still there", id)
		}
	}
	return wrong
}

// TestModel edits, adds, deletes, syncs and reopens at random, and compares with the model and with a store that was
// made of the last state alone.
func TestModel(t *testing.T) {
	t.Parallel()
	paragraph := rapid.SampledFrom([]string{"The turbine spins.", "The gate is shut.", "Bikes stand in the yard.", "Oil is changed in May.", "## Notes", "## Rules", "年假有二十天。"})
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; runs > 25 && os.Getenv("EXHIBIT_SLOW") == "" {
			return // each waits for the disk some twenty times
		}
		p := newPlace(t, words(), map[string]string{"a.md": "The turbine spins.\n"})
		docs := map[string]string{"a.md": "The turbine spins.\n"}
		m := newModel()
		p.sync(t)
		m.check(t, p.Store, docs)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"a.md", "b.md", "c/d.md"}).Draw(rt, "name")
			switch rapid.SampledFrom([]string{"write", "write", "write", "remove", "delete", "reopen", "rebuild"}).Draw(rt, "step") {
			case "write":
				list := rapid.SliceOfN(paragraph, 1, 5).Draw(rt, "text")
				docs[name] = strings.Join(list, "\n\n") + "\n\nEnd.\n"
				files(t, p.docs, map[string]string{name: docs[name]})
			case "remove":
				if _, ok := docs[name]; !ok || len(docs) == 1 {
					continue
				}
				delete(docs, name)
				if err := os.Remove(filepath.Join(p.docs, filepath.FromSlash(name))); err != nil {
					rt.Fatal(err)
				}
			case "delete":
				_, err := p.Delete(t.Context(), "", []string{name})
				if err != nil && code(err) != "not-found" {
					rt.Fatal(err)
				}
			case "reopen":
				p.Close()
				p.Store = open(t, p.folder, words())
			case "rebuild":
				syncWith(t, p.Store, local.SyncRequest{Rebuild: local.Rebuild{Chunks: true, Index: true}})
			}
			p.sync(t)
			if wrong := m.check(t, p.Store, docs); wrong != nil {
				rt.Fatal(strings.Join(wrong, "\n"))
			}
		}
		fresh := newPlace(t, words(), docs)
		fresh.sync(t)
		for _, q := range []string{"turbine", "gate shut", "yard bikes oil", "年假"} {
			a, b := texts(lookup(t, p.Store, wide(q))), texts(lookup(t, fresh.Store, wide(q)))
			if a != b {
				rt.Fatalf("%s: after the edits\n%sof the last state alone\n%s", q, a, b)
			}
		}
		p.Close()
		fresh.Close()
	})
}

// texts are documents, places and texts of an answer, in the order of the documents: indexes, and with them the order
// of equal scores, depend on what was there before.
func texts(res *exhibit.LookupResult) string {
	var list []string
	for _, e := range res.Evidence {
		list = append(list, fmt.Sprintf("%s:%d %q %.9f\n", e.DocID, e.Span.StartByte, e.Text, e.Score))
	}
	slices.Sort(list)
	return strings.Join(list, "")
}

// TestHistory syncs the versions of a real collection of documents, one after another.
func TestHistory(t *testing.T) {
	if os.Getenv("EXHIBIT_SLOW") == "" {
		t.Skip("syncs many versions; set EXHIBIT_SLOW=1")
	}
	bundle := filepath.Join(sharedtest.Dir(t, "histories"), "mcp-docs.bundle")
	p := newPlace(t, words(), nil)
	git := func(args ...string) string {
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			t.Skip("git: ", err)
		}
		return strings.TrimSpace(string(out))
	}
	git("clone", "-q", bundle, p.docs)
	commits := strings.Fields(git("-C", p.docs, "log", "--reverse", "--format=%H"))
	m := newModel()
	const versions = 12
	for i := range versions {
		git("-C", p.docs, "checkout", "-q", commits[i*(len(commits)-1)/(versions-1)])
		r, err := p.Sync(t.Context(), local.SyncRequest{Roots: []local.Root{{Path: p.docs}}})
		if err != nil {
			t.Log(err) // a version may have no document yet
			continue
		}
		t.Logf("%+v %+v", r.Documents, r.Chunks)
		if wrong := m.check(t, p.Store, nil); wrong != nil {
			t.Error(strings.Join(wrong, "\n"))
		}
	}
	fresh := open(t, filepath.Join(t.TempDir(), ".exhibit"), words())
	sync(t, fresh, p.docs)
	a, b := all(t, p.Store), all(t, fresh)
	count := func(of map[string]string) map[string]int {
		out := map[string]int{}
		for key, text := range of {
			id, _, _ := strings.Cut(key, "#chunk-")
			out[id+"\x00"+text]++
		}
		return out
	}
	if !maps.Equal(count(a), count(b)) {
		t.Errorf("%d chunks after the history, %d of the last version alone, or others", len(a), len(b))
	}
	for _, q := range []string{"How does a client authenticate?", "tool annotations", "progress token"} {
		equal(t, q, texts(lookup(t, p.Store, wide(q))), texts(lookup(t, fresh, wide(q))))
	}
}
