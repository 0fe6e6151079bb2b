package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/eval"
	"github.com/exhibit-rag/exhibit/local"
)

type evalCmd struct {
	Dir       string  `arg:"" optional:"" help:"A BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv. It is synced first."`
	Queries   string  `placeholder:"FILE" help:"Questions, in place of a folder; the collection is measured as it is."`
	Qrels     string  `placeholder:"FILE" help:"Judgements for --queries: BEIR or TREC."`
	Measures  string  `placeholder:"LIST" default:"nDCG@10,R@100,RR@10" help:"Names as in ir-measures."`
	Level     string  `placeholder:"LEVEL" enum:"document,chunk" default:"document" help:"document ranks docIds by their best chunk; chunk ranks evidence keys."`
	RunOut    string  `name:"run-out" placeholder:"FILE" help:"Write the rankings as a TREC run."`
	EscapeIDs bool    `name:"escape-ids" help:"Percent-encode ids that a TREC run cannot hold."`
	RetrieveK *string `name:"retrieve-k" placeholder:"N" help:"Candidates asked of each leg. Default 20, or the largest cutoff of the measures."`
	Mode      *string `name:"search-mode" placeholder:"MODE" help:"hybrid, lexical or dense."`
	Fusion    *string `name:"fusion" placeholder:"HOW" help:"score or rrf."`
}

// Run measures. The fused list is ranked before cap and return-n.
func (c *evalCmd) Run(ctx context.Context, a *app) error {
	format, err := a.format()
	if err != nil {
		return err
	}
	measures, err := eval.ParseMeasures(c.Measures)
	if err != nil {
		return err
	}
	set, err := c.load()
	if err != nil {
		return err
	}
	if c.Dir != "" && !a.storeNamed() {
		if a.cli.Store, err = a.cacheStore([]string{c.Dir}); err != nil {
			return err
		}
	}
	env, err := a.environment(func(s settings, p *problems) {
		s.loadFlag("retrieve-k", exhibit.KeyRetrieveK, c.RetrieveK, p)
		s.loadFlag("search-mode", exhibit.KeySearchMode, c.Mode, p)
		s.loadFlag("fusion", exhibit.KeyFusion, c.Fusion, p)
	})
	if err != nil {
		return err
	}
	if set.Corpus != "" {
		if err := a.syncFirst(ctx, env, []local.Root{{Path: set.Corpus, JSONLines: true}}); err != nil {
			return err
		}
	}
	store, line, err := a.open(ctx, env, false)
	if err != nil {
		return err
	}
	defer store.Close()
	result, err := c.measure(ctx, a, store, line, env, set, measures)
	line.end()
	if err != nil {
		return err
	}
	if err := c.writeRun(result.Run); err != nil {
		return err
	}
	return c.print(a, format, set, result)
}

func (c *evalCmd) load() (*eval.Set, error) {
	switch {
	case c.Dir != "" && c.Queries == "":
		return eval.LoadBEIR(c.Dir)
	case c.Dir == "" && c.Queries != "" && c.Qrels != "":
		return eval.Load(c.Queries, c.Qrels)
	}
	return nil, &exhibit.Error{Op: "eval", Kind: exhibit.ErrInvalid, Err: errors.New("it takes a BEIR folder, or --queries and --qrels"), Hint: "exhibit eval datasets/scifact"}
}

func (c *evalCmd) measure(ctx context.Context, a *app, store *local.Store, line *progressLine, env *environment, set *eval.Set, measures []eval.Measure) (*eval.Result, error) {
	level, err := eval.ParseLevel(c.Level)
	if err != nil {
		return nil, err
	}
	settings := env.set.lookup()
	if !settings.RetrieveK.IsSet() {
		settings.RetrieveK = exhibit.Setting[int]{Value: max(exhibit.DefaultRetrieveK, min(eval.MaxCutoff(measures), exhibit.MaxRetrieveK)), From: exhibit.FromDefault}
	}
	var last *exhibit.LookupResult
	search := func(ctx context.Context, q eval.Query) ([]eval.Ranked, error) {
		res, err := store.Lookup(ctx, exhibit.LookupRequest{Collection: a.cli.Collection, Query: q.Text, Settings: settings})
		if err != nil {
			return nil, err
		}
		last = res
		return eval.Rank(&res.Ledger, level), nil
	}
	opt := &eval.Options{Measures: measures, Level: level}
	if line != nil {
		opt.Progress = func(done, total int) {
			line.show(local.Progress{Stage: "ask", Done: done, Total: total, Current: set.Name})
		}
	}
	result, err := eval.Evaluate(ctx, set, search, opt)
	if err != nil {
		return nil, err
	}
	if last != nil {
		result.Settings, result.Revision = last.Settings, last.Revision
	}
	return result, nil
}

func (c *evalCmd) writeRun(run *eval.Run) (err error) {
	if c.RunOut == "" {
		return nil
	}
	f, err := os.Create(c.RunOut)
	if err != nil {
		return &exhibit.Error{Op: "run", Source: c.RunOut, Kind: exhibit.ErrStorage, Err: errors.New(plainPathError(err)), Hint: "name a file in a folder that can be written"}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	if err := run.WriteTREC(w, &eval.TRECOptions{EscapeIDs: c.EscapeIDs}); err != nil {
		return err
	}
	return w.Flush()
}

func (c *evalCmd) print(a *app, format string, set *eval.Set, result *eval.Result) error {
	switch format {
	case "json":
		return a.printJSON(result)
	case "jsonl":
		return a.printLine("measures", result)
	}
	fmt.Fprintf(a.out, "%s: %d questions, %d without a judgement left out\n", set.Name, result.Queries, set.Unjudged)
	for _, v := range result.Measures {
		fmt.Fprintf(a.out, "%-12s %.4f\n", v.Measure, v.Value)
	}
	for _, s := range result.Settings {
		fmt.Fprintf(a.out, "%s = %s (%s)\n", s.Key, s.Value.Text(), s.From)
	}
	return nil
}
