package store

import (
	"strings"
	"testing"
)

// TestNoQueryOfALookupScansATable asks SQLite how it would run the queries that lookups and syncs make for single documents or chunks.
func TestNoQueryOfALookupScansATable(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	replace(t, w, version("a", "one", "two"))
	seen := map[string]bool{}
	ran := func(c *conn) {
		for q := range c.stmts {
			if strings.HasPrefix(q, "SELECT") || strings.HasPrefix(q, "UPDATE") || strings.HasPrefix(q, "DELETE") {
				seen[q] = true
			}
		}
	}
	embed(t, w, version("a", "one"))
	replace(t, w, version("a", "one"))
	remove(t, w, "a")
	replace(t, w, version("a", "one"))
	if err := w.Touch(t.Context(), "c", []Document{version("a", "one").Document}); err != nil {
		t.Fatal(err)
	}
	ran(w.c)
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	ctx := t.Context()
	for _, err := range []error{
		second(sn.Chunks(ctx, nil)), second(sn.ChunkByKey(ctx, "a", 0)), second(sn.Neighbours(ctx, "a", 0, 1, 1)), second(sn.DocumentChunks(ctx, "a")),
		second(sn.Document(ctx, "a")), second(sn.History(ctx, "a", 0)), second(sn.ChunksWithContent(ctx, HashText("one"))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ran(sn.c)
	if len(seen) < 15 {
		t.Fatalf("%d queries only", len(seen))
	}
	for q := range seen {
		var plan []string
		err := sn.c.query(ctx, "EXPLAIN QUERY PLAN "+q, make([]any, 20)[:strings.Count(q, "?")], func(scan func(...any) error) error {
			var id, parent, unused int
			var line string
			err := scan(&id, &parent, &unused, &line)
			plan = append(plan, line)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range plan {
			if strings.Contains(line, "seq (collection=?)") && !strings.Contains(q, "vseq = 0") || strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "json_each") && !strings.HasPrefix(q, selectCollection) {
				t.Errorf("%s\n%s", q, strings.Join(plan, "\n"))
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
