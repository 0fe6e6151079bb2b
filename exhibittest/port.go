package exhibittest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/exhibit-rag/exhibit"
)

// FakePort answers scripted hits and records what it was asked. Set its fields before first use; after that it is safe
// for concurrent use.
type FakePort struct {
	Name    string                   // the leg's name; default "dense"
	Hits    []exhibit.Hit            // what every question gets that ByQuery does not know
	ByQuery map[string][]exhibit.Hit // what a question gets
	Err     error                    // answered instead of hits
	Overrun bool                     // answer all hits, however many are asked for
	Hang    bool                     // no answer until ctx ends
	Deaf    chan struct{}            // no answer until the channel is closed, whatever ctx says; nil is off

	mu    sync.Mutex
	asked []exhibit.SearchRequest
}

// LegName names the leg.
func (p *FakePort) LegName() string {
	if p.Name == "" {
		return exhibit.LegDense
	}
	return p.Name
}

// Asked returns the requests so far.
func (p *FakePort) Asked() []exhibit.SearchRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Search answers the script, at most K hits of it unless Overrun says otherwise.
func (p *FakePort) Search(ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	p.mu.Lock()
	p.asked = append(p.asked, req)
	p.mu.Unlock()
	if p.Deaf != nil {
		<-p.Deaf
	} else if p.Hang {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil && p.Deaf == nil {
		return nil, err
	}
	if p.Err != nil {
		return nil, p.Err
	}
	hits, ok := p.ByQuery[req.Query]
	if !ok {
		hits = p.Hits
	}
	if len(hits) > req.K && !p.Overrun {
		hits = hits[:req.K]
	}
	return slices.Clone(hits), nil
}

// ScoringPort is a FakePort that can also score given hits.
type ScoringPort struct {
	*FakePort
	ScoreOf func(h exhibit.Hit) exhibit.Score // default: the scripted score of the hit with that identity, otherwise not OK
	Err     error                             // answered instead of scores
	Short   bool                              // answer one score less than hits
	Deaf    chan struct{}                     // no scores until the channel is closed, whatever ctx says; nil is off
}

// Scores answers one score a hit, in order.
func (p *ScoringPort) Scores(_ context.Context, _ exhibit.SearchRequest, hits []exhibit.Hit) ([]exhibit.Score, error) {
	if p.Deaf != nil {
		<-p.Deaf
	}
	if p.Err != nil {
		return nil, p.Err
	}
	var scores []exhibit.Score
	for _, h := range hits {
		if p.ScoreOf != nil {
			scores = append(scores, p.ScoreOf(h))
			continue
		}
		var s exhibit.Score
		for _, own := range p.Hits {
			if identityOf(&own) == identityOf(&h) {
				s = exhibit.Score{Value: own.Score, OK: true}
			}
		}
		scores = append(scores, s)
	}
	if p.Short {
		scores = scores[:max(0, len(scores)-1)]
	}
	return scores, nil
}

// identityOf prints what tells a hit from others: the docId and chunk index of its metadata, else its id.
func identityOf(h *exhibit.Hit) string {
	doc, okDoc := firstOf(h.Metadata, "docId", "doc_id")
	index, okIndex := firstOf(h.Metadata, "chunkIndex", "chunk_index")
	if okDoc && okIndex {
		return doc.Text() + "\x00" + index.Text()
	}
	return "\x00" + h.ID
}

func firstOf(m exhibit.Metadata, names ...string) (exhibit.Value, bool) {
	for _, n := range names {
		if v, ok := m[n]; ok {
			return v, true
		}
	}
	return exhibit.Value{}, false
}

// Rewrite returns a port that answers what port answers, passed through change. Legs stay legs, and scoring and
// coverage stay what they were. change gets a copy of the hits, whose metadata it may replace but not write to.
func Rewrite(port exhibit.KnowledgeSearchPort, change func(req exhibit.SearchRequest, hits []exhibit.Hit) []exhibit.Hit) exhibit.KnowledgeSearchPort {
	if source, ok := port.(exhibit.LegSource); ok {
		var legs []exhibit.Leg
		for _, l := range source.Legs() {
			legs = append(legs, exhibit.Leg{Name: l.Name, Port: Rewrite(l.Port, change)})
		}
		return exhibit.NewHybrid(legs...)
	}
	r := &rewritten{port: port, change: change}
	scorer, scores := port.(exhibit.Scorer)
	coverage, covers := port.(exhibit.Coverage)
	switch {
	case scores && covers:
		return struct {
			*rewritten
			exhibit.Scorer
			exhibit.Coverage
		}{r, scorer, coverage}
	case scores:
		return struct {
			*rewritten
			exhibit.Scorer
		}{r, scorer}
	case covers:
		return struct {
			*rewritten
			exhibit.Coverage
		}{r, coverage}
	}
	return r
}

type rewritten struct {
	port   exhibit.KnowledgeSearchPort
	change func(exhibit.SearchRequest, []exhibit.Hit) []exhibit.Hit
}

func (r *rewritten) LegName() string {
	if n, ok := r.port.(exhibit.Named); ok {
		return n.LegName()
	}
	return exhibit.LegDense
}

func (r *rewritten) Search(ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	hits, err := r.port.Search(ctx, req)
	if err != nil {
		return nil, err
	}
	return r.change(req, slices.Clone(hits)), nil
}

// StripIndex returns the port with the chunk index taken out of every hit's metadata, as of an engine that never knew
// it.
func StripIndex(port exhibit.KnowledgeSearchPort) exhibit.KnowledgeSearchPort {
	return Rewrite(port, func(_ exhibit.SearchRequest, hits []exhibit.Hit) []exhibit.Hit {
		for i := range hits {
			m := maps.Clone(hits[i].Metadata)
			delete(m, "chunkIndex")
			delete(m, "chunk_index")
			hits[i].Metadata = m
		}
		return hits
	})
}

// RepeatedText is what RepeatHits appends to the text of a repeated hit.
const RepeatedText = " (an older copy)"

// RepeatHits returns the port with every hit followed by another of the same identity that holds other text and scores
// no higher, as of an engine that kept an old copy. It answers at most K hits.
func RepeatHits(port exhibit.KnowledgeSearchPort) exhibit.KnowledgeSearchPort {
	return Rewrite(port, func(req exhibit.SearchRequest, hits []exhibit.Hit) []exhibit.Hit {
		var twice []exhibit.Hit
		for i, h := range hits {
			again := h
			again.Text += RepeatedText
			again.Span = nil
			if i+1 < len(hits) {
				again.Score = h.Score/2 + hits[i+1].Score/2
			}
			twice = append(twice, h, again)
		}
		return twice[:min(len(twice), req.K)]
	})
}

// Recorder keeps what a rewritten port was asked and what it answered.
type Recorder struct {
	mu       sync.Mutex
	requests []exhibit.SearchRequest
	hits     []exhibit.Hit
}

// Record returns the port, with a recorder of every request and hit.
func Record(port exhibit.KnowledgeSearchPort) (exhibit.KnowledgeSearchPort, *Recorder) {
	rec := &Recorder{}
	return Rewrite(port, func(req exhibit.SearchRequest, hits []exhibit.Hit) []exhibit.Hit {
		rec.mu.Lock()
		defer rec.mu.Unlock()
		rec.requests = append(rec.requests, req)
		rec.hits = append(rec.hits, hits...)
		return hits
	}), rec
}

// Requests returns the requests so far, in no particular order where legs ran at once.
func (r *Recorder) Requests() []exhibit.SearchRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Hits returns the hits of all answers so far.
func (r *Recorder) Hits() []exhibit.Hit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.hits)
}

var (
	_ exhibit.KnowledgeSearchPort = (*FakePort)(nil)
	_ exhibit.Named               = (*FakePort)(nil)
	_ exhibit.Scorer              = (*ScoringPort)(nil)
)
