package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/embed"
	"github.com/exhibit-rag/exhibit/eval"
	"github.com/exhibit-rag/exhibit/internal/measure"
	"github.com/exhibit-rag/exhibit/local"
	"github.com/exhibit-rag/exhibit/models/e5small"
)

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

type warmLookupCmd struct {
	Set    string `default:"scifact" help:"Data set, synced by the quality suite before."`
	Rounds int    `default:"5" help:"Rounds over all questions, after one that is not counted."`
}

// Run looks up every question of the set in an open store, on one core, with vectors made before.
func (c *warmLookupCmd) Run(ctx context.Context, b *bench) error {
	dir, err := b.dataset(c.Set)
	if err != nil {
		return err
	}
	set, err := eval.LoadBEIR(dir)
	if err != nil {
		return err
	}
	model := exhibit.EmbeddingModel{Name: e5small.Name, Dimension: e5small.Dimension}
	given := &memory{Embedder: embed.NewLocal(model, e5small.Weights(), nil)}
	for _, q := range set.Queries {
		if _, err := given.Embed(ctx, exhibit.Query, []string{q.Text}); err != nil {
			return err
		}
	}
	store, err := b.syncedStore(ctx, set, given)
	if err != nil {
		return err
	}
	defer store.Close()
	runtime.GOMAXPROCS(1)
	s := &measure.Section{Name: "warm-lookup", Title: "Warm lookup",
		Notes: []string{fmt.Sprintf("The whole pipeline of a lookup in an open store, default settings, GOMAXPROCS 1; the question's vector is given. All %d questions in turn, %d rounds after one that is not counted. The rendered answer is Markdown.", len(set.Queries), c.Rounds)}}
	for _, v := range []struct {
		what, mode, format string
		goal               bool
	}{
		{"hybrid", exhibit.ModeHybrid, "", true}, {"hybrid, rendered", exhibit.ModeHybrid, "markdown", false},
		{"lexical", exhibit.ModeLexical, "", false}, {"dense", exhibit.ModeDense, "", false},
	} {
		took, err := c.time(ctx, store, set, v.mode, v.format)
		if err != nil {
			return err
		}
		p50, p95 := measure.Median(took), measure.Percentile(took, .95)
		b.say("%-17s %d lookups: p50 %s, p95 %s, p99 %s, least %s, most %s", v.what, len(took), milliseconds(p50), milliseconds(p95), milliseconds(measure.Percentile(took, .99)), milliseconds(measure.Percentile(took, 0)), milliseconds(measure.Percentile(took, 1)))
		row := measure.Row{What: fmt.Sprintf("p50 of a lookup, %s, one core, %s", v.what, c.Set), Found: fmt.Sprintf("%s (p95 %s, %d lookups)", milliseconds(p50), milliseconds(p95), len(took))}
		if v.goal {
			row.Goal, row.Met = "≤ 3 ms", p50 <= 3*time.Millisecond
		}
		s.Rows = append(s.Rows, row)
	}
	return b.finish(s)
}

func (c *warmLookupCmd) time(ctx context.Context, store *local.Store, set *eval.Set, mode, format string) ([]time.Duration, error) {
	var took []time.Duration
	for round := range c.Rounds + 1 {
		for _, q := range set.Queries {
			req := exhibit.LookupRequest{Query: q.Text, Format: format, Settings: exhibit.LookupSettings{SearchMode: exhibit.Set(mode)}}
			start := time.Now()
			res, err := store.Lookup(ctx, req)
			d := time.Since(start)
			if err != nil {
				return nil, err
			}
			if len(res.Evidence) == 0 {
				return nil, fmt.Errorf("question %s found nothing", q.ID)
			}
			if round > 0 {
				took = append(took, d)
			}
		}
	}
	return took, nil
}

type coldLookupCmd struct {
	Set  string `default:"scifact" help:"Data set, synced by the quality suite before."`
	Runs int    `default:"20" help:"Runs, each with another question, after one that is not counted."`
}

// Run starts the program for each question, embedding included.
func (c *coldLookupCmd) Run(ctx context.Context, b *bench) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	dir, err := b.dataset(c.Set)
	if err != nil {
		return err
	}
	set, err := eval.LoadBEIR(dir)
	if err != nil {
		return err
	}
	folder := b.storeFolder(c.Set)
	if _, err := os.Stat(folder); err != nil {
		return fmt.Errorf("no store of %s yet: run the suite quality --sets %s first", c.Set, c.Set)
	}
	var wall, cpu []time.Duration
	var peak []int64
	for i := range c.Runs + 1 {
		q := set.Queries[i*len(set.Queries)/(c.Runs+1)]
		p, err := measure.RunProcess(measure.Command(ctx, b.cache, program, []string{"--store", folder, "lookup", "--json", q.Text}, "HOME="+b.cache))
		if err != nil {
			return err
		}
		var answer struct {
			Evidence []struct{ Text string }
			Degraded []json.RawMessage
			Ledger   struct{ Legs []struct{ Leg string } }
		}
		if err := json.Unmarshal(p.Stdout, &answer); err != nil || len(answer.Evidence) == 0 || len(answer.Ledger.Legs) != 2 || len(answer.Degraded) > 0 {
			return errors.Join(fmt.Errorf("question %s: no full answer: %.300s", q.ID, p.Stdout), err)
		}
		if i > 0 {
			wall, cpu, peak = append(wall, p.Wall), append(cpu, p.CPU), append(peak, p.Peak)
		}
	}
	med, most, mem := measure.Median(wall), measure.Percentile(wall, 1), measure.Percentile(peak, 1)
	b.say("%d runs, each another question: wall median %s, least %s, most %s; CPU median %s", len(wall), milliseconds(med), milliseconds(measure.Percentile(wall, 0)), milliseconds(most), milliseconds(measure.Median(cpu)))
	b.say("most memory resident (ru_maxrss, mapped pages of the program and of the store included): median %.1f MB, most %.1f MB; the measuring process itself %.1f MB", mb(measure.Median(peak)), mb(mem), mb(measure.Own()))
	return b.finish(&measure.Section{Name: "cold-lookup", Title: "Cold lookup", Rows: []measure.Row{
		{What: "`exhibit lookup` on an existing store, embedding included, " + c.Set, Goal: "≤ 300 ms", Found: fmt.Sprintf("median %s of %d runs (%s to %s)", milliseconds(med), len(wall), milliseconds(measure.Percentile(wall, 0)), milliseconds(most)), Met: med <= 300*time.Millisecond},
		{What: "peak memory of it", Goal: "≤ 250 MB", Found: fmt.Sprintf("%.1f MB (most of %d runs)", mb(mem), len(peak)), Met: mem > 0 && mem <= 250e6},
	}, Notes: []string{"The built program as a process of its own, from its start to its end, default settings. The files are in the page cache."}})
}

func mb(n int64) float64 { return float64(n) / 1e6 }

type firstLookupCmd struct {
	Runs     int    `default:"5" help:"Runs, each with an empty cache folder."`
	Question string `default:"How much parental leave do I get?" help:"The question."`
}

// Run starts the program with nothing stored.
func (c *firstLookupCmd) Run(ctx context.Context, b *bench) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	args := []string{"lookup", "--in", "examples/handbook", c.Question}
	var first, second []time.Duration
	var peak []int64
	var answer []byte
	for range c.Runs {
		home, err := os.MkdirTemp("", "first-lookup-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(home)
		for again := range 2 {
			p, err := measure.RunProcess(measure.Command(ctx, b.repository, program, args, "HOME="+home, "XDG_CACHE_HOME="+home))
			if err != nil {
				return err
			}
			if again == 0 {
				first, peak, answer = append(first, p.Wall), append(peak, p.Peak), p.Stdout
			} else {
				second = append(second, p.Wall)
			}
		}
	}
	b.say("first: %d runs, median %.2f s, least %.2f s, most %.2f s, most memory %.1f MB", len(first), measure.Median(first).Seconds(), measure.Percentile(first, 0).Seconds(), measure.Percentile(first, 1).Seconds(), mb(measure.Percentile(peak, 1)))
	b.say("again, nothing changed: median %s, most %s", milliseconds(measure.Median(second)), milliseconds(measure.Percentile(second, 1)))
	b.say("the last first answer:\n%s", answer)
	files, err := countFiles(filepath.Join(b.repository, "examples", "handbook"))
	if err != nil {
		return err
	}
	return b.finish(&measure.Section{Name: "first-lookup", Title: "First lookup", Rows: []measure.Row{
		{What: fmt.Sprintf("first `lookup --in examples/handbook` (%d files), built binary", files), Goal: "≤ 10 s", Found: fmt.Sprintf("median %.2f s of %d runs (most %.2f s)", measure.Median(first).Seconds(), len(first), measure.Percentile(first, 1).Seconds()), Met: measure.Percentile(first, 1) <= 10*time.Second},
		{What: "the same again, nothing changed", Found: fmt.Sprintf("median %s of %d runs", milliseconds(measure.Median(second)), len(second))},
	}, Notes: []string{"Each run has an empty cache folder, reads, cuts, embeds and answers. Progress shows on a terminal only, so not here."}})
}

func countFiles(dir string) (int, error) {
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	return n, err
}

type resyncCmd struct {
	Set  string `default:"scifact" help:"Data set, synced by the quality suite before."`
	Runs int    `default:"10" help:"Runs, after one that is not counted."`
}

// Run syncs a set that has not changed.
func (c *resyncCmd) Run(ctx context.Context, b *bench) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	dir, err := b.dataset(c.Set)
	if err != nil {
		return err
	}
	if _, err := os.Stat(b.storeFolder(c.Set)); err != nil {
		return fmt.Errorf("no store of %s yet: run the suite quality --sets %s first", c.Set, c.Set)
	}
	var wall []time.Duration
	embedded, unchanged := 0, 0
	revisions := map[string]bool{}
	for i := range c.Runs + 1 {
		p, err := measure.RunProcess(measure.Command(ctx, b.cache, program, []string{"--store", b.storeFolder(c.Set), "--json", "sync", "--jsonl", filepath.Join(dir, "corpus.jsonl")}, "HOME="+b.cache))
		if err != nil {
			return err
		}
		var report struct {
			Revision  string
			Documents struct{ Added, Changed, Unchanged, Removed, Failed int }
			Chunks    struct{ Embedded int }
		}
		if err := json.Unmarshal(p.Stdout, &report); err != nil {
			return err
		}
		d := report.Documents
		if i > 0 {
			if d.Added+d.Changed+d.Removed+d.Failed > 0 {
				return fmt.Errorf("a sync of unchanged sources reports %+v", d)
			}
			wall = append(wall, p.Wall)
			embedded += report.Chunks.Embedded
			unchanged = d.Unchanged
		}
		revisions[report.Revision] = true
	}
	med, most := measure.Median(wall), measure.Percentile(wall, 1)
	b.say("%d runs: median %s, least %s, most %s; %d documents unchanged, %d embedded, %d revision(s)", len(wall), milliseconds(med), milliseconds(measure.Percentile(wall, 0)), milliseconds(most), unchanged, embedded, len(revisions))
	return b.finish(&measure.Section{Name: "resync", Title: "Sync with nothing changed", Rows: []measure.Row{
		{What: fmt.Sprintf("`exhibit sync` of %s (%d documents) again", c.Set, unchanged), Goal: "≤ 1 s", Found: fmt.Sprintf("median %s of %d runs (%s to %s)", milliseconds(med), len(wall), milliseconds(measure.Percentile(wall, 0)), milliseconds(most)), Met: med <= time.Second},
		{What: "chunks embedded in them", Goal: "0", Found: fmt.Sprint(embedded), Met: embedded == 0},
		{What: "revisions seen", Goal: "1", Found: fmt.Sprint(len(revisions)), Met: len(revisions) == 1},
	}, Notes: []string{"The built program as a process of its own, from its start to its end."}})
}
