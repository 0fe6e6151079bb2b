package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullFileSystem syncs onto a file system of a megabyte and a half, which grows until all fits.
func TestFullFileSystem(t *testing.T) {
	docs := map[string]string{"docs/first.md": "# First\n\nThe turbine of the first page spins.\n"}
	b := newBench(t, docs)
	disk := filepath.Join(b.dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1500k"); err != nil {
		t.Skip("no file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	store := filepath.Join(disk, "store")
	if _, errs, code := b.run(t, "--store", store, "sync", "docs"); code != 0 {
		t.Fatal(errs)
	}
	for i := range 300 {
		text := fmt.Sprintf("# More %d\n\n%s\n", i, strings.Repeat(fmt.Sprintf("Wind %d blows over sea %d and brings storm %d. ", i, i*7, i*13), 60))
		if err := os.WriteFile(filepath.Join(b.dir, "docs", fmt.Sprintf("more%03d.md", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	failures := 0
	for kib := 1500; ; kib += 200 {
		if kib > 60_000 {
			t.Fatal("it never fits")
		}
		if err := unix.Mount("", disk, "", unix.MS_REMOUNT, fmt.Sprintf("size=%dk", kib)); err != nil {
			t.Skip("the file system does not grow: ", err)
		}
		out, errs, code := b.run(t, "--store", store, "sync", "docs")
		if code == 0 {
			if !strings.Contains(out, " 0 removed, 0 failed") {
				t.Errorf("with enough space: %s", out)
			}
			break
		}
		failures++
		if !strings.Contains(errs, "exhibit: error: ") || !strings.Contains(errs, "exhibit: hint: free some space and sync again") {
			t.Errorf("%d KiB: exit %d, says %q", kib, code, errs)
		}
		// A byte is free only after the disk grows, and a lookup needs some.
		if err := unix.Mount("", disk, "", unix.MS_REMOUNT, fmt.Sprintf("size=%dk", kib+200)); err != nil {
			t.Fatal(err)
		}
		if out, errs, code = b.run(t, "--store", store, "fetch", "--raw", "first.md#chunk-0"); code != 0 || out != "The turbine of the first page spins." {
			t.Fatalf("%d KiB: the store answers %d %q %q", kib, code, out, errs)
		}
	}
	if failures == 0 {
		t.Error("no sync failed; the file system is too large")
	}
	if out, _, code := b.run(t, "--store", store, "status"); code != 0 || !strings.Contains(out, "documents   301 (0 stale, 0 failed)") {
		t.Errorf("in the end: %d %s", code, out)
	}
}
