package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/eval"
	"github.com/exhibit-rag/exhibit/local"

	"github.com/exhibit-rag/exhibit/internal/measure"
)

type qualityCmd struct {
	Sets  []string `default:"scifact,xquad-en,xquad-zh,xquad-de,xquad-th,cranfield" help:"Data sets."`
	Modes []string `default:"lexical,dense,hybrid" help:"Search modes."`
	Runs  string   `placeholder:"DIR" help:"Also write a TREC run and the result as JSON for each, for .ci/oracle/measures.py check."`
	K     int      `name:"retrieve-k" default:"20" help:"rag.retrieve-k. Default: the product's."`
}

// goals are the least nDCG@10 by set and mode.
func goals() map[string]float64 {
	return map[string]float64{
		"scifact lexical": .680, "scifact dense": .655, "scifact hybrid": .715,
		"xquad-en hybrid": .98, "xquad-zh hybrid": .97, "xquad-de hybrid": .97, "xquad-th hybrid": .96,
	}
}

// Run measures each set in each mode, over one store a set.
func (c *qualityCmd) Run(ctx context.Context, b *bench) error {
	measures, err := eval.ParseMeasures("nDCG@10,R@10,R@20,RR@10,Success@1,Success@5")
	if err != nil {
		return err
	}
	s := &measure.Section{Name: "quality", Title: "Quality of retrieval", Notes: []string{
		fmt.Sprintf("Documents ranked by their best chunk, in the fused list before the per-document cap and return-n; rag.retrieve-k %d, all other settings the defaults. Means over all questions with a relevant document, as BEIR and MTEB count.", c.K)}}
	for _, name := range c.Sets {
		if err := c.one(ctx, b, s, name, measures); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return b.finish(s)
}

func (c *qualityCmd) one(ctx context.Context, b *bench, s *measure.Section, name string, measures []eval.Measure) error {
	set, err := b.questions(name)
	if err != nil {
		return err
	}
	questions := &memory{Embedder: local.NewEncoder(nil)}
	store, err := b.syncedStore(ctx, set, questions, true)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, mode := range c.Modes {
		start := time.Now()
		res, err := c.evaluate(ctx, store, set, mode, measures)
		if err != nil {
			return err
		}
		took := time.Since(start)
		var line strings.Builder
		for _, v := range res.Measures {
			fmt.Fprintf(&line, "  %s %.4f", v.Measure, v.Value)
		}
		b.say("%-10s %-8s %4d questions%s  (%.1f s, revision %s)", name, mode, res.Queries, line.String(), took.Seconds(), res.Revision)
		row := measure.Row{What: fmt.Sprintf("%s nDCG@10, %s", name, mode)}
		v, _ := res.Measures.Get("nDCG@10")
		row.Found = fmt.Sprintf("%.4f over %d questions", v, res.Queries)
		if goal, ok := goals()[name+" "+mode]; ok {
			row.Goal, row.Met = "≥ "+strings.TrimPrefix(fmt.Sprintf("%.3f", goal), "0"), v >= goal
		}
		s.Rows = append(s.Rows, row)
		if err := c.writeRun(res, name+"-"+mode); err != nil {
			return err
		}
	}
	return nil
}

func (c *qualityCmd) evaluate(ctx context.Context, store *local.Store, set *eval.Set, mode string, measures []eval.Measure) (*eval.Result, error) {
	settings := exhibit.LookupSettings{RetrieveK: exhibit.Set(c.K), SearchMode: exhibit.Set(mode)}
	var mu sync.Mutex
	var last *exhibit.LookupResult
	res, err := eval.Evaluate(ctx, set, func(ctx context.Context, q eval.Query) ([]eval.Ranked, error) {
		found, err := store.Lookup(ctx, exhibit.LookupRequest{Query: q.Text, Settings: settings})
		if err != nil {
			return nil, err
		}
		if len(found.Degraded) > 0 {
			return nil, fmt.Errorf("degraded: %+v", found.Degraded)
		}
		mu.Lock()
		last = found
		mu.Unlock()
		return eval.Rank(&found.Ledger, eval.LevelDocument), nil
	}, &eval.Options{Measures: measures, Tag: "exhibit-" + mode})
	if err != nil {
		return nil, err
	}
	res.Settings, res.Revision = last.Settings, last.Revision
	return res, nil
}

func (c *qualityCmd) writeRun(res *eval.Result, name string) error {
	if c.Runs == "" {
		return nil
	}
	if err := os.MkdirAll(c.Runs, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(c.Runs, name+".run"))
	if err != nil {
		return err
	}
	if err := errors.Join(res.Run.WriteTREC(f, nil), f.Close()); err != nil {
		return err
	}
	data, err := res.MarshalJSON()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.Runs, name+".json"), data, 0o644)
}

// storeFolder is where the store of a data set is kept between runs.
func (b *bench) storeFolder(name string) string { return filepath.Join(b.cache, "stores", name) }

// madeStore is the store folder of a set that the quality suite synced before.
func (b *bench) madeStore(name string) (string, error) {
	folder := b.storeFolder(name)
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("no store of %s yet: run the suite quality --sets %s first", name, name)
	}
	return folder, nil
}

// questions loads a data set.
func (b *bench) questions(name string) (*eval.Set, error) {
	dir, err := b.dataset(name)
	if err != nil {
		return nil, err
	}
	return eval.LoadBEIR(dir)
}

// syncedStore opens the store of a data set, bringing it into step first. With again it cuts and indexes every document
// anew, so that the figures are those of this program; texts that come out as before keep their vectors.
func (b *bench) syncedStore(ctx context.Context, set *eval.Set, embedder exhibit.Embedder, again bool) (*local.Store, error) {
	folder := b.storeFolder(set.Name)
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return nil, err
	}
	next := time.Now().Add(10 * time.Second)
	store, err := local.Open(ctx, folder, &local.Options{Embedder: embedder, Progress: func(p local.Progress) {
		if time.Now().After(next) {
			next = time.Now().Add(10 * time.Second)
			b.progress("%s: %s %d of %d", set.Name, p.Stage, p.Done, p.Total)
		}
	}})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	report, err := store.Sync(ctx, local.SyncRequest{Roots: []local.Root{{Path: set.Corpus, JSONLines: true}}, Rebuild: local.Rebuild{Chunks: again, Index: again}})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	// Cranfield has two documents without a text. They count as any judged document that is not found.
	for _, f := range report.Failures {
		b.say("%-10s not a document: %s: %s", set.Name, f.DocID, f.Reason)
	}
	status, err := store.Status(ctx, "")
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	b.say("%-10s %d documents, %d chunks, %d embedded in this run, %.1f s, store of %.1f MB", set.Name, status.Documents, status.Chunks, report.Chunks.Embedded, time.Since(start).Seconds(), float64(status.SizeBytes)/1e6)
	return store, nil
}

// memory embeds each question once, since several modes ask it.
type memory struct {
	exhibit.Embedder
	mu      sync.Mutex
	vectors map[string][]float32
}

// Embed answers a single question from memory where it can.
func (m *memory) Embed(ctx context.Context, kind exhibit.TextKind, texts []string) ([][]float32, error) {
	if kind != exhibit.Query || len(texts) != 1 {
		return m.Embedder.Embed(ctx, kind, texts)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.vectors[texts[0]]; ok {
		return [][]float32{append([]float32(nil), v...)}, nil
	}
	out, err := m.Embedder.Embed(ctx, kind, texts)
	if err != nil {
		return nil, err
	}
	if m.vectors == nil {
		m.vectors = map[string][]float32{}
	}
	m.vectors[texts[0]] = append([]float32(nil), out[0]...)
	return out, nil
}
