package local_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
	"github.com/exhibit-rag/exhibit/local"
)

// words are the options of a store without an embedder.
func words() *local.Options { return &local.Options{WordsOnly: true} }

// fake are the options of a store whose embedder needs no weights.
func fake() *local.Options { return &local.Options{Embedder: &exhibittest.FakeEmbedder{}} }

// open opens a store and closes it at the end of the test.
func open(t testing.TB, folder string, opt *local.Options) *local.Store {
	t.Helper()
	s, err := local.Open(t.Context(), folder, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// files writes files below a folder: names are slash paths.
func files(t testing.TB, folder string, contents map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(contents[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sync brings folders into step and fails the test where a source fails.
func sync(t testing.TB, s *local.Store, folders ...string) *local.SyncReport {
	t.Helper()
	var req local.SyncRequest
	for _, f := range folders {
		req.Roots = append(req.Roots, local.Root{Path: f})
	}
	return syncWith(t, s, req)
}

func syncWith(t testing.TB, s *local.Store, req local.SyncRequest) *local.SyncReport {
	t.Helper()
	r, err := s.Sync(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if r.Documents.Failed > 0 {
		t.Fatalf("failed: %+v", r.Failures)
	}
	return r
}

// lookup asks, and holds the answer against all that must hold of every answer.
func lookup(t testing.TB, s *local.Store, req exhibit.LookupRequest) *exhibit.LookupResult {
	t.Helper()
	res, err := s.Lookup(t.Context(), req)
	if err != nil {
		t.Fatalf("lookup %q: %v", req.Query, err)
	}
	if err := exhibittest.CheckResult(req, res); err != nil {
		t.Errorf("lookup %q: %v", req.Query, err)
	}
	return res
}

func ask(t testing.TB, s *local.Store, query string) *exhibit.LookupResult {
	t.Helper()
	return lookup(t, s, exhibit.LookupRequest{Query: query})
}

// wide returns everything that is found.
func wide(query string) exhibit.LookupRequest {
	return exhibit.LookupRequest{Query: query, Settings: exhibit.LookupSettings{
		RetrieveK: exhibit.Set(100), ReturnN: exhibit.Set(100), MaxChunksPerDocument: exhibit.Set(100)}}
}

func keys(res *exhibit.LookupResult) []string {
	out := []string{}
	for _, e := range res.Evidence {
		out = append(out, e.Key.String())
	}
	return out
}

// shape is everything of an answer but what belongs to the store it came from.
func shape(res *exhibit.LookupResult) string {
	var b strings.Builder
	for _, e := range res.Evidence {
		fmt.Fprintf(&b, "%s %s %q %v %v\n", e.Handle, e.Key, e.Text, e.Span, e.HitReasons)
	}
	for _, e := range res.Ledger.Entries {
		fmt.Fprintf(&b, "%s %s %s", e.Key, e.State, e.Reason)
		for _, s := range e.Scores.Legs {
			fmt.Fprintf(&b, " %s %v #%d", s.Leg, s.Score, s.Rank)
		}
		if e.Scores.Fused != nil {
			fmt.Fprintf(&b, " fused %v", *e.Scores.Fused)
		}
		b.WriteByte('\n')
	}
	return b.String() + res.Revision
}

// lines are documents as JSON lines.
func lines(t testing.TB, docs []exhibittest.Doc) string {
	t.Helper()
	var b strings.Builder
	for _, d := range docs {
		data, err := json.Marshal(map[string]any{"doc_id": d.DocID, "title": d.Title, "text": d.Text, "media_type": "text/markdown", "metadata": d.Metadata})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}

// stored returns a store that holds the documents.
func stored(t testing.TB, opt *local.Options, docs []exhibittest.Doc) *local.Store {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), ".exhibit"), opt)
	syncWith(t, s, local.SyncRequest{Lines: strings.NewReader(lines(t, docs)), LinesName: "docs", AllowEmpty: true})
	return s
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func code(err error) exhibit.Code {
	if err == nil {
		return ""
	}
	return exhibit.CodeOf(err)
}
