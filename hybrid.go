package exhibit

import (
	"context"
	"errors"
)

// Hybrid is a KnowledgeSearchPort over several legs. A Retriever asks its legs itself; used alone, it answers the
// fused list.
type Hybrid struct {
	legs []Leg
}

// NewHybrid returns the port over the given legs, whose names must differ.
func NewHybrid(legs ...Leg) *Hybrid { return &Hybrid{legs: legs} }

func errNoLegs() error {
	return &Error{Op: "lookup", Kind: ErrInvalid, Err: errors.New("the port has no legs"), Hint: "give it at least one leg"}
}

// Legs returns the legs.
func (h *Hybrid) Legs() []Leg { return h.legs }

// Search asks every leg for up to K hits and answers the fused list, cut at K, each hit with its fused score. It fails
// where every leg does.
func (h *Hybrid) Search(ctx context.Context, req SearchRequest) ([]Hit, error) {
	if len(h.legs) == 0 {
		return nil, errNoLegs()
	}
	run := &lookup{legs: h.legs, opt: &RetrieverOptions{}, res: &LookupResult{},
		req: LookupRequest{Collection: req.Collection, Query: req.Query, Filter: req.Filter, Access: req.Access}}
	run.set.RetrieveK.Value = req.K
	if err := run.recall(ctx); err != nil {
		return nil, err
	}
	if err := run.fuse(ctx); err != nil {
		return nil, err
	}
	run.deduplicate()
	hits := make([]Hit, 0, len(run.ranked))
	for _, c := range run.ranked {
		if c.reason == "" {
			h := c.hit
			h.Score = c.fused
			hits = append(hits, h)
		}
	}
	return hits, nil
}

var (
	_ KnowledgeSearchPort = (*Hybrid)(nil)
	_ LegSource           = (*Hybrid)(nil)
)
