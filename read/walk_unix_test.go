//go:build unix

package read

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWalkPassesOverPipesAndSockets(t *testing.T) {
	root := tree(t, map[string]string{"f": "x"})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if l, err := net.Listen("unix", filepath.Join(root, "s")); err == nil {
		defer l.Close()
	}
	want := []string{"f", "pipe a", "s a"} // "a pipe, socket or device"
	if d := cmp.Diff(want, walked(t, root, nil)); d != "" {
		t.Error(d)
	}
	done := make(chan error)
	go func() {
		_, err := File(Entry{Path: filepath.Join(root, "pipe")}, 0)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a pipe is read")
		}
	case <-time.After(5 * time.Second):
		t.Error("opening a pipe waits for its writer")
	}
}
