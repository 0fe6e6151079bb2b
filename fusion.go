package exhibit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/exhibit-rag/exhibit/internal/fuse"
)

// fuse gives every candidate its fused score, puts them in order and cuts the list at retrieve-k.
func (run *lookup) fuse(ctx context.Context) error {
	slices.SortFunc(run.main, func(a, b *candidate) int { return strings.Compare(a.printed, b.printed) })
	switch {
	case len(run.legs) == 1:
		for _, c := range append(slices.Clone(run.main), run.extra...) {
			c.fused = c.scores[0]
		}
	case run.set.Fusion.Value == FusionRRF:
		run.fuseRanks()
	default:
		if err := run.fuseScores(ctx); err != nil {
			return err
		}
	}
	run.ranked = append(slices.Clone(run.main), run.extra...)
	slices.SortFunc(run.ranked, byFused)
	for i, c := range run.ranked {
		c.rank = i + 1
		if i >= run.set.RetrieveK.Value {
			c.drop(BelowRetrieveK)
		}
	}
	if k := run.set.RetrieveK.Value; len(run.ranked) > k {
		run.gone = append(run.gone, run.ranked[k:]...)
		run.ranked = run.ranked[:k:k]
	}
	return nil
}

func (run *lookup) fuseRanks() {
	all := append(slices.Clone(run.main), run.extra...)
	ranks := make([][]int, len(run.legs))
	for l := range run.legs {
		for _, c := range all {
			ranks[l] = append(ranks[l], c.ranks[l])
		}
	}
	for i, f := range fuse.ReciprocalRanks(ranks) {
		all[i].fused = f
	}
}

// fuseScores completes the scores that a leg is missing, standardises each leg over the union of the candidates and
// adds the legs in equal parts.
func (run *lookup) fuseScores(ctx context.Context) error {
	n := float64(len(run.legs))
	for l := range run.legs {
		if err := run.complete(ctx, l); err != nil {
			return err
		}
		scores := make([]float64, len(run.main))
		for i, c := range run.main {
			scores[i] = c.scores[l]
		}
		z, mean, deviation := fuse.Standardise(scores)
		for i, c := range run.main {
			c.fused += z[i] / n
		}
		for _, d := range run.extra {
			run.standardiseDuplicate(d, l, mean, deviation)
		}
	}
	return nil
}

// standardiseDuplicate scores a further hit of a leg under a key: its own score in its own leg, and what the other
// legs gave to the key.
func (run *lookup) standardiseDuplicate(d *candidate, l int, mean, deviation float64) {
	if d.leg != l {
		at, ok := slices.BinarySearchFunc(run.main, d.printed, func(c *candidate, s string) int { return strings.Compare(c.printed, s) })
		if !ok {
			return
		}
		d.scores[l], d.scored[l] = run.main[at].scores[l], true
	}
	d.fused += fuse.StandardiseOne(d.scores[l], mean, deviation) / float64(len(run.legs))
}

// complete asks a leg that can score given hits for those it did not find. Where it cannot, an absent dense score is
// the leg's lowest and any other absent score is 0, as for a chunk that holds no word of the question.
func (run *lookup) complete(ctx context.Context, l int) error {
	var missing []*candidate
	absent := 0.0
	if run.legs[l].Name != LegLexical {
		absent = run.lowest(l)
	}
	for _, c := range run.main {
		if c.ranks[l] == 0 {
			missing = append(missing, c)
			c.scores[l], c.scored[l] = absent, false
		}
	}
	scorer, ok := run.legs[l].Port.(Scorer)
	if !ok || len(missing) == 0 || run.res.Ledger.Legs[l].Error != "" {
		return nil
	}
	hits := make([]Hit, len(missing))
	for i, c := range missing {
		hits[i] = c.hit
	}
	scores, err := within(ctx, func() ([]Score, error) { return scorer.Scores(ctx, run.searchRequest(), hits) })
	if err := ctx.Err(); err != nil {
		return err
	}
	if err == nil && len(scores) != len(missing) {
		err = fmt.Errorf("%d scores for %d hits", len(scores), len(missing))
	}
	if err != nil {
		run.degrade("fuse", run.legs[l].Name, err.Error(), "absent scores count as this leg's lowest")
		return nil
	}
	for i, s := range scores {
		if s.OK && !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) {
			missing[i].scores[l], missing[i].scored[l] = s.Value, true
		}
	}
	return nil
}

// lowest is the lowest score that a leg gave to any candidate, 0 where it found none.
func (run *lookup) lowest(l int) float64 {
	low, any := 0.0, false
	for _, c := range run.main {
		if c.ranks[l] > 0 && (!any || c.scores[l] < low) {
			low, any = c.scores[l], true
		}
	}
	return low
}
