package exhibittest

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/exhibit-rag/exhibit"
)

// RerankFault is what goes wrong in a FakeReranker.
type RerankFault int

// The faults of a reranker.
const (
	RerankOK         RerankFault = iota
	RerankError                  // an error
	RerankEmpty                  // no scores
	RerankPartial                // scores for every second passage only
	RerankDuplicates             // every index twice, the second time with another score
	RerankOutOfRange             // besides the scores, two for passages that do not exist
	RerankNaN                    // NaN for every third passage
	RerankInf                    // +Inf for every third passage
	RerankHang                   // no answer until ctx ends
	RerankDeaf                   // no answer for Delay, whatever ctx says
)

// RerankFaults returns every fault.
func RerankFaults() []RerankFault {
	return []RerankFault{RerankError, RerankEmpty, RerankPartial, RerankDuplicates, RerankOutOfRange, RerankNaN, RerankInf, RerankHang, RerankDeaf}
}

// String names the fault.
func (f RerankFault) String() string {
	return [...]string{"ok", "error", "empty", "partial", "duplicates", "out of range", "NaN", "Inf", "hang", "deaf"}[f]
}

// FakeReranker scores passages by a function and records what it was asked. Set its fields before first use; after
// that it is safe for concurrent use.
type FakeReranker struct {
	ScoreOf func(query string, p exhibit.RerankPassage) float64 // default: how many of the question's words the text holds
	Fault   RerankFault
	Delay   time.Duration // before every answer; ctx cuts it short except with RerankDeaf
	Err     error         // what RerankError answers; default an error of its own

	mu    sync.Mutex
	asked [][]exhibit.RerankPassage
}

// Asked returns the passages of every call so far.
func (f *FakeReranker) Asked() [][]exhibit.RerankPassage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([][]exhibit.RerankPassage(nil), f.asked...)
}

// Rerank answers one score a passage, or the fault.
func (f *FakeReranker) Rerank(ctx context.Context, query string, passages []exhibit.RerankPassage) ([]exhibit.RerankScore, error) {
	f.mu.Lock()
	f.asked = append(f.asked, append([]exhibit.RerankPassage(nil), passages...))
	f.mu.Unlock()
	switch {
	case f.Fault == RerankHang:
		<-ctx.Done()
		return nil, ctx.Err()
	case f.Fault == RerankDeaf:
		time.Sleep(f.Delay)
	case f.Delay > 0:
		select {
		case <-time.After(f.Delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	score := f.ScoreOf
	if score == nil {
		score = sharedWords
	}
	var scores []exhibit.RerankScore
	for i, p := range passages {
		scores = append(scores, exhibit.RerankScore{Index: i, Score: score(query, p)})
	}
	return f.spoil(scores)
}

func (f *FakeReranker) spoil(scores []exhibit.RerankScore) ([]exhibit.RerankScore, error) {
	switch f.Fault {
	case RerankError:
		if f.Err != nil {
			return nil, f.Err
		}
		return nil, errors.New("the reranker is down")
	case RerankEmpty:
		return nil, nil
	case RerankPartial:
		var some []exhibit.RerankScore
		for i := 0; i < len(scores); i += 2 {
			some = append(some, scores[i])
		}
		return some, nil
	case RerankDuplicates:
		n := len(scores)
		for i := range n {
			scores = append(scores, exhibit.RerankScore{Index: i, Score: float64(i)})
		}
	case RerankOutOfRange:
		scores = append(scores, exhibit.RerankScore{Index: -1, Score: 9}, exhibit.RerankScore{Index: len(scores), Score: 9})
	case RerankNaN, RerankInf:
		bad := math.NaN()
		if f.Fault == RerankInf {
			bad = math.Inf(1)
		}
		for i := 0; i < len(scores); i += 3 {
			scores[i].Score = bad
		}
	}
	return scores, nil
}

func sharedWords(query string, p exhibit.RerankPassage) float64 {
	in := map[string]bool{}
	for _, w := range words(p.Text) {
		in[w] = true
	}
	n := 0
	for _, w := range words(query) {
		if in[w] {
			n++
		}
	}
	return float64(n)
}

var _ exhibit.Reranker = (*FakeReranker)(nil)
