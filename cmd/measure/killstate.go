package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/local"
)

// version is one version of a document; the zero version is none.
type version struct {
	hash   string // of its text
	chunks int
}

// state is what a store holds.
type state struct {
	revision  string
	documents map[string]version
	gone      string   // tombstones
	answers   []string // of a few questions: keys and scores
	faults    []string // found by hashing everything again
}

// look opens a store and reads all of it.
func (f *killField) look(ctx context.Context, name string) (*state, error) {
	store, err := local.Open(ctx, f.path(name), &local.Options{WordsOnly: f.provider == "none"})
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	s, err := readState(ctx, store)
	return s, errors.Join(err, store.Close())
}

func readState(ctx context.Context, store *local.Store) (*state, error) {
	s := &state{documents: map[string]version{}}
	status, err := store.Status(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	s.revision = status.Revision
	rows, err := store.Documents(ctx, local.ListRequest{})
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	for _, row := range rows {
		s.documents[row.DocID] = version{row.ContentHash, row.Chunks}
		if row.State != local.StateCurrent {
			s.faults = append(s.faults, fmt.Sprintf("%s is %s: %s", row.DocID, row.State, row.Reason))
		}
	}
	gone, err := store.Documents(ctx, local.ListRequest{State: local.StateGone})
	if err != nil {
		return nil, fmt.Errorf("list the gone: %w", err)
	}
	for _, row := range gone {
		s.gone += row.DocID + "\n"
	}
	findings, err := store.Check(ctx, true)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	for _, f := range findings {
		if f.Level == "fail" {
			s.faults = append(s.faults, f.Name+": "+f.Detail)
		}
	}
	for _, q := range []string{"Who won the championship in the last season?", "Wie viele Einwohner hat die Stadt?", "黑豹队的防守丢了多少分？"} {
		res, err := store.Lookup(ctx, exhibit.LookupRequest{Query: q})
		if err != nil {
			return nil, fmt.Errorf("lookup: %w", err)
		}
		if len(res.Degraded) > 0 {
			s.faults = append(s.faults, fmt.Sprintf("a lookup is degraded: %+v", res.Degraded))
		}
		answer := ""
		for _, e := range res.Evidence {
			answer += fmt.Sprintf("%s %v %s\n", e.Key, e.Score, e.ContentHash)
		}
		s.answers = append(s.answers, answer)
	}
	return s, nil
}

// differs tells how a store differs from the one that was never disturbed.
func (s *state) differs(want *state) []string {
	var out []string
	if s.revision != want.revision {
		out = append(out, fmt.Sprintf("revision %s, not %s", s.revision, want.revision))
	}
	if s.gone != want.gone {
		out = append(out, "other tombstones")
	}
	if len(s.documents) != len(want.documents) {
		out = append(out, fmt.Sprintf("%d documents, not %d", len(s.documents), len(want.documents)))
	}
	for id, v := range want.documents {
		if s.documents[id] != v {
			out = append(out, fmt.Sprintf("%s is %+v, not %+v", id, s.documents[id], v))
		}
	}
	for i, a := range want.answers {
		if s.answers[i] != a {
			out = append(out, fmt.Sprintf("question %d is answered with %q, not %q", i+1, s.answers[i], a))
		}
	}
	return out
}

// paragraphs returns the paragraphs of the question sets in four languages, taking turns.
func (b *bench) paragraphs() ([]string, error) {
	var sets [][]string
	for _, name := range []string{"xquad-en", "xquad-zh", "xquad-de", "xquad-th"} {
		dir, err := b.dataset(name)
		if err != nil {
			return nil, err
		}
		texts, err := corpusTexts(filepath.Join(dir, "corpus.jsonl"))
		if err != nil {
			return nil, err
		}
		sets = append(sets, texts)
	}
	var out []string
	for i := range sets[0] {
		for _, s := range sets {
			if i < len(s) {
				out = append(out, s[i])
			}
		}
	}
	return out, nil
}

func corpusTexts(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	d := json.NewDecoder(bufio.NewReader(f))
	for d.More() {
		var row struct{ Text string }
		if err := d.Decode(&row); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, row.Text)
	}
	return out, nil
}

// page is a file of several paragraphs, which makes several chunks.
func page(paragraphs []string, i int, changed bool) string {
	const each = 4
	var b strings.Builder
	fmt.Fprintf(&b, "# Page %d\n", i)
	for j := range each {
		text := paragraphs[(i*each+j)%len(paragraphs)]
		if changed && j == 1 {
			text = "What stood here was written anew. " + paragraphs[(i*each+j+7)%len(paragraphs)]
		}
		fmt.Fprintf(&b, "\n## Part %d\n\n%s\n", j+1, text)
	}
	return b.String()
}

func fileName(i int) string { return fmt.Sprintf("part-%d/page-%03d.md", i%5, i) }

// firstState has n files.
func firstState(paragraphs []string, n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fileName(i)] = page(paragraphs, i, false)
	}
	return files
}

// secondState changes every fourth file, leaves out every fourth, keeps the others and adds n/4.
func secondState(paragraphs []string, n int) map[string]string {
	files := map[string]string{}
	for i := range n + n/4 {
		if i >= n || i%4 != 1 {
			files[fileName(i)] = page(paragraphs, i, i < n && i%4 == 0)
		}
	}
	return files
}

func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
