package eval

import (
	"context"
	"fmt"
	"sync"

	"github.com/exhibit-rag/exhibit"
)

// Search answers one question with a ranking, best first. It must be safe for concurrent use where Options.Workers is
// above 1.
type Search func(ctx context.Context, q Query) ([]Ranked, error)

// Options say how a set is evaluated. Nil means the defaults.
type Options struct {
	Measures []Measure             // default: DefaultMeasures
	Level    Level                 // what the results are, for the record; default LevelDocument
	Workers  int                   // questions asked at once; default 1
	Tag      string                // of the run; default "exhibit"
	Progress func(done, total int) // called after each question, from one goroutine at a time; default: none
}

// Evaluate asks every question of a set and measures the answers. The result does not depend on Workers. The first
// error of a search, in the order of the questions asked, ends it and names its question.
func Evaluate(ctx context.Context, set *Set, search Search, opt *Options) (*Result, error) {
	var o Options
	if opt != nil {
		o = *opt
	}
	rankings := make([]Ranking, len(set.Queries))
	errs := make([]error, len(set.Queries))
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, done, failed := 0, 0, false
	for range max(o.Workers, 1) {
		wg.Go(func() {
			for {
				mu.Lock()
				i, over := next, failed || next >= len(set.Queries) || ctx.Err() != nil
				next++
				mu.Unlock()
				if over {
					return
				}
				q := set.Queries[i]
				ranked, err := search(ctx, q)
				if err == nil {
					err = checkRanking(ranked)
				}
				mu.Lock()
				if err != nil {
					// Questions begin in order and those that began go on to their end, so the first error is always the same.
					errs[i], failed = fmt.Errorf("question %s: %w", q.ID, err), true
				}
				rankings[i] = Ranking{QueryID: q.ID, Ranked: ranked}
				done++
				if o.Progress != nil {
					o.Progress(done, len(set.Queries))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return Score(set, &Run{Tag: o.Tag, Rankings: rankings}, &o)
}

// checkRanking refuses a ranking that names one result twice, which would count it twice.
func checkRanking(ranked []Ranked) error {
	seen := make(map[string]bool, len(ranked))
	for _, r := range ranked {
		if r.ID == "" || seen[r.ID] {
			return fmt.Errorf("%q is ranked twice or has no id", r.ID)
		}
		seen[r.ID] = true
	}
	return nil
}

// Score measures a run that is there already. Questions of the set that the run does not have count with an empty
// ranking; rankings of other questions are not looked at. Of the options, Measures and Level count. The error wraps
// exhibit.ErrInvalid where not one question of the set is in the run.
func Score(set *Set, run *Run, opt *Options) (*Result, error) {
	var o Options
	if opt != nil {
		o = *opt
	}
	if len(o.Measures) == 0 {
		var err error
		if o.Measures, err = ParseMeasures(""); err != nil {
			return nil, err
		}
	}
	if o.Level == "" {
		o.Level = LevelDocument
	}
	res := &Result{Level: o.Level, Queries: len(set.Queries), Run: run}
	of := run.of()
	sums := make([]float64, len(o.Measures))
	found := 0
	for _, q := range set.Queries {
		ranked, ok := of[q.ID]
		if ok {
			found++
		}
		row := QueryValues{QueryID: q.ID}
		for i, m := range o.Measures {
			v := m.Value(ranked, set.Qrels[q.ID])
			sums[i] += v
			row.Values = append(row.Values, Value{m, v})
		}
		res.PerQuery = append(res.PerQuery, row)
	}
	if found == 0 {
		return nil, &exhibit.Error{Op: "run", Source: run.Tag, Kind: exhibit.ErrInvalid, Err: fmt.Errorf("none of the %d questions of %s is in it", len(set.Queries), set.Name),
			Hint: "compare the ids of the questions in both files"}
	}
	for i, m := range o.Measures {
		res.Measures = append(res.Measures, Value{m, sums[i] / float64(len(set.Queries))})
	}
	return res, nil
}
