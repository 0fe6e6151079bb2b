package exhibit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// rerank lets a reranker reorder the candidates. It fails open: whatever the reranker answers, no candidate is lost,
// and what was wrong is told as degraded. Candidates that it scored come first, by its score; the others follow in
// the order that fusion gave.
func (run *lookup) rerank(ctx context.Context, reranker Reranker, timeout time.Duration) {
	if reranker == nil || run.set.NoRerank || len(run.ranked) == 0 {
		return
	}
	passages := make([]RerankPassage, len(run.ranked))
	for i, c := range run.ranked {
		passages[i] = RerankPassage{Title: c.hit.Title, HeadingPath: c.hit.HeadingPath, Text: c.hit.Text}
	}
	scores, err := rerankWithin(ctx, reranker, run.req.Query, passages, timeout)
	if err != nil {
		run.degrade("rerank", "rerank", err.Error(), "the order of fusion stands")
		return
	}
	if problem := run.takeRerank(scores); problem != "" {
		run.degrade("rerank", "rerank", problem, "candidates without a score follow in the order of fusion")
	}
	slices.SortStableFunc(run.ranked, byRerank)
	for i, c := range run.ranked {
		c.rank = i + 1
	}
	run.applyRerankFloor()
}

func rerankWithin(ctx context.Context, reranker Reranker, query string, passages []RerankPassage, timeout time.Duration) ([]RerankScore, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	scores, err := within(bounded, func() ([]RerankScore, error) { return reranker.Rerank(bounded, query, passages) })
	switch {
	case err == nil || bounded.Err() == nil:
		return scores, err
	case ctx.Err() == nil:
		return nil, fmt.Errorf("no answer within %v", timeout)
	}
	return nil, errors.New("the lookup ended first")
}

// takeRerank stores the scores that can be used, the first for each index, and tells what could not.
func (run *lookup) takeRerank(scores []RerankScore) string {
	var outside, repeated, notFinite int
	for _, s := range scores {
		switch {
		case s.Index < 0 || s.Index >= len(run.ranked):
			outside++
		case math.IsNaN(s.Score) || math.IsInf(s.Score, 0):
			notFinite++
		case run.ranked[s.Index].rerank != nil:
			repeated++
		default:
			score := s.Score
			run.ranked[s.Index].rerank = &score
		}
	}
	missing := 0
	for _, c := range run.ranked {
		if c.rerank == nil {
			missing++
		}
	}
	var problems []string
	for _, p := range [...]struct {
		n    int
		what string
	}{{missing, "without a score"}, {repeated, "scored twice"}, {outside, "out of range"}, {notFinite, "not finite"}} {
		if p.n > 0 {
			problems = append(problems, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(problems, ", ")
}

func byRerank(a, b *candidate) int {
	switch {
	case a.rerank != nil && b.rerank != nil:
		return cmp.Or(cmp.Compare(*b.rerank, *a.rerank), byFused(a, b))
	case a.rerank != nil:
		return -1
	case b.rerank != nil:
		return 1
	}
	return byFused(a, b)
}

func (run *lookup) applyRerankFloor() {
	if !run.set.MinRerank.IsSet() {
		return
	}
	run.ranked = slices.DeleteFunc(run.ranked, func(c *candidate) bool {
		if c.rerank == nil || *c.rerank >= run.set.MinRerank.Value {
			return false
		}
		c.drop(BelowThreshold)
		run.gone = append(run.gone, c)
		return true
	})
}
