package exhibit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// candidate is what the hits of all legs under one key become, or one further hit of a leg under a key it gave before.
type candidate struct {
	identity
	printed string // the key as printed: the last word in every order
	hit     Hit    // the content that stays
	hitID   string // set on a duplicate inside one leg
	leg     int    // of a duplicate: the leg that gave it
	ranks   []int  // per leg, 0 where it was not found
	scores  []float64
	scored  []bool // per leg: found or completed
	reasons []string
	fused   float64
	rerank  *float64
	rank    int

	weak, conflict bool
	reason         Reason // "" while it lives
	of             []Key
	over           OverBudget
}

func newCandidate(id identity, h Hit, legs int) *candidate {
	return &candidate{identity: id, printed: id.key.String(), hit: h, leg: -1, weak: id.key.Kind() == KeyContent,
		ranks: make([]int, legs), scores: make([]float64, legs), scored: make([]bool, legs)}
}

func (c *candidate) drop(reason Reason, of ...Key) {
	c.reason, c.of = reason, of
}

// found records that leg l found the candidate.
func (c *candidate) found(l int, name string, rank int, score float64) {
	c.ranks[l], c.scores[l], c.scored[l] = rank, score, true
	c.reasons = append(c.reasons, name)
}

func (c *candidate) bestRank() int {
	best := 0
	for _, r := range c.ranks {
		if r > 0 && (best == 0 || r < best) {
			best = r
		}
	}
	return best
}

// byFused is the total order of the fused list: score, then key; duplicates of one key by the rank their leg gave.
func byFused(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.fused, a.fused), strings.Compare(a.printed, b.printed),
		cmp.Compare(a.leg, b.leg), cmp.Compare(a.bestRank(), b.bestRank()))
}

func (c *candidate) allScores(legs []Leg) Scores {
	var s Scores
	for l, leg := range legs {
		if c.scored[l] {
			s.Legs = append(s.Legs, LegScore{Leg: leg.Name, Score: c.scores[l], Rank: c.ranks[l]})
		}
	}
	if len(legs) > 1 && (c.reason == "" || c.rank > 0 || c.reason == BelowRetrieveK) {
		fused := c.fused
		s.Fused = &fused
	}
	s.Rerank = c.rerank
	return s
}

// copyOf keeps an answer's fields apart from those of the port that gave them.
func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func (c *candidate) evidence(collection string, legs []Leg) Evidence {
	e := Evidence{
		Key: c.key, Collection: collection, DocID: c.docID, ChunkIndex: c.chunkIndex, Position: copyOf(c.hit.Position),
		Source: c.hit.Source, Title: c.hit.Title, HeadingPath: slices.Clone(c.hit.HeadingPath), Span: copyOf(c.hit.Span),
		Text: c.hit.Text, ContentHash: ContentHash(c.hit.Text), ConfigHash: c.hit.ConfigHash,
		Scores: c.allScores(legs), HitReasons: slices.Clone(c.reasons), Metadata: maps.Clone(c.hit.Metadata),
	}
	if e.Source == "" {
		e.Source = c.hit.Metadata["source"].Text()
	}
	if e.Source == "" {
		e.Source = c.docID
	}
	if e.Title == "" {
		e.Title = c.hit.Metadata["title"].Text()
	}
	switch {
	case c.rerank != nil:
		e.Score, e.ScoreKind = *c.rerank, ScoreRerank
	case len(legs) > 1:
		e.Score, e.ScoreKind = c.fused, ScoreFused
	default:
		e.Score, e.ScoreKind = c.scores[0], legs[0].Name
	}
	return e
}

func (c *candidate) entry(legs []Leg) Entry {
	e := Entry{Key: c.key, HitID: c.hitID, State: Returned, Reason: c.reason, Of: c.of, Weak: c.weak, Conflict: c.conflict,
		Rank: c.rank, Scores: c.allScores(legs), Notes: c.notes, over: c.over}
	if c.reason != "" {
		e.State = Dropped
	}
	if !c.key.IsZero() {
		e.contentHash = ContentHash(c.hit.Text)[:CitationHashDigits]
	}
	return e
}
