package store

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestOpenWithoutStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening made the folder: %v", err)
	}
}

// filled makes a store with some text and returns its folder; it is closed, so that all of it is in the one file.
func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	w := writer(t, s)
	for _, id := range []string{"a", "b", "c"} {
		replace(t, w, version(id, strings.Repeat("one ", 3000), "two"))
	}
	publish(t, w)
	w.Close()
	s.Close()
	return dir
}

func TestForeignTruncatedAndNewerFilesAreNamedAndLeftAlone(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, FileName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	with := func(f func(b []byte) []byte) []byte { return f(slices.Clone(good)) }
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"empty":             {nil, "it is empty"},
		"short":             {good[:60], "move the folder away"},
		"text":              {bytes.Repeat([]byte("some text\n"), 100), "not a database"},
		"of another":        {with(func(b []byte) []byte { copy(b[68:], "none"); return b }), "another program"},
		"cut in half":       {good[:len(good)/2], "malformed"},
		"one byte short":    {good[:len(good)-1], "truncated"},
		"newer":             {with(func(b []byte) []byte { b[63] = 7; return b }), "format 7, this program knows formats up to 1"},
		"schema overwrit'n": {with(func(b []byte) []byte { copy(b[100:], bytes.Repeat([]byte{0xa5}, 4000)); return b }), "move the folder away"},
	} {
		if err := os.WriteFile(path, c.file, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, testOptions())
		var newer *NewerError
		if !errors.Is(err, ErrCorrupt) && !errors.As(err, &newer) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, c.file) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
	if err := os.WriteFile(path, good, 0o666); err != nil {
		t.Fatal(err)
	}
	intact(t, open(t, dir))
}

// TestDamageIsFound flips bytes all over a store file: a deep check or some read must say so, or nothing that is served may differ.
func TestDamageIsFound(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, FileName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	const tries = 24
	for i := range tries {
		at := 4096 + i*(len(good)-4096)/tries
		b := slices.Clone(good)
		for j := range 64 {
			b[(at+j)%len(b)] ^= 0x5a
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if damaged(t, dir) {
			found++
			continue
		}
		s := open(t, dir) // what was hit is not in use
		if got := words(t, s, "two"); len(got) != 3 {
			t.Errorf("damage at %d was not found, and %v are served", at, got)
		}
		s.Close()
	}
	if found < tries/4 {
		t.Errorf("%d of %d damages were found", found, tries)
	}
}

// damaged reports whether anything says that the store is not whole; a panic fails the test by itself.
func damaged(t *testing.T, dir string) bool {
	s, err := Open(t.Context(), dir, testOptions())
	if err != nil {
		return true
	}
	defer s.Close()
	fs, err := s.Check(t.Context(), true)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Level == "fail" })
}

func TestManyCreateOneStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	var wg sync.WaitGroup
	secrets := make([][32]byte, 6)
	for i := range secrets {
		wg.Go(func() {
			o := testOptions()
			o.LockTimeout = DefaultLockTimeout
			s, err := Open(t.Context(), dir, o)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			secrets[i] = s.Secret()
		})
	}
	wg.Wait()
	for i := range secrets {
		if secrets[i] != secrets[0] {
			t.Error("two creators made two stores")
		}
	}
}

func TestLeftOversOfAKilledCreation(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{FileName + ".new", FileName + ".new-journal"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	replace(t, writer(t, open(t, dir)), version("a", "one"))
	if _, err := os.Stat(filepath.Join(dir, FileName+".new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left over: %v", err)
	}
}

func TestCheckFindsWhatWasChangedByHand(t *testing.T) {
	for name, q := range map[string]string{
		"text":        `UPDATE texts SET text = text || 'x' WHERE document = 1`,
		"chunk text":  `UPDATE chunks SET text = 'zero' WHERE id = 2`,
		"span":        `UPDATE chunks SET start_byte = start_byte + 1 WHERE id = 2`,
		"position":    `UPDATE chunks SET position = 9 WHERE id = 2`,
		"a chunk":     `DELETE FROM chunks WHERE id = 2`,
		"counter":     `UPDATE documents SET next_index = 1 WHERE id = 1`,
		"accumulator": `UPDATE collections SET acc = randomblob(32)`,
		"digest":      `UPDATE documents SET digest = randomblob(32) WHERE id = 1`,
		"title":       `UPDATE documents SET title = 'x' WHERE id = 1`,
		"a vector":    `DELETE FROM embeddings WHERE id = 1`,
		"vector size": `UPDATE embeddings SET vec = x'00' WHERE id = 1`,
		"vector flag": `UPDATE chunks SET vseq = 0 WHERE id = 2`,
	} {
		dir := t.TempDir()
		s := open(t, dir)
		w := writer(t, s)
		v := version("a", "one", "two")
		replace(t, w, v)
		embed(t, w, v)
		intact(t, s)
		db, err := sql.Open("sqlite", filepath.Join(dir, FileName))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
		db.Close()
		if !damaged(t, dir) {
			t.Errorf("%s: not found", name)
		}
	}
}
