package store

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// killDocs is how many documents the killed sync works on.
const killDocs = 30

// killVersion is document i of a generation: some documents never change, some lack in odd generations, the others get other text, and more or less of it.
func killVersion(i, gen int) (Version, bool) {
	id := fmt.Sprintf("doc-%02d", i)
	switch {
	case i%5 == 0:
		gen = 0
	case i%5 == 1 && gen%2 == 1:
		return version(id), false
	}
	var ps []string
	for p := range 2 + (i+gen)%4 {
		ps = append(ps, fmt.Sprintf("generation %d of %s paragraph %d", gen, id, p))
	}
	ps = append(ps, "what stays of "+id)
	return version(id, ps...), true
}

// killSync brings the store to a generation as a sync does: changed documents get their vectors before they are replaced, new ones after.
func killSync(ctx context.Context, w *Writer, gen int) error {
	if err := w.EnsureCollection(ctx, "c", testStamps); err != nil {
		return err
	}
	known, err := w.Fingerprints(ctx, "c", AnyRoot)
	if err != nil {
		return err
	}
	var fresh []Version
	for i := range killDocs {
		v, there := killVersion(i, gen)
		old, was := known[v.Document.ID]
		switch {
		case !there && was:
			if _, _, err := w.Remove(ctx, "c", []string{v.Document.ID}); err != nil {
				return err
			}
		case !there || was && old.ContentHash == HashText(v.Document.Text):
		case was:
			if err := w.PutEmbeddings(ctx, testModel, embeddings(v)); err != nil {
				return err
			}
			if _, err := w.Replace(ctx, "c", []Version{v}); err != nil {
				return err
			}
		default:
			fresh = append(fresh, v)
		}
	}
	if _, err := w.Replace(ctx, "c", fresh); err != nil {
		return err
	}
	for {
		pending, err := w.PendingVectors(ctx, "c", 0, 16)
		if err != nil {
			return err
		}
		if len(pending) == 0 {
			break
		}
		var es []Embedding
		for _, p := range pending {
			es = append(es, Embedding{Hash: p.EmbedHash, Vector: unit(p.EmbedHash)})
		}
		if err := w.PutEmbeddings(ctx, testModel, es); err != nil {
			return err
		}
	}
	if _, err := w.CollectGarbage(ctx); err != nil {
		return err
	}
	_, err = w.PublishDerived(ctx, "c", true)
	return err
}

// TestKilledSyncProcess is the process that TestKill kills; alone it does nothing.
func TestKilledSyncProcess(t *testing.T) {
	dir := os.Getenv("STORE_KILL")
	if dir == "" {
		return
	}
	gen, err := strconv.Atoi(os.Getenv("STORE_KILL_GENERATION"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := open(t, dir).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("go\n")
	for ; ; gen++ {
		if err := killSync(t.Context(), w, gen); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(fmt.Sprintln("done", gen))
	}
}

// undisturbed returns how long a sync of the first generation takes on this machine, in this build.
func undisturbed(t *testing.T) time.Duration {
	t.Helper()
	w, err := open(t, t.TempDir()).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := killSync(t.Context(), w, 0); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return took
}

// TestKill kills a sync at random moments with SIGKILL: 24 times, with EXHIBIT_SLOW=1 250 times. Each time the store opens at once, every document is whole in
// one generation, counters never fall, a deep check finds nothing; and in the end one undisturbed sync gives the state that a fresh store has.
func TestKill(t *testing.T) {
	kills := 24
	if os.Getenv("EXHIBIT_SLOW") != "" {
		kills = 250
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	gen, seen := 0, 0
	counters := map[string]int{}
	window := max(60*time.Millisecond, 3*undisturbed(t))
	for range kills {
		gen = killOnce(t, dir, gen, time.Duration(r.Int64N(int64(window))))
		s := open(t, dir)
		seen += wholeGenerations(t, s, counters)
		intact(t, s)
		s.Close()
		if t.Failed() {
			t.FailNow()
		}
	}
	if seen == 0 {
		t.Error("no document was ever stored: the kills come too early")
	}
	s := open(t, dir)
	w, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := killSync(t.Context(), w, gen); err != nil {
		t.Fatal(err)
	}
	intact(t, s)
	clean := open(t, t.TempDir())
	cw, err := clean.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := killSync(t.Context(), cw, gen); err != nil {
		t.Fatal(err)
	}
	if a, b := texts(t, s), texts(t, clean); !slices.Equal(a, b) {
		t.Errorf("after %d kills and a sync:\n%q\nundisturbed:\n%q", kills, a, b)
	}
	t.Logf("%d kills, %d generations", kills, gen)
}

// TestKillDuringCreation kills the process at any moment from its start: then there is no store yet, or a whole one.
func TestKillDuringCreation(t *testing.T) {
	kills := 8
	if os.Getenv("EXHIBIT_SLOW") != "" {
		kills = 60
	}
	made := 0
	for i := range kills {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledSyncProcess$")
		cmd.Env = append(os.Environ(), "STORE_KILL="+dir, "STORE_KILL_GENERATION=0")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i+1) * 120 * time.Millisecond / time.Duration(kills))
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := os.Stat(filepath.Join(dir, FileName)); err == nil {
			made++
		}
		s := open(t, dir)
		intact(t, s)
		w, err := s.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := killSync(t.Context(), w, 0); err != nil {
			t.Fatal(err)
		}
		w.Close()
		s.Close()
	}
	t.Logf("%d of %d had made a store", made, kills)
}

// killOnce runs the process for some time after it has the lock, kills it and returns the generation that it was at.
func killOnce(t *testing.T, dir string, gen int, after time.Duration) int {
	reader := open(t, dir) // looks on all the while
	defer reader.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-stopped }()
	go func() {
		defer close(stopped)
		for counters := map[string]int{}; ; {
			select {
			case <-stop:
				return
			default:
				wholeGenerations(t, reader, counters)
			}
		}
	}()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledSyncProcess$")
	cmd.Env = append(os.Environ(), "STORE_KILL="+dir, fmt.Sprint("STORE_KILL_GENERATION=", gen))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	if !sc.Scan() || sc.Text() != "go" {
		cmd.Wait()
		t.Fatalf("the process says %q", sc.Text())
	}
	time.AfterFunc(after, func() { cmd.Process.Kill() })
	for sc.Scan() {
		var done int
		if _, err := fmt.Sscanf(sc.Text(), "done %d", &done); err != nil {
			cmd.Wait()
			t.Fatalf("the process says %q", sc.Text())
		}
		gen = done + 1
	}
	cmd.Wait()
	return gen
}

// wholeGenerations holds that each document served is exactly one of its versions, and that index counters do not fall. It returns how many are served.
func wholeGenerations(t *testing.T, s *Store, counters map[string]int) int {
	t.Helper()
	docs := 0
	for i := range killDocs {
		id := fmt.Sprintf("doc-%02d", i)
		sn, err := s.Snapshot(t.Context(), "c")
		if err != nil {
			return 0 // killed before the collection was made
		}
		d, err := sn.Document(t.Context(), id)
		if err == nil {
			if d.NextIndex < counters[id] {
				t.Errorf("%s: counter fell from %d to %d", id, counters[id], d.NextIndex)
			}
			counters[id] = d.NextIndex
		}
		rows, rerr := sn.DocumentChunks(t.Context(), id)
		sn.Close()
		if err != nil || d.State != Current {
			if len(rows) > 0 {
				t.Errorf("%s is not there, but %d of its chunks are", id, len(rows))
			}
			continue
		}
		docs++
		var got []string
		for _, r := range rows {
			got = append(got, r.Text)
		}
		var gen int
		if rerr != nil || len(got) == 0 {
			t.Errorf("%s: %v, %v", id, got, rerr)
			return docs
		}
		fmt.Sscanf(got[0], "generation %d", &gen)
		v, there := killVersion(i, gen)
		if want := strings.Split(v.Document.Text, "\n\n"); !there || !slices.Equal(got, want) || d.Text != v.Document.Text {
			t.Errorf("%s is no whole version: %q, want %q", id, got, want)
		}
	}
	return docs
}

// texts prints what is served, without indexes, which depend on the way.
func texts(t *testing.T, s *Store) []string {
	t.Helper()
	return look(t, s, func(sn *Snapshot) ([]string, error) {
		docs, err := sn.Documents(t.Context(), DocumentQuery{})
		var out []string
		for _, d := range docs {
			rows, err := sn.DocumentChunks(t.Context(), d.ID)
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				out = append(out, fmt.Sprint(d.ID, " ", r.Position, " ", r.Text, " ", r.HasVector))
			}
		}
		return out, err
	})
}
