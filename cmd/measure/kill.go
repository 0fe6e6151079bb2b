package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/exhibit-rag/exhibit/internal/measure"
)

type killCmd struct {
	Kills      int    `default:"200" help:"Kills of syncs without an embedder (embed.provider none)."`
	Embedding  int    `default:"20" help:"Kills of syncs with the built-in encoder, over a smaller folder."`
	Files      int    `default:"400" help:"Files before the sync that is killed."`
	EmbedFiles int    `default:"16" help:"The same, with the encoder."`
	Seed       uint64 `help:"Seed of the moments. Default: from the clock; it is printed."`
}

// Run kills syncs at random moments, looks at what is left, and lets the next sync end.
func (c *killCmd) Run(ctx context.Context, b *bench) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	if c.Seed == 0 {
		c.Seed = uint64(time.Now().UnixNano())
	}
	b.say("seed %d", c.Seed)
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	s := &measure.Section{Name: "kill", Title: "kill -9 in the middle of a sync", Notes: []string{
		"A folder is synced; then a quarter of its files changes in one paragraph, a quarter is removed and a quarter as many are added; the sync of that is killed at a moment drawn evenly over the time that an undisturbed one takes. " +
			"Then the store is opened and looked over: every document must be whole in its old or its new version (content hash, chunk count, each text and vector hashed again), none may be there or missing that neither version explains, and a lookup must answer. " +
			"After one to three kills in a row a sync runs undisturbed, and must end with the revision, the documents, the tombstones and the answers of a store that was never disturbed."}}
	for _, f := range []struct {
		what, provider string
		kills, files   int
	}{{"without embedder", "none", c.Kills, c.Files}, {"with the built-in encoder", "local", c.Embedding, c.EmbedFiles}} {
		if f.kills == 0 {
			continue
		}
		row, err := c.field(ctx, b, rng, program, f.what, f.provider, f.kills, f.files)
		if err != nil {
			return fmt.Errorf("%s: %w", f.what, err)
		}
		s.Rows = append(s.Rows, row)
	}
	return b.finish(s)
}

// outcome counts what the kills of one field left.
type outcome struct {
	kills, early, rounds  int
	untouched, part, done int // kills after which none, some, all of the documents that change were new
	faults                []string
}

func (c *killCmd) field(ctx context.Context, b *bench, rng *rand.Rand, program, what, provider string, kills, files int) (measure.Row, error) {
	row := measure.Row{What: "kills " + what + ", all recovered from", Goal: fmt.Sprintf("≥ %d", kills)}
	dir, err := os.MkdirTemp("", "kill-")
	if err != nil {
		return row, err
	}
	defer os.RemoveAll(dir)
	f := &killField{program: program, provider: provider, dir: dir}
	if err := f.prepare(ctx, b, files); err != nil {
		return row, err
	}
	b.say("%s: %d documents before, %d after, %d of them differ; an undisturbed sync takes %.2f s", what, len(f.before), len(f.after), f.differing, f.takes.Seconds())
	var o outcome
	for o.kills < kills {
		if err := f.round(ctx, rng, &o, kills); err != nil {
			return row, err
		}
		if o.rounds%20 == 0 {
			b.progress("%s: %d kills, %d faults", what, o.kills, len(o.faults))
		}
		if o.early > 20*kills {
			return row, errors.New("syncs end before they can be killed")
		}
	}
	b.say("%s: %d kills in %d rounds (%d more syncs ended before they could be killed); after the kill the documents that differ were all old %d times, partly new %d times, all new %d times; %d faults",
		what, o.kills, o.rounds, o.early, o.untouched, o.part, o.done, len(o.faults))
	for i, fault := range o.faults {
		if i < 20 {
			b.say("  fault: %s", fault)
		}
	}
	row.Found = fmt.Sprintf("%d kills (%d of them with some documents new and some old), %d faults", o.kills, o.part, len(o.faults))
	row.Met = o.kills >= kills && len(o.faults) == 0
	return row, nil
}

// killField is a folder in two states, and stores of it.
type killField struct {
	program, provider, dir string

	before, after map[string]version // documents by docId
	differing     int
	takes         time.Duration // of an undisturbed sync
	end           *state        // what one leads to
}

func (f *killField) path(name string) string { return filepath.Join(f.dir, name) }

// prepare syncs the folder in its first state, puts it in its second, and syncs a copy of the store undisturbed.
func (f *killField) prepare(ctx context.Context, b *bench, files int) error {
	paragraphs, err := b.paragraphs()
	if err != nil {
		return err
	}
	if err := writeFiles(f.path("folder"), firstState(paragraphs, files)); err != nil {
		return err
	}
	if err := f.sync(ctx, "template"); err != nil {
		return err
	}
	old, err := f.look(ctx, "template")
	if err != nil {
		return err
	}
	f.before = old.documents
	if err := os.RemoveAll(f.path("folder")); err != nil {
		return err
	}
	if err := writeFiles(f.path("folder"), secondState(paragraphs, files)); err != nil {
		return err
	}
	var took []time.Duration
	for range 3 {
		if err := f.copyStore("undisturbed"); err != nil {
			return err
		}
		start := time.Now()
		if err := f.sync(ctx, "undisturbed"); err != nil {
			return err
		}
		took = append(took, time.Since(start))
		if f.end, err = f.look(ctx, "undisturbed"); err != nil {
			return err
		}
		if faults := f.end.faults; len(faults) > 0 {
			return fmt.Errorf("an undisturbed sync leaves faults: %q", faults)
		}
	}
	f.takes, f.after = measure.Median(took), f.end.documents
	for id := range f.union() {
		if f.before[id] != f.after[id] {
			f.differing++
		}
	}
	return nil
}

func (f *killField) union() map[string]bool {
	all := map[string]bool{}
	for id := range f.before {
		all[id] = true
	}
	for id := range f.after {
		all[id] = true
	}
	return all
}

func (f *killField) copyStore(name string) error {
	if err := os.RemoveAll(f.path(name)); err != nil {
		return err
	}
	return os.CopyFS(f.path(name), os.DirFS(f.path("template")))
}

func (f *killField) arguments(name string) []string {
	return []string{"--store", f.path(name), "--set", "embed.provider=" + f.provider, "--json", "sync", f.path("folder")}
}

func (f *killField) sync(ctx context.Context, name string) error {
	_, err := measure.RunProcess(measure.Command(ctx, f.dir, f.program, f.arguments(name), "HOME="+f.dir))
	return err
}

// round kills one sync, or up to three in a row over one store, and lets the next one end.
func (f *killField) round(ctx context.Context, rng *rand.Rand, o *outcome, kills int) error {
	o.rounds++
	if err := f.copyStore("work"); err != nil {
		return err
	}
	for range 1 + rng.IntN(3) {
		if o.kills >= kills {
			break
		}
		moment := time.Duration(rng.Float64() * 1.02 * float64(f.takes))
		killed, err := f.killed(ctx, moment)
		if err != nil {
			return err
		}
		if !killed {
			o.early++
			break
		}
		o.kills++
		where := fmt.Sprintf("round %d, killed after %.0f ms", o.rounds, moment.Seconds()*1e3)
		left, err := f.look(ctx, "work")
		if err != nil {
			o.faults = append(o.faults, where+": "+err.Error())
			break
		}
		f.judge(left, where, o)
	}
	where := fmt.Sprintf("round %d, next sync", o.rounds)
	if err := f.sync(ctx, "work"); err != nil {
		o.faults = append(o.faults, where+": "+err.Error())
		return ctx.Err()
	}
	end, err := f.look(ctx, "work")
	if err != nil {
		o.faults = append(o.faults, where+": "+err.Error())
		return ctx.Err()
	}
	for _, d := range append(end.faults, end.differs(f.end)...) {
		o.faults = append(o.faults, where+": "+d)
	}
	return ctx.Err()
}

// killed starts a sync and kills it at a moment after its start. It reports whether the kill came before its end.
func (f *killField) killed(ctx context.Context, moment time.Duration) (bool, error) {
	cmd := measure.Command(ctx, f.dir, f.program, f.arguments("work"), "HOME="+f.dir)
	if err := cmd.Start(); err != nil {
		return false, err
	}
	time.Sleep(moment)
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, err
	}
	err := cmd.Wait()
	if err == nil {
		return false, nil
	}
	if strings.Contains(err.Error(), "killed") {
		return true, nil
	}
	return false, fmt.Errorf("the sync ended by itself: %w", err)
}

// judge holds what a kill left against the two versions.
func (f *killField) judge(left *state, where string, o *outcome) {
	o.faults = append(o.faults, prefixed(where, left.faults)...)
	fresh := 0
	for id := range left.documents {
		if f.before[id] == (version{}) && f.after[id] == (version{}) {
			o.faults = append(o.faults, fmt.Sprintf("%s: %s is in the store, and in neither version", where, id))
		}
	}
	for id := range f.union() {
		got, old, after := left.documents[id], f.before[id], f.after[id]
		switch {
		case got != old && got != after:
			o.faults = append(o.faults, fmt.Sprintf("%s: %s is %+v, neither %+v nor %+v", where, id, got, old, after))
		case got == after && old != after:
			fresh++
		}
	}
	switch fresh {
	case 0:
		o.untouched++
	case f.differing:
		o.done++
	default:
		o.part++
	}
}

func prefixed(where string, list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = where + ": " + s
	}
	return out
}
