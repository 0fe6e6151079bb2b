//go:build unix

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errInjected = errors.New("injected")

// workload is a sync in small: it adds, embeds, changes, records, removes, publishes. It stops at the first error and says how many steps were done.
func workload(ctx context.Context, w *Writer) (int, error) {
	v, u := version("a", "one", "two", "three"), version("b", "four")
	changed := version("a", "one", "five")
	steps := []func() error{
		func() error { return w.EnsureCollection(ctx, "c", testStamps) },
		func() error { return w.PutRoot(ctx, "c", Root{Path: "/r", Kind: "folder"}) },
		func() error { _, err := w.Replace(ctx, "c", []Version{v, u}); return err },
		func() error { return w.PutEmbeddings(ctx, testModel, embeddings(v, u, changed)) },
		func() error { _, err := w.Replace(ctx, "c", []Version{changed}); return err },
		func() error { return w.RecordFailures(ctx, "c", []Failure{{ID: "b", Code: "unreadable"}}) },
		func() error { _, _, err := w.Remove(ctx, "c", []string{"b"}); return err },
		func() error { _, err := w.CollectGarbage(ctx); return err },
		func() error { _, err := w.PublishDerived(ctx, "c", true); return err },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return i, err
		}
	}
	return len(steps), nil
}

// state prints all that a reader sees of a and b, but not times.
func state(t *testing.T, s *Store) string {
	t.Helper()
	sn, err := s.Snapshot(t.Context(), "c")
	if errors.Is(err, ErrNotFound) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	var b strings.Builder
	n, err := sn.Counts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "%s %+v\n", sn.Revision(), n)
	for _, id := range []string{"a", "b"} {
		rows, err := sn.DocumentChunks(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			fmt.Fprintf(&b, "%s %d %d %q %v\n", id, r.Index, r.Position, r.Text, r.HasVector)
		}
	}
	return b.String()
}

// TestNthWriteFails makes each statement that writes (each third, without EXHIBIT_SLOW=1) fail in turn: the step's error comes back, what a reader sees is the state before or after
// that step, and the same workload run again ends where an undisturbed one does.
func TestNthWriteFails(t *testing.T) {
	clean := open(t, t.TempDir())
	w, err := clean.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	clean.fault = func(string) error { writes++; return nil }
	states := map[string]bool{"none": true}
	if _, err := workload(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	final := state(t, clean)
	if writes < 40 {
		t.Fatalf("%d writes only", writes)
	}
	w.Close()
	step := 3
	if os.Getenv("EXHIBIT_SLOW") != "" {
		step = 1
	}
	for n := 1; n <= writes; n += step {
		s := open(t, t.TempDir())
		w, err := s.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		var failing string
		s.fault = func(q string) error {
			if count++; count == n {
				failing = q
				return errInjected
			}
			return nil
		}
		done, err := workload(t.Context(), w)
		if !errors.Is(err, errInjected) {
			t.Fatalf("write %d: %v after %d steps", n, err, done)
		}
		s.fault = nil
		states[state(t, s)] = true
		intact(t, s)
		w.Close()
		if w, err = s.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := workload(t.Context(), w); err != nil {
			t.Fatalf("after write %d (%s) failed: %v", n, failing, err)
		}
		if got := state(t, s); got != final {
			t.Errorf("after write %d (%s) failed and all was done again:\n%s", n, failing, cmp.Diff(final, got))
		}
		w.Close()
		s.Close()
	}
	if len(states) > 8 { // there are nine steps, of which five change what is seen
		t.Errorf("%d states were seen: some step is not all or nothing", len(states))
	}
}

// TestFullDisk lets SQLite run out of pages, which it reports as it does a full disk.
func TestFullDisk(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	old := version("a", "one", "two")
	replace(t, w, old)
	before := state(t, s)
	var pages int
	if _, err := w.c.row(t.Context(), "PRAGMA page_count", nil, &pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		var got int
		if _, err := w.c.row(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", n), nil, &got); err != nil || got != n {
			t.Fatalf("limit %d: %v", got, err)
		}
	}
	limit(pages + 3)
	big := version("a", "one", strings.Repeat("three ", 20_000))
	small := version("b", "fits")
	chs, err := w.Replace(t.Context(), "c", []Version{big, small})
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "free some space") || len(chs) != 0 {
		t.Errorf("Replace: %v, %v", chs, err)
	}
	if got := state(t, s); got != before {
		t.Errorf("after the disk was full:\n%s", cmp.Diff(before, got))
	}
	intact(t, s)
	limit(100_000)
	if chs := replace(t, w, big, small); chs[0].New != 1 || !chs[1].Added {
		t.Errorf("with space again: %+v", chs)
	}
	intact(t, s)
}

// TestFileSizeLimit is a disk that is full for the operating system: no file may grow. It runs itself as a process with that limit.
func TestFileSizeLimit(t *testing.T) {
	dir := os.Getenv("STORE_LIMITED")
	if dir == "" {
		dir = t.TempDir()
		w := writer(t, open(t, dir))
		replace(t, w, version("a", "one"))
		w.Close()
		cmd := exec.Command("sh", "-c", `trap '' XFSZ; ulimit -f 400; exec "$0" -test.run='^TestFileSizeLimit$' -test.v`, os.Args[0])
		cmd.Env = append(os.Environ(), "STORE_LIMITED="+dir)
		out, err := cmd.CombinedOutput()
		if _, missing := exec.LookPath("sh"); missing != nil {
			t.Skip("needs sh")
		}
		if err != nil || !strings.Contains(string(out), "saw a full disk") {
			t.Errorf("%v\n%s", err, out)
		}
		intact(t, open(t, dir))
		return
	}
	s := open(t, dir)
	w := writer(t, s)
	before := state(t, s)
	_, err := w.Replace(t.Context(), "c", []Version{version("a", strings.Repeat("four ", 200_000))})
	if err == nil {
		t.Fatal("a file of 1 MB was written under a limit of 200 KB")
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	if got := state(t, s); got != before {
		t.Errorf("after the disk was full:\n%s", cmp.Diff(before, got))
	}
	fmt.Println("saw a full disk")
}

// TestReadOnly runs itself as a user who may not write, for the superuser may always.
func TestReadOnly(t *testing.T) {
	if dir := os.Getenv("STORE_READONLY"); dir != "" {
		readOnly(t, dir)
		return
	}
	for name, prepare := range map[string]func(dir string) error{
		"folder and file":            func(dir string) error { return chmod(dir, 0o555, 0o444) },
		"file only":                  func(dir string) error { return chmod(dir, 0o777, 0o444) },
		"folder only, file writable": func(dir string) error { return chmod(dir, 0o555, 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(dir, 0o777) })
			asNobody(t, dir)
		})
	}
	t.Run("with a log that was not replayed", func(t *testing.T) {
		live, dir := filled(t), t.TempDir()
		s := open(t, live)
		replace(t, writer(t, s), version("d", "two"))
		if err := os.CopyFS(dir, os.DirFS(live)); err != nil {
			t.Fatal(err)
		}
		if err := chmod(dir, 0o555, 0o444); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o777) })
		asNobody(t, dir)
	})
}

func asNobody(t *testing.T, dir string) {
	if os.Getuid() != 0 {
		readOnly(t, dir)
		return
	}
	runAsNobody(t, dir)
}

func TestCancelledReplaceStoresNothing(t *testing.T) {
	s := open(t, t.TempDir())
	w := writer(t, s)
	replace(t, w, version("a", "one"))
	before := state(t, s)
	for n := range 12 { // statements into the transaction
		ctx, cancel := context.WithCancel(t.Context())
		s.fault = func(string) error {
			if n--; n < 0 {
				cancel()
			}
			return nil
		}
		if _, err := w.Replace(ctx, "c", []Version{version("a", "two", "three"), version("b", "four")}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		cancel()
		s.fault = nil
		if got := state(t, s); got != before {
			t.Errorf("after cancelling:\n%s", cmp.Diff(before, got))
		}
	}
	intact(t, s)
}

func chmod(dir string, folder, file os.FileMode) error {
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return os.Chmod(path, file)
	})
	return errors.Join(err, os.Chmod(filepath.Join(dir, DerivedName), folder), os.Chmod(dir, folder))
}

func readOnly(t *testing.T, dir string) {
	before := listing(t, dir)
	s, err := Open(t.Context(), dir, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if !s.ReadOnly() {
		t.Error("it does not say that it is read-only")
	}
	want := 3
	if log, err := os.Stat(s.path + "-wal"); err == nil && log.Size() > 0 {
		want = 4 // the fourth is in the log only
	}
	if got := words(t, s, "two"); len(got) != want {
		t.Errorf("found %v", got)
	}
	sn, err := s.Snapshot(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if !viewOf(t, sn).parts[0].pure {
		t.Error("the derived file is not used")
	}
	sn.Close()
	intact(t, s)
	if _, err := s.Lock(t.Context()); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "writable") {
		t.Errorf("Lock: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("files changed:\n%s", diff)
	}
}

func listing(t *testing.T, dir string) (out []string) {
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !strings.HasSuffix(path, "-shm") && !strings.HasSuffix(path, "-wal") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func runAsNobody(t *testing.T, dir string) {
	const nobody = 65534
	for d := filepath.Dir(dir); d != filepath.Dir(d) && strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	// The test binary lies in a folder that only its owner may enter.
	tmp := filepath.Join(t.TempDir(), "test")
	if err := os.WriteFile(tmp, b, 0o755); err != nil {
		t.Fatal(err)
	}
	for d := filepath.Dir(tmp); strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	cmd := exec.Command(tmp, "-test.run=^TestReadOnly$", "-test.v")
	cmd.Env = append(os.Environ(), "STORE_READONLY="+dir, "TMPDIR=/")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestReadOnly") {
		t.Errorf("%v\n%s", err, out)
	}
}
