package exhibit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// legAnswer is what one leg answered.
type legAnswer struct {
	hits    []Hit
	without *int
	err     error
}

// recall asks every leg for up to retrieve-k hits and turns the hits into candidates.
func (run *lookup) recall(ctx context.Context) error {
	answers := run.askLegs(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	var errs []error
	for l, a := range answers {
		report := LegReport{Leg: run.legs[l].Name, Asked: run.set.RetrieveK.Value, Hits: len(a.hits), WithoutVector: a.without}
		if a.err != nil {
			report.Error = a.err.Error()
			errs = append(errs, a.err)
		}
		run.res.Ledger.Legs = append(run.res.Ledger.Legs, report)
	}
	if len(errs) == len(run.legs) {
		for _, err := range errs {
			if errors.Is(err, ErrInvalid) || errors.Is(err, ErrIncompatibleStore) {
				return err
			}
		}
		return &Error{Op: "lookup", Kind: ErrUnavailable, Err: fmt.Errorf("every leg failed: %w", errors.Join(errs...)), Hint: HintOf(errs[0])}
	}
	byKey := map[string]*candidate{}
	for l, a := range answers {
		if a.err != nil {
			run.degrade("recall", run.legs[l].Name, a.err.Error(), "answered without this leg")
			continue
		}
		run.takeHits(l, a.hits, byKey)
	}
	run.dropUnder(byKey)
	return nil
}

// askLegs runs the legs at once. A leg that does not heed ctx is left behind when ctx ends.
func (run *lookup) askLegs(ctx context.Context) []legAnswer {
	answers := make([]legAnswer, len(run.legs))
	var wg sync.WaitGroup
	for l, leg := range run.legs {
		wg.Go(func() { answers[l] = askWithin(ctx, leg, run.searchRequest()) })
	}
	wg.Wait()
	return answers
}

func (run *lookup) searchRequest() SearchRequest {
	return SearchRequest{Collection: run.req.Collection, Query: run.req.Query, K: run.set.RetrieveK.Value,
		Filter: run.req.Filter, Access: run.req.Access}
}

func askWithin(ctx context.Context, leg Leg, req SearchRequest) legAnswer {
	a, err := within(ctx, func() (a legAnswer, err error) {
		a.hits, err = leg.Port.Search(ctx, req)
		if c, ok := leg.Port.(Coverage); ok && err == nil {
			if n, err := c.WithoutVector(ctx, req); err == nil {
				a.without = &n
			}
		}
		return a, err
	})
	a.err = err
	return a
}

// within runs what belongs to somebody else, and leaves it behind when ctx ends, whether it heeds ctx or not.
func within[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := call()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (run *lookup) degrade(stage, port, cause, effect string) {
	run.res.Degraded = append(run.res.Degraded, Degraded{Stage: stage, Port: port, Cause: cause, Effect: effect})
}

// takeHits identifies the hits of one leg, in the leg's order, and joins them to candidates by key.
func (run *lookup) takeHits(l int, hits []Hit, byKey map[string]*candidate) {
	name := run.legs[l].Name
	hits = run.checkHits(l, hits)
	ids, printed := make([]identity, len(hits)), make([]string, len(hits))
	for i := range hits {
		ids[i] = identify(&hits[i], run.opt.Aliases)
		printed[i] = ids[i].key.String()
	}
	seen := map[string]bool{}
	for r, i := range legOrder(hits, printed) {
		h, id, key, rank := hits[i], ids[i], printed[i], r+1
		c := newCandidate(id, h, len(run.legs))
		switch old := byKey[key]; {
		case id.key.IsZero():
			c.found(l, name, rank, h.Score)
			c.drop(Unusable)
			run.gone = append(run.gone, c)
		case run.underFloor(l, h.Score):
			c.found(l, name, rank, h.Score)
			c.leg = l
			run.under = append(run.under, c)
		case old == nil:
			c.found(l, name, rank, h.Score)
			byKey[key] = c
			run.main = append(run.main, c)
			seen[key] = true
		case seen[key]:
			c.found(l, name, rank, h.Score)
			c.hitID, c.leg = h.ID, l
			run.extra = append(run.extra, c)
		default:
			old.join(c, l, name, rank)
			seen[key] = true
		}
	}
}

// legOrder returns the hits of one leg by score, then printed key, then whatever tells them apart.
func legOrder(hits []Hit, printed []string) []int {
	list := make([]int, len(hits))
	for i := range list {
		list[i] = i
	}
	slices.SortFunc(list, func(a, b int) int {
		if by := cmp.Or(cmp.Compare(hits[b].Score, hits[a].Score), strings.Compare(printed[a], printed[b]),
			strings.Compare(hits[a].ID, hits[b].ID), strings.Compare(hits[a].Text, hits[b].Text)); by != 0 {
			return by
		}
		return byRemainder(&hits[a], &hits[b])
	})
	return list
}

// byRemainder orders hits that score, key, id and text leave equal, so that it never shows in which order they came.
func byRemainder(a, b *Hit) int {
	rest := func(h *Hit) string {
		m, err := h.Metadata.MarshalJSON()
		if err != nil {
			m = []byte(err.Error())
		}
		var span Span
		if h.Span != nil {
			span = *h.Span
		}
		position := -1
		if h.Position != nil {
			position = *h.Position
		}
		return fmt.Sprintf("%s %q %q %q %v %d %q", m, h.Source, h.Title, h.HeadingPath, span, position, h.ConfigHash)
	}
	return strings.Compare(rest(a), rest(b))
}

// join adds the hit of a further leg to a candidate. The content of the leg that ranked it higher stays; a hit that
// has no text takes that of the other and contradicts nothing.
func (c *candidate) join(other *candidate, l int, name string, rank int) {
	if other.hit.Text != c.hit.Text {
		bare := c.hit.Text == "" || other.hit.Text == ""
		c.conflict = c.conflict || !bare
		if c.hit.Text == "" || !bare && rank < c.bestRank() {
			c.hit, c.docID, c.chunkIndex = other.hit, other.docID, other.chunkIndex
		}
	}
	c.notes = mergeStrings(c.notes, other.notes)
	c.found(l, name, rank, other.hit.Score)
}

func mergeStrings(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// checkHits holds a leg to its contract: no more hits than asked for, and finite scores. What breaks it is told as
// degraded; no hit is lost for a score that is no number, it ranks last of its leg.
func (run *lookup) checkHits(l int, hits []Hit) []Hit {
	name := run.legs[l].Name
	hits = slices.Clone(hits)
	low, bad := math.Inf(1), 0
	for i := range hits {
		if s := hits[i].Score; math.IsNaN(s) || math.IsInf(s, 0) {
			bad++
		} else {
			low = math.Min(low, s)
		}
	}
	if bad > 0 {
		if math.IsInf(low, 1) {
			low = 0
		}
		for i := range hits {
			if s := hits[i].Score; math.IsNaN(s) || math.IsInf(s, 0) {
				hits[i].Score = low
			}
		}
		run.degrade("recall", name, fmt.Sprintf("%d scores are not finite", bad), "they rank with the lowest of this leg")
	}
	if k := run.set.RetrieveK.Value; len(hits) > k {
		run.degrade("recall", name, fmt.Sprintf("%d hits for %d asked", len(hits), k), "all are accounted for; the fused list is cut as always")
	}
	return hits
}

// underFloor reports whether a hit is under rag.min-score.dense.
func (run *lookup) underFloor(l int, score float64) bool {
	return run.set.MinDense.IsSet() && run.legs[l].Name == LegDense && score < run.set.MinDense.Value
}

// dropUnder ends what is under the floor. Where another leg found the key, its candidate goes on as if the dense hit
// had never been; a key that no other leg found, and each further hit under a key, is a candidate that was dropped.
func (run *lookup) dropUnder(byKey map[string]*candidate) {
	seen := map[string]bool{}
	for _, c := range run.under {
		other := byKey[c.printed]
		first := !seen[c.printed] && (other == nil || other.ranks[c.leg] == 0)
		seen[c.printed] = true
		if first && other != nil {
			continue
		}
		if !first {
			c.hitID = c.hit.ID
		}
		c.drop(BelowThreshold)
		run.gone = append(run.gone, c)
	}
}
