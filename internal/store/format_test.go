package store

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the store of the current format in testdata/format where there is none; one of a released format is never written again")

// formatFile is a store of a format as a program of that format left it. It is compressed since most of its 8 KiB pages hold little.
func formatFile(format int) string {
	return filepath.Join("..", "..", "testdata", "format", fmt.Sprint(format), FileName+".gz")
}

// Texts and times of the store in testdata/format/1. The test spells out what follows from them, so that what the file holds does not
// change its meaning when other tests' fixtures do.
var (
	formatFirst  = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	formatSecond = formatFirst.Add(24 * time.Hour)
	formatThird  = formatSecond.Add(24 * time.Hour)
)

// formatVersion makes a document of paragraphs that stand under one heading.
func formatVersion(id, metadata string, paragraphs ...string) Version {
	v := version(id, paragraphs...)
	v.Document.Title, v.Document.Metadata, v.Document.Mark = "Title of "+id, metadata, "mark"
	for i := range v.Chunks {
		c := &v.Chunks[i]
		c.HeadingPath, c.Context = []string{"Title of " + id, "Part ü"}, "Title of "+id
		c.EmbedHash = HashText("passage: " + c.Text)
	}
	return v
}

// The four vectors of the store, by the text that they are of.
func formatVectors() map[string][]float32 {
	half := float32(math.Sqrt(.5))
	return map[string][]float32{"alpha one": {1, 0, 0, 0}, "beta two": {0, 1, 0, 0}, "gamma three": {half, half, 0, 0}, "水位 four": {0, 0, 0, 1}}
}

// writeFormat writes the store of the current format.
func writeFormat(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	now := formatFirst
	options := testOptions()
	options.Now = func() time.Time { return now }
	reopen := func() *Store {
		s, err := Open(t.Context(), dir, options)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	reopen().Close()
	execute(t, path, fmt.Sprintf("UPDATE meta SET value = x'%s' WHERE key = 'secret'", strings.Repeat("5e", 32)))
	s := reopen()
	w, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.EnsureCollection(t.Context(), "c", testStamps))
	must(w.EnsureCollection(t.Context(), "words", Stamps{Chunker: "cfg1", Analyser: "fields1"}))
	must(w.PutRoot(t.Context(), "c", Root{Path: "/r", Kind: "folder", Options: `{"include":["*.md"]}`}))
	replace(t, w, formatVersion("edited", "", "alpha one", "old text", "beta two"), formatVersion("gone", "", "gamma three", "epsilon"),
		formatVersion("水位.md", `{"lang":"zh"}`, "水位 four", "not embedded"))
	var es []Embedding
	vectors := formatVectors()
	for _, text := range slices.Sorted(maps.Keys(vectors)) {
		es = append(es, Embedding{Hash: HashText("passage: " + text), Vector: vectors[text]})
	}
	must(w.PutEmbeddings(t.Context(), testModel, es))
	now = formatSecond
	replace(t, w, formatVersion("edited", "", "alpha one", "new text", "beta two", "gamma three"))
	remove(t, w, "gone")
	now = formatThird
	must(w.RecordFailures(t.Context(), "c", []Failure{{ID: "bad.bin", Root: "/r", Source: "/r/bad.bin", Code: "no-text", Reason: "binary", Hint: "leave it out"}}))
	if _, err := w.Replace(t.Context(), "words", []Version{formatVersion("edited", "", "only words")}); err != nil {
		t.Fatal(err)
	}
	must(w.Close())
	must(s.Close())
	execute(t, path, "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM")
	data, err := os.ReadFile(path)
	must(err)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	must(err)
	_, err = z.Write(data)
	must(err)
	must(z.Close())
	must(os.MkdirAll(filepath.Dir(formatFile(Format)), 0o755))
	must(os.WriteFile(formatFile(Format), packed.Bytes(), 0o644))
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, "mode=rw"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

// openFormat opens a copy of the store of a format. The caller closes it.
func openFormat(t *testing.T, format int) *Store {
	t.Helper()
	f, err := os.Open(formatFile(format))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), data, 0o644); err != nil {
		t.Fatal(err)
	}
	options := testOptions()
	options.Create = false
	s, err := Open(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestFormat1 opens a store that a program of format 1 wrote and finds all that counts in it.
func TestFormat1(t *testing.T) {
	if _, err := os.Stat(formatFile(Format)); *update && errors.Is(err, fs.ErrNotExist) {
		writeFormat(t)
	}
	s := openFormat(t, 1)
	intact(t, s)
	if want := strings.Repeat("^", 32); string(s.secret[:]) != want {
		t.Errorf("secret %x", s.secret)
	}
	formatCollections(t, s)
	formatDocuments(t, s)
	formatChunks(t, s)
	formatHistory(t, s)
	formatSearch(t, s)
	formatWrites(t, s)
}

func formatCollections(t *testing.T, s *Store) {
	t.Helper()
	got, err := s.Collections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A revision is what citations and cursors were given out with: it outlives the program.
	want := []CollectionRow{
		{Name: "c", Revision: "cd5d2678e3a6", Stamps: Stamps{"cfg1", "fields1", "test-model", 4}},
		{Name: "words", Revision: "4a53649f12ee", Stamps: Stamps{"cfg1", "fields1", "", 0}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("collections (-want +got):\n%s", d)
	}
	roots, err := s.Roots(t.Context(), "c")
	if d := cmp.Diff([]Root{{Path: "/r", Kind: "folder", Options: `{"include":["*.md"]}`}}, roots); err != nil || d != "" {
		t.Errorf("roots: %v\n%s", err, d)
	}
}

func formatDocuments(t *testing.T, s *Store) {
	t.Helper()
	documents := func(state string) []string {
		return look(t, s, func(sn *Snapshot) ([]string, error) {
			rows, err := sn.Documents(t.Context(), DocumentQuery{State: state})
			var out []string
			for _, r := range rows {
				out = append(out, fmt.Sprintf("%s %d chunks, next %d", r.ID, r.Chunks, r.NextIndex))
			}
			return out, err
		})
	}
	for state, want := range map[string][]string{
		StateCurrent: {"edited 4 chunks, next 5", "水位.md 2 chunks, next 2"},
		StateGone:    {"gone 0 chunks, next 2"},
		StateFailed:  {"bad.bin 0 chunks, next 0"},
	} {
		if d := cmp.Diff(want, documents(state)); d != "" {
			t.Errorf("documents that are %s (-want +got):\n%s", state, d)
		}
	}
	row := look(t, s, func(sn *Snapshot) (DocumentRow, error) { return sn.Document(t.Context(), "水位.md") })
	want := Document{ID: "水位.md", Root: "/r", Source: "/r/水位.md", Title: "Title of 水位.md", MediaType: "text/plain", Text: "水位 four\n\nnot embedded",
		SourceHash: HashText("raw水位 four\n\nnot embedded"), Reader: "text1", Mark: "mark", Metadata: `{"lang":"zh"}`, ConfigHash: "cfg1"}
	if d := cmp.Diff(want, row.Document); d != "" || !row.SyncedAt.Equal(formatFirst) || row.ContentHash != HashText(want.Text) {
		t.Errorf("document synced at %v (-want +got):\n%s", row.SyncedAt, d)
	}
	row = look(t, s, func(sn *Snapshot) (DocumentRow, error) { return sn.Document(t.Context(), "gone") })
	if row.Text != "" || !row.GoneAt.Equal(formatSecond) || row.NextIndex != 2 {
		t.Errorf("gone: %+v", row)
	}
	row = look(t, s, func(sn *Snapshot) (DocumentRow, error) { return sn.Document(t.Context(), "bad.bin") })
	failure := &Failure{ID: "bad.bin", Root: "/r", Source: "/r/bad.bin", Code: "no-text", Reason: "binary", Hint: "leave it out", At: formatThird}
	if d := cmp.Diff(failure, row.Failure); d != "" {
		t.Errorf("failure (-want +got):\n%s", d)
	}
}

func formatChunks(t *testing.T, s *Store) {
	t.Helper()
	if d := cmp.Diff([]string{"0 alpha one", "3 new text", "2 beta two", "4 gamma three"}, keysOf(t, s, "edited")); d != "" {
		t.Errorf("chunks of edited (-want +got):\n%s", d)
	}
	row := look(t, s, func(sn *Snapshot) (ChunkRow, error) { return sn.ChunkByKey(t.Context(), "edited", 3) })
	row.ID = 0
	want := ChunkRow{Index: 3, Position: 1, ContentHash: HashText("new text"), DocID: "edited", Source: "/r/edited", Title: "Title of edited",
		MediaType: "text/plain", ConfigHash: "cfg1",
		Chunk: Chunk{Span: Span{StartByte: 11, EndByte: 19, StartLine: 3, EndLine: 3}, HeadingPath: []string{"Title of edited", "Part ü"},
			Context: "Title of edited", Text: "new text", EmbedHash: HashText("passage: new text")}}
	if d := cmp.Diff(want, row); d != "" {
		t.Errorf("chunk 3 of edited (-want +got):\n%s", d)
	}
}

func formatHistory(t *testing.T, s *Store) {
	t.Helper()
	for key, want := range map[string]Past{
		"edited 0": {Index: 0, ContentHash: HashText("alpha one"), First: Span{0, 9, 1, 1, 0, 0}, FirstSeen: formatFirst, LastSeen: formatSecond},
		"edited 1": {Index: 1, ContentHash: HashText("old text"), First: Span{11, 19, 3, 3, 0, 0}, FirstSeen: formatFirst, LastSeen: formatFirst, GoneAt: formatSecond},
		"gone 1":   {Index: 1, ContentHash: HashText("epsilon"), First: Span{13, 20, 3, 3, 0, 0}, FirstSeen: formatFirst, LastSeen: formatFirst, GoneAt: formatSecond},
	} {
		id, index := "", 0
		fmt.Sscan(key, &id, &index)
		got := look(t, s, func(sn *Snapshot) ([]Past, error) { return sn.History(t.Context(), id, index) })
		if d := cmp.Diff([]Past{want}, got); d != "" {
			t.Errorf("history of %s (-want +got):\n%s", key, d)
		}
	}
}

func formatSearch(t *testing.T, s *Store) {
	t.Helper()
	for query, want := range map[string][]string{
		"text": {"edited#chunk-3"}, "old": {}, "epsilon": {}, "水位": {"水位.md#chunk-0"}, "水位.md embedded": {"水位.md#chunk-1", "水位.md#chunk-0"},
	} {
		if d := cmp.Diff(want, words(t, s, query)); d != "" {
			t.Errorf("%q by words (-want +got):\n%s", query, d)
		}
	}
	hits := look(t, s, func(sn *Snapshot) ([]string, error) {
		hits, err := sn.Dense(t.Context(), []float32{0, 1, 0, 0}, 3, nil)
		var out []string
		for _, h := range hits {
			out = append(out, fmt.Sprintf("%s %.4f", h.Key, h.Score))
		}
		return out, err
	})
	if d := cmp.Diff([]string{"edited#chunk-2 1.0000", "edited#chunk-4 0.7071", "edited#chunk-0 0.0000"}, hits); d != "" {
		t.Errorf("by vector (-want +got):\n%s", d)
	}
	if n := look(t, s, func(sn *Snapshot) (int, error) { return sn.WithoutVector(nil), nil }); n != 2 {
		t.Errorf("%d chunks without a vector, want 2", n)
	}
}

// A store of an older program goes on being one: counters go on, what came back gets its key back.
func formatWrites(t *testing.T, s *Store) {
	t.Helper()
	w := writer(t, s)
	replace(t, w, formatVersion("gone", "", "brand new", "epsilon"), formatVersion("edited", "", "old text", "newest"))
	if d := cmp.Diff([]string{"2 brand new", "1 epsilon"}, keysOf(t, s, "gone")); d != "" {
		t.Errorf("what came back (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"1 old text", "5 newest"}, keysOf(t, s, "edited")); d != "" {
		t.Errorf("what was edited (-want +got):\n%s", d)
	}
	publish(t, w)
	intact(t, s)
}
