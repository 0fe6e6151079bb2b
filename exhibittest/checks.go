package exhibittest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/exhibit-rag/exhibit"
)

const everything = 1000 // above the number of chunks of the corpus, however it is cut

func (s *suite) answers() {
	port := s.build(s.docs)
	for _, q := range questions() {
		if hits := s.search(port, s.request(q, 10)); len(hits) == 0 {
			s.errorf("no hit for %q, whose words stand in the corpus", q)
		}
	}
}

func (s *suite) scores() {
	port := s.build(s.docs)
	for _, q := range questions() {
		hits := s.search(port, s.request(q, everything))
		for i, h := range hits {
			if math.IsNaN(h.Score) || math.IsInf(h.Score, 0) {
				s.errorf("%q: hit %d has the score %v", q, i+1, h.Score)
			}
			if i > 0 && h.Score > hits[i-1].Score {
				s.errorf("%q: hit %d scores %v, above hit %d with %v", q, i+1, h.Score, i, hits[i-1].Score)
			}
		}
	}
}

// relevance asks with the words of one chunk alone: it must come first, and above a chunk that shares no word.
func (s *suite) relevance() {
	port := s.build(s.docs)
	for _, c := range [...]struct{ query, within string }{
		{"Backups run every night and are restored on trial each quarter.", "Backups run every night"},
		{"A leased bicycle is taxed like a company car, at a quarter of its list price.", "A leased bicycle"},
		{"A password has sixteen characters and never expires. The vault makes and keeps them.", "A password has"},
	} {
		hits := s.search(port, s.request(c.query, everything))
		at := slices.IndexFunc(hits, func(h exhibit.Hit) bool { return strings.Contains(h.Text, c.within) })
		if at != 0 {
			s.errorf("the chunk that holds the question %q stands at %d (0 is not found)", c.query, at+1)
			continue
		}
		if last := hits[len(hits)-1]; len(hits) > 1 && !(hits[0].Score > last.Score) {
			s.errorf("the chunk that holds the question scores %v, the last hit %v", hits[0].Score, last.Score)
		}
	}
}

func (s *suite) width() {
	port := s.build(s.docs)
	for _, q := range questions() {
		for _, k := range [...]int{1, 2, 3, 5} {
			if n := len(s.search(port, s.request(q, k))); n > k {
				s.errorf("%q: %d hits for K %d", q, n, k)
			}
		}
	}
}

func (s *suite) wide() {
	port := s.build(s.docs)
	for _, q := range questions() {
		some := len(s.search(port, s.request(q, 3)))
		if all := len(s.search(port, s.request(q, everything))); all < some {
			s.errorf("%q: %d hits for K %d, %d for K 3", q, all, everything, some)
		}
	}
	if n := len(s.search(s.build(s.docs[:1]), s.request("parental leave", everything))); n == 0 {
		s.errorf("no hit in a collection of one document for K %d", everything)
	}
}

func (s *suite) empty() {
	port := s.build(nil)
	for _, q := range questions() {
		if hits := s.search(port, s.request(q, 10)); len(hits) > 0 {
			s.errorf("%d hits in an empty collection", len(hits))
		}
	}
}

func (s *suite) identity() {
	port := s.build(s.docs)
	for _, q := range questions() {
		for _, h := range s.search(port, s.request(q, everything)) {
			doc, ok := s.doc(&h)
			if !ok {
				s.errorf("%q: hit %q names no document of the corpus under docId or doc_id", q, h.ID)
				continue
			}
			index, hasIndex := firstOf(h.Metadata, "chunkIndex", "chunk_index")
			if !hasIndex && h.ID == "" {
				s.errorf("%q: a hit of %s has neither chunkIndex nor id", q, doc.DocID)
			}
			if n, number := index.Float(); hasIndex && number && (n < 0 || n != math.Trunc(n)) {
				s.errorf("%q: a hit of %s has the chunk index %v", q, doc.DocID, n)
			}
			switch {
			case h.Text == "":
				s.errorf("%q: hit %q has no text", q, h.ID)
			case !strings.Contains(doc.Text, h.Text):
				s.errorf("%q: hit %q has a text that does not stand in %s: %q", q, h.ID, doc.DocID, h.Text)
			case h.Span != nil && !spans(doc.Text, h.Span, h.Text):
				s.errorf("%q: bytes %d to %d of %s are not the hit's text", q, h.Span.StartByte, h.Span.EndByte, doc.DocID)
			}
		}
	}
}

func spans(doc string, span *exhibit.Span, text string) bool {
	return span.StartByte >= 0 && span.StartByte <= span.EndByte && span.EndByte <= len(doc) && doc[span.StartByte:span.EndByte] == text
}

func (s *suite) unique() {
	port := s.build(s.docs)
	for _, q := range questions() {
		seen := map[string]bool{}
		for _, h := range s.search(port, s.request(q, everything)) {
			id := identityOf(&h)
			if seen[id] {
				s.errorf("%q: %q comes twice", q, id)
			}
			seen[id] = true
		}
	}
}

// conditions returns filters of several kinds, each of which some documents of the corpus pass and others do not.
func conditions() []exhibit.Filter {
	eq := exhibit.Eq("team", exhibit.String("it"))
	value := func(v exhibit.Value) *exhibit.Value { return &v }
	return []exhibit.Filter{
		eq,
		{Type: "ne", Key: "team", Value: value(exhibit.String("people"))},
		{Type: "in", Key: "team", Value: value(exhibit.Strings("it", "finance"))},
		{Type: "nin", Key: "team", Value: value(exhibit.Strings("it", "finance"))},
		{Type: "gte", Key: "year", Value: value(exhibit.Int(2024))},
		{Type: "lt", Key: "year", Value: value(exhibit.Int(2023))},
		{Type: "eq", Key: "tags", Value: value(exhibit.String("finance"))},
		{Type: "starts_with", Key: "doc_id", Value: value(exhibit.String("people/"))},
		{Type: "not", Filters: []exhibit.Filter{eq}},
		{Type: "or", Filters: []exhibit.Filter{eq, exhibit.Eq("year", exhibit.Int(2025))}},
		{Type: "and", Filters: []exhibit.Filter{eq, {Type: "gt", Key: "year", Value: value(exhibit.Int(2020))}}},
	}
}

func (s *suite) filter() {
	s.condition(func(r *exhibit.SearchRequest, f *exhibit.Filter) { r.Filter = f }, true)
}

func (s *suite) access() {
	s.condition(func(r *exhibit.SearchRequest, f *exhibit.Filter) { r.Access = f }, false)
}

// condition asks under each condition. A port may refuse a kind of condition that its engine cannot express with an
// error that wraps ErrInvalid, but equality on a metadata key it must know.
func (s *suite) condition(put func(*exhibit.SearchRequest, *exhibit.Filter), keepsScores bool) {
	port := s.build(s.docs)
	for i, f := range conditions() {
		for _, q := range questions() {
			req := s.request(q, everything)
			all := s.search(port, req)
			put(&req, &f)
			some, err := s.ask(context.Background(), port, req)
			if err != nil {
				if i == 0 || !errors.Is(err, exhibit.ErrInvalid) {
					s.errorf("%s: %v", describe(req), err)
				}
				continue
			}
			s.allPass(req, some, &f)
			want := slices.DeleteFunc(slices.Clone(all), func(h exhibit.Hit) bool { return !s.passes(&h, &f) })
			if len(some) != len(want) {
				s.errorf("%s: %d hits, and %d of those without the condition pass it", describe(req), len(some), len(want))
				continue
			}
			if !s.opt.ListsDependOnK {
				s.narrow(port, req, some, want, keepsScores)
			}
		}
	}
}

// narrow holds that a condition changes neither the order nor, for the request's own filter, the scores, and that it is
// applied before the cut at K.
func (s *suite) narrow(port exhibit.KnowledgeSearchPort, req exhibit.SearchRequest, some, want []exhibit.Hit, keepsScores bool) {
	if got, want := printHits(some, true), printHits(want, true); keepsScores && got != want {
		s.errorf("%s: differs from the unfiltered list without what does not pass: %s", describe(req), firstDifference(want, got))
	}
	if len(some) > 1 {
		req.K = 1
		if first := s.search(port, req); len(first) != 1 || identityOf(&first[0]) != identityOf(&some[0]) {
			s.errorf("%s: not the first that passes: the condition is applied after the cut at K", describe(req))
		}
	}
}

func (s *suite) passes(h *exhibit.Hit, f *exhibit.Filter) bool {
	doc, ok := s.doc(h)
	return ok && f.Match(doc.Field)
}

func (s *suite) allPass(req exhibit.SearchRequest, hits []exhibit.Hit, f *exhibit.Filter) {
	for i := range hits {
		if !s.passes(&hits[i], f) {
			s.errorf("%s: hit %d, %q, does not pass", describe(req), i+1, identityOf(&hits[i]))
		}
	}
}

// statistics compares a store that holds hidden documents with one that never held them.
func (s *suite) statistics() {
	if s.opt.LeaksStatistics {
		return
	}
	rule := exhibit.Eq("team", exhibit.String("people"))
	var visible []Doc
	for _, d := range s.docs {
		if rule.Match(d.Field) {
			visible = append(visible, d)
		}
	}
	with, without := s.build(s.docs), s.build(visible)
	for _, q := range questions() {
		req := s.request(q, everything)
		req.Access = &rule
		got, want := printHits(s.search(with, req), false), printHits(s.search(without, req), false)
		if got != want {
			s.errorf("%s: hidden documents change the answer: %s", describe(req), firstDifference(want, got))
		}
	}
}

func (s *suite) ended() {
	port := s.build(s.docs)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	hits, err := s.ask(ctx, port, s.request("parental leave", 5))
	switch {
	case errors.Is(err, errHung):
		s.errorf("no answer within %v of a context that had ended", s.opt.Patience)
	case err == nil:
		s.errorf("%d hits and no error under a context that had ended", len(hits))
	}
}

func (s *suite) repeat() {
	port := s.build(s.docs)
	for _, q := range questions() {
		want := printHits(s.search(port, s.request(q, 10)), true)
		for n := range s.opt.Repeats {
			if got := printHits(s.search(port, s.request(q, 10)), true); got != want {
				s.errorf("%q: call %d differs from the first: %s", q, n+2, firstDifference(want, got))
				break
			}
		}
	}
	again := s.build(s.docs)
	for _, q := range questions() {
		want, got := printHits(s.search(port, s.request(q, 10)), false), printHits(s.search(again, s.request(q, 10)), false)
		if got != want {
			s.errorf("%q: a second store of the same documents differs: %s", q, firstDifference(want, got))
		}
	}
}

func (s *suite) concurrent() {
	port := s.build(s.docs)
	qs := questions()
	want := make([]string, len(qs))
	for i, q := range qs {
		want[i] = printHits(s.search(port, s.request(q, 10)), true)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := range 5 * len(qs) {
				i := (w + n) % len(qs)
				hits, err := s.ask(context.Background(), port, s.request(qs[i], 10))
				mu.Lock()
				if got := printHits(hits, true); err != nil || got != want[i] {
					s.errorf("%q asked while others ask: error %v, %s", qs[i], err, firstDifference(want[i], got))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func (s *suite) prefix() {
	if s.opt.ListsDependOnK {
		return
	}
	port := s.build(s.docs)
	for _, q := range questions() {
		all := s.search(port, s.request(q, everything))
		for k := 1; k <= len(all)+1; k++ {
			some := s.search(port, s.request(q, k))
			want := all[:min(k, len(all))]
			if got, want := printHits(some, true), printHits(want, true); got != want {
				s.errorf("%q: the answer for K %d is no prefix of that for K %d: %s", q, k, everything, firstDifference(want, got))
			}
		}
	}
}

func (s *suite) scorer() {
	port := s.build(s.docs)
	scorer, ok := port.(exhibit.Scorer)
	if !ok {
		return
	}
	for _, q := range questions() {
		req := s.request(q, everything)
		found := s.search(port, req)
		s.scoresOf(scorer, req, found, found)
		for _, other := range questions() {
			s.scoresOf(scorer, req, s.search(port, s.request(other, 5)), found)
		}
	}
	if scores, err := scorer.Scores(context.Background(), s.request("parental leave", 5), nil); err != nil || len(scores) != 0 {
		s.errorf("no hits got %d scores and error %v", len(scores), err)
	}
}

// scoresOf asks for the scores of hits, last first, and compares them with what Search gave.
func (s *suite) scoresOf(scorer exhibit.Scorer, req exhibit.SearchRequest, hits, found []exhibit.Hit) {
	hits = slices.Clone(hits)
	slices.Reverse(hits)
	scores, err := scorer.Scores(context.Background(), req, hits)
	if err != nil || len(scores) != len(hits) {
		s.errorf("%q: %d scores for %d hits, error %v", req.Query, len(scores), len(hits), err)
		return
	}
	for i, got := range scores {
		id := identityOf(&hits[i])
		at := slices.IndexFunc(found, func(h exhibit.Hit) bool { return identityOf(&h) == id })
		switch {
		case got.OK && (math.IsNaN(got.Value) || math.IsInf(got.Value, 0)):
			s.errorf("%q: %q scores %v", req.Query, id, got.Value)
		case at >= 0 && !got.OK:
			s.errorf("%q: %q has no score, though it was found", req.Query, id)
		case at >= 0 && !s.near(got.Value, found[at].Score):
			s.errorf("%q: %q scores %v, and %v when found", req.Query, id, got.Value, found[at].Score)
		case at < 0 && got.OK && len(found) > 0 && !s.opt.ListsDependOnK && got.Value > found[len(found)-1].Score:
			s.errorf("%q: %q was not found and scores %v, above the last that was", req.Query, id, got.Value)
		}
	}
}

func (s *suite) near(a, b float64) bool {
	return math.Abs(a-b) <= s.opt.ScoreTolerance*max(1, math.Abs(a), math.Abs(b))
}

func (s *suite) coverage() {
	c, ok := s.build(s.docs).(exhibit.Coverage)
	if !ok {
		return
	}
	all, err := c.WithoutVector(context.Background(), s.request("parental leave", 5))
	if err != nil || all < 0 {
		s.errorf("%d chunks without vector, error %v", all, err)
	}
	hidden := s.request("parental leave", 5)
	nobody := exhibit.Eq("team", exhibit.String("nobody"))
	hidden.Access = &nobody
	if n, err := c.WithoutVector(context.Background(), hidden); err != nil || n != 0 {
		s.errorf("%d chunks without vector for a caller who may see none, error %v", n, err)
	}
}
