package lockfile

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestSecondWaitsThenNamesTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	first, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = Acquire(t.Context(), path, 120*time.Millisecond)
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("second Acquire: %v, want *HeldError", err)
	}
	if waited := time.Since(start); waited < 120*time.Millisecond {
		t.Errorf("waited %v only", waited)
	}
	if held.Holder.PID != os.Getpid() || held.Holder.Host == "" || time.Since(held.Holder.Since) > time.Minute {
		t.Errorf("holder %+v", held.Holder)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 0 {
		t.Errorf("after release the file holds %q, %v", b, err)
	}
	second, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("second release: %v", err)
	}
}

func TestAcquireGetsTheLockWhileWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	first, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(60*time.Millisecond, func() { first.Release() })
	second, err := Acquire(t.Context(), path, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	first, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, path, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestLeftOverTextLocksNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	for _, text := range []string{"", "{", `{"pid":1,"host":"elsewhere"}`} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		l, err := Acquire(t.Context(), path, 0)
		if err != nil {
			t.Fatalf("with %q left: %v", text, err)
		}
		l.Release()
	}
}

// TestKilledHolder runs this test again as a process that takes the lock and is killed.
func TestKilledHolder(t *testing.T) {
	if path := os.Getenv("LOCKFILE_HOLD"); path != "" {
		if _, err := Acquire(t.Context(), path, 0); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("held\n")
		select {}
	}
	path := filepath.Join(t.TempDir(), "x.lock")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledHolder$")
	cmd.Env = append(os.Environ(), "LOCKFILE_HOLD="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for sc := bufio.NewScanner(out); sc.Scan() && sc.Text() != "held"; {
	}
	_, err = Acquire(t.Context(), path, 0)
	var held *HeldError
	if !errors.As(err, &held) || held.Holder.PID != cmd.Process.Pid {
		t.Errorf("while it lives: %v, want held by %d", err, cmd.Process.Pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	l, err := Acquire(t.Context(), path, 0)
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	l.Release()
}
