package exhibittest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/exhibit-rag/exhibit"
)

// BrokenPort is a port with one deliberate fault, and the rule of the suite that must catch it.
type BrokenPort struct {
	Name  string
	Check string // as Problem.Check
	Build func(docs []Doc) exhibit.KnowledgeSearchPort
}

// BrokenPorts returns the ports that TestSearchPort must catch. They are also what a pipeline has to survive: none of
// them may cost a lookup a candidate or its order.
func BrokenPorts() []BrokenPort {
	return append(append(brokenLists(), brokenConditions()...), brokenAbilities()...)
}

// brokenLists are faults in what is answered.
func brokenLists() []BrokenPort {
	var built atomic.Int64
	renumbering := func(docs []Doc) exhibit.KnowledgeSearchPort {
		second := built.Add(1)%2 == 0
		return changing(func(hits []exhibit.Hit) {
			if second {
				reverseKeepingScores(hits)
			}
		})(docs)
	}
	return []BrokenPort{
		{"too many hits", "at most K hits", ignoreK},
		{"NaN score", "scores are finite and descend", changing(func(hits []exhibit.Hit) { hits[len(hits)/2].Score = math.NaN() })},
		{"infinite score", "scores are finite and descend", changing(func(hits []exhibit.Hit) { hits[0].Score = math.Inf(1) })},
		{"unsorted", "scores are finite and descend", changing(slices.Reverse[[]exhibit.Hit])},
		{"distance as similarity, nearest first", "scores are finite and descend", changing(func(hits []exhibit.Hit) {
			for i := range hits {
				hits[i].Score = 1 - hits[i].Score
			}
		})},
		{"distance as similarity, farthest first", "higher score is better", farthest},
		{"all scores equal", "higher score is better", changing(func(hits []exhibit.Hit) {
			for i := range hits {
				hits[i].Score = 1
			}
		})},
		{"no identity", "hits carry text and identity", changing(func(hits []exhibit.Hit) {
			for i := range hits {
				hits[i].Metadata = nil
			}
		})},
		{"negative chunk index", "hits carry text and identity", changing(func(hits []exhibit.Hit) {
			for i := range hits {
				hits[i].Metadata["chunkIndex"] = exhibit.Int(-1)
			}
		})},
		{"empty text", "hits carry text and identity", changing(func(hits []exhibit.Hit) { hits[0].Text = "" })},
		{"text rewritten", "hits carry text and identity", changing(func(hits []exhibit.Hit) { hits[0].Text = "… " + hits[0].Text })},
		{"wrong span", "hits carry text and identity", changing(func(hits []exhibit.Hit) { hits[0].Span = &exhibit.Span{StartByte: 1, EndByte: 1 << 20} })},
		{"one hit twice", "no hit twice", changing(func(hits []exhibit.Hit) {
			if len(hits) > 1 {
				hits[1] = hits[0]
			}
		})},
		{"order by chance", "equal input, equal output", nondeterministic},
		{"order new in every store", "equal input, equal output", renumbering},
		{"lists that depend on K", "fewer are a prefix of more", shuffledByK},
	}
}

// brokenConditions are faults in what is asked.
func brokenConditions() []BrokenPort {
	return []BrokenPort{
		{"filter ignored", "filter", asking(func(r *exhibit.SearchRequest) { r.Filter = nil })},
		{"access rule ignored", "access rule", asking(func(r *exhibit.SearchRequest) { r.Access = nil })},
		{"filter after the cut at K", "filter", filterLate},
		{"filter changes statistics", "filter", asking(func(r *exhibit.SearchRequest) { r.Access, r.Filter = exhibit.All(r.Access, r.Filter), nil })},
		{"access rule leaks statistics", "access rule hides statistics", asking(func(r *exhibit.SearchRequest) { r.Filter, r.Access = exhibit.All(r.Access, r.Filter), nil })},
		{"ctx ignored", "ended context", func(docs []Doc) exhibit.KnowledgeSearchPort {
			return wrap(docs, func(p *MemoryPort, _ context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
				return p.Search(context.Background(), req)
			})
		}},
		{"hangs when ctx has ended", "ended context", func(docs []Doc) exhibit.KnowledgeSearchPort {
			return wrap(docs, func(p *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
				if ctx.Err() != nil {
					select {}
				}
				return p.Search(ctx, req)
			})
		}},
		{"K above the collection is an error", "K above the collection", func(docs []Doc) exhibit.KnowledgeSearchPort {
			return wrap(docs, func(p *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
				if req.K > len(p.chunks) {
					return nil, errors.New("k exceeds the number of elements")
				}
				return p.Search(ctx, req)
			})
		}},
		{"an empty collection is an error", "empty collection", func(docs []Doc) exhibit.KnowledgeSearchPort {
			return wrap(docs, func(p *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
				if len(p.chunks) == 0 {
					return nil, errors.New("collection is empty")
				}
				return p.Search(ctx, req)
			})
		}},
		{"finds nothing", "answers questions", func([]Doc) exhibit.KnowledgeSearchPort { return &FakePort{} }},
		{"answers of one call in another", "concurrent use", crossTalk},
	}
}

// brokenAbilities are faults in the optional abilities.
func brokenAbilities() []BrokenPort {
	scorer := func(name string, change func([]exhibit.Score) []exhibit.Score) BrokenPort {
		return BrokenPort{name, "scorer agrees with search", func(docs []Doc) exhibit.KnowledgeSearchPort {
			return &wrongScorer{MemoryPort: NewMemoryWords(docs), change: change}
		}}
	}
	return []BrokenPort{
		scorer("scorer of another scale", func(s []exhibit.Score) []exhibit.Score {
			for i := range s {
				s[i].Value *= 2
			}
			return s
		}),
		scorer("scorer in another order", func(s []exhibit.Score) []exhibit.Score { slices.Reverse(s); return s }),
		scorer("scorer that leaves some out", func(s []exhibit.Score) []exhibit.Score { return s[:len(s)/2] }),
		scorer("scorer that answers NaN", func(s []exhibit.Score) []exhibit.Score {
			for i := range s {
				s[i].Value = math.NaN()
			}
			return s
		}),
		scorer("scorer that knows no hit", func(s []exhibit.Score) []exhibit.Score { return make([]exhibit.Score, len(s)) }),
		{"coverage counts hidden chunks", "coverage", func(docs []Doc) exhibit.KnowledgeSearchPort {
			return &wrongCoverage{MemoryPort: NewMemoryWords(docs)}
		}},
	}
}

// searchFunc is a port made of a function over a right port.
type searchFunc struct {
	port   *MemoryPort
	search func(*MemoryPort, context.Context, exhibit.SearchRequest) ([]exhibit.Hit, error)
}

func (f *searchFunc) Search(ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	return f.search(f.port, ctx, req)
}

func wrap(docs []Doc, search func(*MemoryPort, context.Context, exhibit.SearchRequest) ([]exhibit.Hit, error)) exhibit.KnowledgeSearchPort {
	return &searchFunc{NewMemoryWords(docs), search}
}

// changing spoils the hits of a right port where there are any.
func changing(change func([]exhibit.Hit)) func([]Doc) exhibit.KnowledgeSearchPort {
	return func(docs []Doc) exhibit.KnowledgeSearchPort {
		return wrap(docs, func(p *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
			hits, err := p.Search(ctx, req)
			if len(hits) > 0 {
				change(hits)
			}
			return hits, err
		})
	}
}

// asking spoils the request.
func asking(change func(*exhibit.SearchRequest)) func([]Doc) exhibit.KnowledgeSearchPort {
	return func(docs []Doc) exhibit.KnowledgeSearchPort {
		return wrap(docs, func(p *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
			change(&req)
			return p.Search(ctx, req)
		})
	}
}

func ignoreK(docs []Doc) exhibit.KnowledgeSearchPort {
	return asking(func(r *exhibit.SearchRequest) { r.K = everything })(docs)
}

func farthest(docs []Doc) exhibit.KnowledgeSearchPort {
	vectors := NewMemoryVectors(docs)
	return wrap(docs, func(_ *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
		k := req.K
		req.K = everything
		hits, err := vectors.Search(ctx, req)
		for i := range hits {
			hits[i].Score = 1 - hits[i].Score
		}
		slices.SortFunc(hits, func(a, b exhibit.Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
		return hits[:min(len(hits), k)], err
	})
}

func filterLate(docs []Doc) exhibit.KnowledgeSearchPort {
	return wrap(docs, func(p *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
		f := req.Filter
		req.Filter = nil
		hits, err := p.Search(ctx, req)
		return slices.DeleteFunc(hits, func(h exhibit.Hit) bool {
			return !f.Match(func(key string) (exhibit.Value, bool) {
				at := slices.IndexFunc(p.docs, func(d Doc) bool { return d.DocID == h.Source })
				return p.docs[at].Field(key)
			})
		}), err
	})
}

// nondeterministic turns the list over in every second call, with the scores left where they were.
func nondeterministic(docs []Doc) exhibit.KnowledgeSearchPort {
	var calls atomic.Int64
	return changing(func(hits []exhibit.Hit) {
		if calls.Add(1)%2 == 0 {
			reverseKeepingScores(hits)
		}
	})(docs)
}

func shuffledByK(docs []Doc) exhibit.KnowledgeSearchPort {
	return wrap(docs, func(p *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
		hits, err := p.Search(ctx, req)
		if req.K%2 == 0 {
			reverseKeepingScores(hits)
		}
		return hits, err
	})
}

func reverseKeepingScores(hits []exhibit.Hit) {
	scores := make([]float64, len(hits))
	for i, h := range hits {
		scores[i] = h.Score
	}
	slices.Reverse(hits)
	for i := range hits {
		hits[i].Score = scores[i]
	}
}

// crossTalk keeps the question in a field, so that a call that overlaps another answers its question.
func crossTalk(docs []Doc) exhibit.KnowledgeSearchPort {
	var inside atomic.Int64
	var last atomic.Value
	return wrap(docs, func(p *MemoryPort, ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
		before := last.Swap(req.Query)
		if n := inside.Add(1); n > 1 && before != nil {
			req.Query = before.(string)
		}
		time.Sleep(100 * time.Microsecond) // long enough for calls to overlap
		defer inside.Add(-1)
		return p.Search(ctx, req)
	})
}

type wrongScorer struct {
	*MemoryPort
	change func([]exhibit.Score) []exhibit.Score
}

func (w *wrongScorer) Scores(ctx context.Context, req exhibit.SearchRequest, hits []exhibit.Hit) ([]exhibit.Score, error) {
	scores, err := w.MemoryPort.Scores(ctx, req, hits)
	return w.change(scores), err
}

type wrongCoverage struct{ *MemoryPort }

func (w *wrongCoverage) WithoutVector(context.Context, exhibit.SearchRequest) (int, error) {
	return len(w.chunks), nil
}
