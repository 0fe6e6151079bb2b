package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/eval"
	"github.com/exhibit-rag/exhibit/internal/measure"
	"github.com/exhibit-rag/exhibit/local"
)

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

type warmLookupCmd struct {
	Set    string `default:"scifact" help:"Data set, synced by the quality suite before."`
	Rounds int    `default:"5" help:"Rounds over all questions, after one that is not counted."`
}

// Run looks up every question of the set in an open store, on one core, with vectors made before.
func (c *warmLookupCmd) Run(ctx context.Context, b *bench) error {
	set, err := b.questions(c.Set)
	if err != nil {
		return err
	}
	given := &memory{Embedder: local.NewEncoder(nil)}
	for _, q := range set.Queries {
		if _, err := given.Embed(ctx, exhibit.Query, []string{q.Text}); err != nil {
			return err
		}
	}
	store, err := b.syncedStore(ctx, set, given, false)
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
			if len(res.Evidence) == 0 && mode != exhibit.ModeLexical {
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
	set, err := b.questions(c.Set)
	if err != nil {
		return err
	}
	folder, err := b.madeStore(c.Set)
	if err != nil {
		return err
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

// Run starts the program with nothing stored, its errors on a terminal, where it shows how far it is.
func (c *firstLookupCmd) Run(ctx context.Context, b *bench) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	var wall, cpu, again []time.Duration
	var peak []int64
	var answer []byte
	least := -1 // lines of progress
	shown := ""
	for range c.Runs {
		home, err := os.MkdirTemp("", "first-lookup-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(home)
		first, progress, err := c.once(ctx, b, program, home)
		if err != nil {
			return err
		}
		second, _, err := c.once(ctx, b, program, home)
		if err != nil {
			return err
		}
		wall, cpu, peak, again, answer = append(wall, first.Wall), append(cpu, first.CPU), append(peak, first.Peak), append(again, second.Wall), first.Stdout
		if least < 0 || len(progress) < least {
			least = len(progress)
		}
		if len(progress) > 0 {
			shown = progress[len(progress)/2]
		}
	}
	med, most := measure.Median(wall), measure.Percentile(wall, 1)
	b.say("first: %d runs, median %.2f s, least %.2f s, most %.2f s; CPU median %.2f s; most memory %.1f MB; at least %d lines of progress, such as %q", len(wall), med.Seconds(), measure.Percentile(wall, 0).Seconds(), most.Seconds(),
		measure.Median(cpu).Seconds(), mb(measure.Percentile(peak, 1)), least, shown)
	b.say("again, nothing changed: median %s, most %s", milliseconds(measure.Median(again)), milliseconds(measure.Percentile(again, 1)))
	b.say("the last first answer:\n%s", answer)
	files, err := countFiles(filepath.Join(b.repository, "examples", "handbook"))
	if err != nil {
		return err
	}
	return b.finish(&measure.Section{Name: "first-lookup", Title: "First lookup", Rows: []measure.Row{
		{What: fmt.Sprintf("first `lookup --in examples/handbook` (%d files), built binary", files), Goal: "≤ 10 s", Found: fmt.Sprintf("median %.2f s of %d runs (%.2f to %.2f s; CPU %.2f s)", med.Seconds(), len(wall), measure.Percentile(wall, 0).Seconds(), most.Seconds(), measure.Median(cpu).Seconds()), Met: med <= 10*time.Second},
		{What: "lines of progress in each, on a terminal", Goal: "≥ 1", Found: fmt.Sprint(max(least, 0)), Met: least > 0},
		{What: "the same again, nothing changed", Found: fmt.Sprintf("median %s of %d runs", milliseconds(measure.Median(again)), len(again))},
	}, Notes: []string{"Each run has an empty cache folder; it reads, cuts, embeds and answers. Its standard error is a pseudo-terminal."}})
}

// once runs the lookup and returns the lines of progress that it showed.
func (c *firstLookupCmd) once(ctx context.Context, b *bench, program, home string) (measure.Process, []string, error) {
	cmd := measure.Command(ctx, b.repository, program, []string{"lookup", "--in", "examples/handbook", c.Question}, "HOME="+home, "XDG_CACHE_HOME="+home, "TERM=xterm")
	screen, tty, err := measure.Terminal()
	if err != nil {
		b.progress("no pseudo-terminal here: %v", err)
		p, err := measure.RunProcess(cmd)
		return p, nil, err
	}
	defer screen.Close()
	seen := make(chan []byte, 1)
	go func() {
		// Reading ends with an error once no process holds the other end.
		data, _ := io.ReadAll(screen)
		seen <- data
	}()
	cmd.Stderr = tty
	p, err := measure.RunProcess(cmd)
	err = errors.Join(err, tty.Close())
	var progress []string
	for _, line := range strings.FieldsFunc(string(<-seen), func(r rune) bool { return r == '\r' || r == '\n' }) {
		if line = strings.TrimSpace(strings.ReplaceAll(line, "\x1b[K", "")); line != "" {
			progress = append(progress, line)
		}
	}
	return p, progress, err
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
	folder, err := b.madeStore(c.Set)
	if err != nil {
		return err
	}
	var wall []time.Duration
	embedded, unchanged := 0, 0
	revisions := map[string]bool{}
	for i := range c.Runs + 1 {
		p, err := measure.RunProcess(measure.Command(ctx, b.cache, program, []string{"--store", folder, "--json", "sync", "--jsonl", filepath.Join(dir, "corpus.jsonl")}, "HOME="+b.cache))
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
