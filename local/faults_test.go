package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	gosync "sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
	"github.com/exhibit-rag/exhibit/local"
)

// version is a document of a hundred sections that all name one number.
func version(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Release %d\n\n", n)
	for i := range 100 {
		fmt.Fprintf(&b, "## Part %d\n\nThe turbine of part %d is of release-%d today.\n\n", i, i, n)
	}
	return b.String()
}

func TestCase_38_an_embedder_that_dies_in_an_update_costs_nothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]exhibittest.EmbedFault{
		"error": exhibittest.EmbedError, "few": exhibittest.EmbedTooFew, "many": exhibittest.EmbedTooMany, "nan": exhibittest.EmbedNaN,
		"dimension": exhibittest.EmbedDimension, "hang": exhibittest.EmbedHang,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, fake(), map[string]string{"release.md": version(1), "other.md": "# Other\n\nThe turbine rests.\n"})
			p.sync(t)
			before, answer := all(t, p.Store), shape(ask(t, p.Store, "turbine part 7"))
			p.Close()

			files(t, p.docs, map[string]string{"release.md": version(2), "new.md": "# New\n\nThe turbine is new.\n"})
			broken := &exhibittest.FakeEmbedder{Fault: fault, FaultFrom: 2} // the first batch of 64 goes through
			s := open(t, p.folder, &local.Options{Embedder: broken})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if fault == exhibittest.EmbedHang {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
			}
			defer cancel()
			_, err := s.Sync(ctx, local.SyncRequest{})
			want := exhibit.Code("embedder")
			if fault == exhibittest.EmbedHang {
				want = "timeout"
			}
			if code(err) != want || want == "embedder" && exhibit.HintOf(err) == "" {
				t.Errorf("sync: %v (%s)", err, code(err))
			}
			s.Close()

			s = open(t, p.folder, fake())
			after := all(t, s)
			for key, text := range before {
				if after[key] != text {
					t.Errorf("%s is %q, was %q", key, after[key], text)
				}
			}
			if _, ok := after["new.md#chunk-0"]; !ok { // what has no old version is found by words at once
				equal(t, "answer", shape(ask(t, s, "turbine part 7")), answer)
			}
			r := sync(t, s, p.docs)
			if r.Documents.Changed != 1 {
				t.Errorf("the next sync: %+v", r.Documents)
			}
			fresh := newPlace(t, fake(), map[string]string{"release.md": version(2), "other.md": "# Other\n\nThe turbine rests.\n", "new.md": "# New\n\nThe turbine is new.\n"})
			fresh.sync(t)
			if got, want := len(all(t, s)), len(all(t, fresh.Store)); got != want {
				t.Errorf("%d chunks in the end, %d in a store of its own", got, want)
			}
		})
	}
}

func TestRebuildOfVectorsWithABrokenEmbedderKeepsThem(t *testing.T) {
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	before := shape(ask(t, p.Store, "bikes in the yard"))
	p.Close()
	for _, fault := range []exhibittest.EmbedFault{exhibittest.EmbedError, exhibittest.EmbedNaN, exhibittest.EmbedTooFew} {
		for _, model := range []string{"fake", "other"} {
			s := open(t, p.folder, &local.Options{Embedder: &exhibittest.FakeEmbedder{Name: model, Fault: fault}})
			if _, err := s.Sync(t.Context(), local.SyncRequest{Rebuild: local.Rebuild{Vectors: true}}); code(err) != "embedder" {
				t.Errorf("rebuild: %v", err)
			}
			s.Close()
			s = open(t, p.folder, fake())
			equal(t, "answer", shape(ask(t, s, "bikes in the yard")), before)
			s.Close()
		}
	}
}

func TestALookupWhoseQuestionCannotBeEmbeddedIsDegraded(t *testing.T) {
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	p.Close()
	s := open(t, p.folder, &local.Options{Embedder: &exhibittest.FakeEmbedder{Fault: exhibittest.EmbedError}})
	res := ask(t, s, "bikes in the yard")
	if len(res.Evidence) == 0 || len(res.Degraded) != 1 || res.Degraded[0].Port != exhibit.LegDense {
		t.Errorf("%v, degraded %+v", keys(res), res.Degraded)
	}
	_, err := s.Lookup(t.Context(), exhibit.LookupRequest{Query: "bikes", Settings: exhibit.LookupSettings{SearchMode: exhibit.Set("dense")}})
	if err == nil {
		t.Error("dense alone has no leg left, and answers")
	}
}

func TestAnotherModelIsRefusedUntilARebuild(t *testing.T) {
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	p.Close()
	for _, e := range []*exhibittest.FakeEmbedder{{Name: "other"}, {Dimension: 32}} {
		s := open(t, p.folder, &local.Options{Embedder: e})
		_, err := s.Sync(t.Context(), local.SyncRequest{})
		_, errLookup := s.Lookup(t.Context(), exhibit.LookupRequest{Query: "bikes"})
		for _, err := range []error{err, errLookup} {
			if code(err) != "incompatible-store" || !strings.Contains(exhibit.HintOf(err), "--rebuild vectors") {
				t.Errorf("%v, hint %q", err, exhibit.HintOf(err))
			}
		}
		if _, err := s.Sync(t.Context(), local.SyncRequest{Rebuild: local.Rebuild{Index: true}}); code(err) != "incompatible-store" {
			t.Errorf("rebuild of the index: %v", err)
		}
		s.Close()
	}
	s := open(t, p.folder, &local.Options{Embedder: &exhibittest.FakeEmbedder{Name: "other", Dimension: 32}})
	r := syncWith(t, s, local.SyncRequest{Rebuild: local.Rebuild{Vectors: true}})
	equal(t, "embedded", r.Chunks.Embedded, len(all(t, s)))
	st, err := s.Status(t.Context(), "")
	if err != nil || st.Model != "other" || st.Dimension != 32 || st.WithoutVector != 0 {
		t.Errorf("%+v %v", st, err)
	}
}

func TestNewDocumentsAreFoundByWordsBeforeTheirVectors(t *testing.T) {
	p := newPlace(t, &local.Options{Embedder: &exhibittest.FakeEmbedder{Fault: exhibittest.EmbedError}}, handbook())
	if _, err := p.Sync(t.Context(), local.SyncRequest{Roots: []local.Root{{Path: p.docs}}}); code(err) != "embedder" {
		t.Fatal(err)
	}
	p.Close()
	s := open(t, p.folder, fake())
	res := ask(t, s, "ERR_4021")
	if len(res.Evidence) == 0 || res.Evidence[0].DocID != "it/vpn.md" {
		t.Fatalf("%v", keys(res))
	}
	st, err := s.Status(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "chunks without a vector", st.WithoutVector, st.Chunks)
	for _, l := range res.Ledger.Legs {
		if l.Leg == exhibit.LegDense && (l.WithoutVector == nil || *l.WithoutVector != st.Chunks) {
			t.Errorf("the ledger says %v", l.WithoutVector)
		}
	}
	r := sync(t, s, p.docs)
	equal(t, "embedded", r.Chunks.Embedded, st.Chunks)
	equal(t, "unchanged", r.Documents.Unchanged, 4)
}

// TestCase_39 asks all the time while one document is replaced again and again: each answer is of one version.
func TestCase_39_a_lookup_sees_one_version_of_a_document(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fake(), map[string]string{"release.md": version(0)})
	p.sync(t)
	done := make(chan struct{})
	var asking gosync.WaitGroup
	for worker := range 2 {
		reader := open(t, p.folder, fake()) // as another process would
		asking.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					if n == 0 {
						t.Error("no answer was looked at")
					}
					return
				default:
				}
				req := wide("which release is the turbine of today?")
				res, err := reader.Lookup(context.Background(), req)
				if err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
				releases := map[string]int{}
				for _, e := range res.Evidence {
					_, rest, _ := strings.Cut(e.Text, "release-")
					release, _, _ := strings.Cut(rest, " ")
					releases[release]++
				}
				if len(releases) != 1 || len(res.Evidence) != 100 {
					t.Errorf("%d blocks of releases %v", len(res.Evidence), releases)
					return
				}
			}
		})
	}
	for n := 1; n <= 4; n++ {
		files(t, p.docs, map[string]string{"release.md": version(n)})
		p.sync(t)
	}
	close(done)
	asking.Wait()
}

func TestASecondWriterWaitsAndNamesTheFirst(t *testing.T) {
	p := newPlace(t, words(), handbook())
	p.sync(t)
	hold := make(chan struct{})
	started := make(chan struct{})
	var once gosync.Once
	slow := words()
	slow.Progress = func(local.Progress) { once.Do(func() { close(started) }); <-hold }
	writer := open(t, p.folder, slow)
	files(t, p.docs, map[string]string{"new.md": "# New\n\nThe turbine is new.\n"})
	end := make(chan error, 1)
	go func() {
		_, err := writer.Sync(context.Background(), local.SyncRequest{})
		end <- err
	}()
	<-started
	impatient := words()
	impatient.LockTimeout = 50 * time.Millisecond
	second := open(t, p.folder, impatient)
	_, err := second.Sync(t.Context(), local.SyncRequest{})
	if code(err) != "unavailable" || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) || exhibit.HintOf(err) == "" {
		t.Errorf("second writer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Sync(ctx, local.SyncRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a writer that is told to stop waiting: %v", err)
	}
	equal(t, "answers meanwhile", len(ask(t, second, "Where do bikes stand?").Evidence), 1)
	close(hold)
	if err := <-end; err != nil {
		t.Fatal(err)
	}
	syncWith(t, second, local.SyncRequest{})
}

func TestAnInterruptedSyncGoesOn(t *testing.T) {
	t.Parallel()
	contents := map[string]string{}
	for i := range 300 {
		contents[fmt.Sprintf("d%03d.md", i)] = fmt.Sprintf("# Doc %d\n\nThe turbine number %d spins.\n", i, i)
	}
	p := newPlace(t, fake(), contents)
	want := newPlace(t, fake(), contents)
	wantRevision := want.sync(t).Revision
	rounds := 0
	for at := 10; ; at += 90 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		opt := fake()
		opt.Progress = func(local.Progress) {
			if n++; n == at {
				cancel()
			}
		}
		s := open(t, p.folder, opt)
		_, err := s.Sync(ctx, local.SyncRequest{Roots: []local.Root{{Path: p.docs}}})
		s.Close()
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted at %d: %v", at, err)
		}
		rounds++
	}
	if rounds < 3 {
		t.Errorf("interrupted %d times only", rounds)
	}
	equal(t, "revision", ask(t, p.Store, "turbine").Revision, wantRevision)
	if d := cmp.Diff(all(t, want.Store), all(t, p.Store)); d != "" {
		t.Error(d)
	}
}

func TestAFailedSyncAddsNoRootAndNoCollection(t *testing.T) {
	p := newPlace(t, words(), handbook())
	p.sync(t)
	other := filepath.Join(t.TempDir(), "other")
	files(t, other, map[string]string{"leave.md": "# Another\n\nLeave.\n"})
	for name, req := range map[string]local.SyncRequest{
		"docId of another root": {Roots: []local.Root{{Path: other}}},
		"missing":               {Roots: []local.Root{{Path: filepath.Join(other, "nosuch")}}, Rebuild: local.Rebuild{Vectors: true, Index: true}},
		"empty":                 {Roots: []local.Root{{Path: t.TempDir()}}, Collection: "new"},
		"twice":                 {Roots: []local.Root{{Path: other}, {Path: p.docs}}, Collection: "new"},
	} {
		if _, err := p.Sync(t.Context(), req); err == nil || exhibit.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r := syncWith(t, p.Store, local.SyncRequest{}); r.Documents.Unchanged != 4 {
		t.Errorf("%+v", r.Documents)
	}
	names, err := p.Collections(t.Context())
	if d := cmp.Diff([]string{"default"}, names); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestAFileThatChangesWhileItIsRead cuts a file off and writes it anew all the time. Each sync either fails on it, and
// keeps what there was, or stores one of the versions whole.
func TestAFileThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The turbine of the long version spins. ", 20_000)
	short := strings.Repeat("The turbine of the short version rests. ", 1_000)
	p := newPlace(t, words(), map[string]string{"a.txt": short, "b.md": "# B\n\nThe gate is shut.\n"})
	p.sync(t)
	done := make(chan struct{})
	var writing gosync.WaitGroup
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			text := short
			if i%2 == 0 {
				text = long
			}
			if err := os.WriteFile(filepath.Join(p.docs, "a.txt"), []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	failed := 0
	for range 15 {
		r, err := p.Sync(t.Context(), local.SyncRequest{})
		if err != nil {
			t.Fatal(err)
		}
		failed += r.Documents.Failed
		for _, f := range r.Failures {
			if f.DocID != "a.txt" || f.Hint == "" || f.Code != "unreadable" && f.Code != "no-text" {
				t.Errorf("%+v", f)
			}
		}
		f, err := p.Fetch(t.Context(), local.FetchRequest{Names: []string{"a.txt", "b.md"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := f[0].Text; got != short && got != long {
			// What one write had done when the file was opened and the next had not begun is a version, too.
			if !strings.HasPrefix(short, got) && !strings.HasPrefix(long, got) {
				t.Errorf("%d bytes of no version", len(got))
			}
		}
	}
	close(done)
	writing.Wait()
	t.Logf("%d of 15 syncs found the file changing", failed)
}
