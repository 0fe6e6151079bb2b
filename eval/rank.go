package eval

import (
	"cmp"
	"errors"
	"slices"

	"github.com/exhibit-rag/exhibit"
)

// Level says what is ranked and judged.
type Level string

// The levels.
const (
	LevelDocument Level = "document" // docIds, each by its best chunk
	LevelChunk    Level = "chunk"    // evidence keys
)

// ParseLevel parses "document" or "chunk"; "" is document. The error wraps exhibit.ErrInvalid.
func ParseLevel(s string) (Level, error) {
	switch l := cmp.Or(Level(s), LevelDocument); l {
	case LevelDocument, LevelChunk:
		return l, nil
	}
	return "", &exhibit.Error{Op: "level", Source: s, Kind: exhibit.ErrInvalid, Err: errors.New(`it is neither "document" nor "chunk"`)}
}

// Rank turns the account of a lookup into the ranking that is measured. That is the fused (and reranked) list before
// the per-document cap and return-n: what rag.retrieve-k kept in its order, then what it cut off in the fused order,
// since a measure looks at ranks and the order below the cut is known. What has no rank (unusable hits, hits below a
// threshold) and a second hit of one evidence key stand in no ranking.
//
// At LevelDocument each docId stands where its best chunk does, with that chunk's score; a hit without a docId stands
// for itself under its evidence key.
func Rank(l *exhibit.Ledger, level Level) []Ranked {
	entries := make([]*exhibit.Entry, 0, len(l.Entries))
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Rank > 0 && e.Reason != exhibit.DuplicateOf {
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b *exhibit.Entry) int {
		return cmp.Or(cmp.Compare(below(a), below(b)), cmp.Compare(a.Rank, b.Rank))
	})
	var out []Ranked
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		id := e.Key.String()
		if level != LevelChunk && e.Key.DocID() != "" {
			id = e.Key.DocID()
		}
		if !seen[id] {
			seen[id] = true
			out = append(out, Ranked{ID: id, Score: scoreOf(&e.Scores)})
		}
	}
	return out
}

func below(e *exhibit.Entry) int {
	if e.Reason == exhibit.BelowRetrieveK {
		return 1
	}
	return 0
}

// scoreOf is the score that ordered an entry: the reranker's, else the fused one, else that of the only leg.
func scoreOf(s *exhibit.Scores) float64 {
	switch {
	case s.Rerank != nil:
		return *s.Rerank
	case s.Fused != nil:
		return *s.Fused
	case len(s.Legs) > 0:
		return s.Legs[0].Score
	}
	return 0
}
