package exhibit_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// leave is the example that the interfaces are described by: three chunks, scored by both legs.
func leave() (words, vectors *exhibittest.FakePort) {
	texts := []string{
		"Every employee has paid leave from the first day of work.",
		"Full-time staff have 28 days a year. Unused days lapse at the end of March.",
		parentalLeave,
	}
	hit := func(i int, score float64) exhibit.Hit {
		h := chunk("handbook/leave.md", i, score)
		h.Text = texts[i]
		return h
	}
	return lexical(hit(2, 4.31), hit(0, 1.02), hit(1, 0.64)), dense(hit(2, 0.88), hit(1, 0.84), hit(0, 0.82))
}

func fusedOf(t *testing.T, res *exhibit.LookupResult, key string) float64 {
	t.Helper()
	e := entryOf(t, res, key)
	if e.Scores.Fused == nil {
		t.Fatalf("%s has no fused score", key)
	}
	return *e.Scores.Fused
}

func TestFusionOfTheExample(t *testing.T) {
	words, vectors := leave()
	res := exhibittest.Lookup(t, over(hybrid(words, vectors), nil), exhibit.LookupRequest{Collection: "company", Query: "how long is parental leave?"})
	wantKeys(t, res, "handbook/leave.md#chunk-2", "handbook/leave.md#chunk-1")
	for key, want := range map[string]string{"handbook/leave.md#chunk-2": "1.372", "handbook/leave.md#chunk-1": "-0.543", "handbook/leave.md#chunk-0": "-0.829"} {
		if got := fmt.Sprintf("%.3f", fusedOf(t, res, key)); got != want {
			t.Errorf("%s is fused to %s, want %s", key, got, want)
		}
	}
	capped := entryOf(t, res, "handbook/leave.md#chunk-0")
	if capped.Reason != exhibit.DocumentCap || fmt.Sprint(capped.Of) != "[handbook/leave.md#chunk-2 handbook/leave.md#chunk-1]" || capped.Rank != 3 {
		t.Errorf("chunk 0 ends as %+v", capped)
	}
	if got := res.Ledger.String(); got != "3 retrieved = 2 returned + 1 dropped (document-cap 1)" {
		t.Errorf("ledger %q", got)
	}
	want := exhibit.Short{Wanted: 5, Returned: 2, Because: "3 candidates in all, 1 dropped by document-cap",
		Hint: "1 document holds all candidates; raise rag.max-chunks-per-document or set rag.cap-mode: soft"}
	if res.Short == nil || *res.Short != want {
		t.Errorf("short %+v, want %+v", res.Short, want)
	}
	if got := res.Evidence[0].Citation().String(); got != "exhibit://company/handbook/leave.md#chunk-2@efee2c2727a9" {
		t.Errorf("citation %s", got)
	}
	if !slices.Equal(res.Evidence[0].HitReasons, []string{"lexical", "dense"}) {
		t.Errorf("hit reasons %q", res.Evidence[0].HitReasons)
	}
}

func TestCase_47_scores_keep_their_names(t *testing.T) {
	words, vectors := leave()
	for _, fusion := range []string{exhibit.FusionScore, exhibit.FusionRRF} {
		res := exhibittest.Lookup(t, over(hybrid(words, vectors), &exhibit.RetrieverOptions{Reranker: &exhibittest.FakeReranker{}}),
			exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{Fusion: set(fusion)}})
		e := entryOf(t, res, "handbook/leave.md#chunk-0")
		l, _ := e.Scores.Leg("lexical")
		d, _ := e.Scores.Leg("dense")
		if l != (exhibit.LegScore{Leg: "lexical", Score: 1.02, Rank: 2}) || d != (exhibit.LegScore{Leg: "dense", Score: 0.82, Rank: 3}) || e.Scores.Fused == nil || e.Scores.Rerank == nil {
			t.Errorf("%s: %+v", fusion, e.Scores)
		}
		for _, ev := range res.Evidence {
			if ev.ScoreKind != exhibit.ScoreRerank || ev.Score != *ev.Scores.Rerank || *ev.Scores.Fused == *ev.Scores.Rerank {
				t.Errorf("%s: %+v", fusion, ev.Scores)
			}
		}
	}
	one := ask(t, vectors, exhibit.LookupSettings{})
	if e := one.Evidence[0]; e.ScoreKind != "dense" || e.Score != 0.88 || e.Scores.Fused != nil || e.Scores.Rerank != nil {
		t.Errorf("one leg: %+v", e.Scores)
	}
}

func TestCase_19_one_chunk_of_two_legs_is_one_block(t *testing.T) {
	a, b := chunk("doc", 1, 4), chunk("doc", 1, 0.7)
	a.ID, b.ID = "bm25-17", "7f3a-vector"
	res := ask(t, hybrid(lexical(a), dense(b)), exhibit.LookupSettings{})
	wantKeys(t, res, "doc#chunk-1")
	if !slices.Equal(res.Evidence[0].HitReasons, []string{"lexical", "dense"}) || res.Ledger.Retrieved != 1 {
		t.Errorf("reasons %q, %s", res.Evidence[0].HitReasons, res.Ledger.String())
	}
}

func TestCase_05_fusion_is_by_chunk(t *testing.T) {
	// The book has ten middling chunks in both legs, the note one that both legs put first.
	var words, vectors []exhibit.Hit
	for i := range 10 {
		words = append(words, chunk("book", i, 5-float64(i)/10))
		vectors = append(vectors, chunk("book", 9-i, 0.8-float64(i)/100))
	}
	words = append(words, chunk("note", 0, 9))
	vectors = append(vectors, chunk("note", 0, 0.9))
	for _, fusion := range []string{exhibit.FusionScore, exhibit.FusionRRF} {
		res := ask(t, hybrid(lexical(words...), dense(vectors...)), exhibit.LookupSettings{Fusion: set(fusion)})
		if got := keysOf(res)[0]; got != "note#chunk-0" {
			t.Errorf("%s: %s comes first", fusion, got)
		}
	}
}

func TestReciprocalRanks(t *testing.T) {
	words, vectors := leave()
	res := ask(t, hybrid(words, vectors), exhibit.LookupSettings{Fusion: set(exhibit.FusionRRF)})
	for key, want := range map[string]float64{"handbook/leave.md#chunk-2": 2.0 / 61, "handbook/leave.md#chunk-1": 1.0/63 + 1.0/62, "handbook/leave.md#chunk-0": 1.0/62 + 1.0/63} {
		if got := fusedOf(t, res, key); math.Abs(got-want) > 1e-15 {
			t.Errorf("%s is fused to %v, want %v", key, got, want)
		}
	}
	// A tie of fused scores goes by key.
	wantKeys(t, res, "handbook/leave.md#chunk-2", "handbook/leave.md#chunk-0")
	one := ask(t, hybrid(lexical(chunk("a", 0, 3)), dense(chunk("b", 0, 1), chunk("a", 0, 0.5))), exhibit.LookupSettings{Fusion: set(exhibit.FusionRRF)})
	if got, want := fusedOf(t, one, "b#chunk-0"), 1.0/61; got != want {
		t.Errorf("a hit of one leg is fused to %v, want %v", got, want)
	}
}

func TestCompletionWithoutScorer(t *testing.T) {
	// Lexical a 4, b 0 (absent); dense a 0.2 (the lowest, absent), b 0.8, c 0.2; c lexical 0.
	res := ask(t, hybrid(lexical(chunk("a", 0, 4)), dense(chunk("b", 0, 0.8), chunk("c", 0, 0.2))), exhibit.LookupSettings{})
	lex, den := standard(4, 0, 0), standard(0.2, 0.8, 0.2)
	for i, key := range []string{"a#chunk-0", "b#chunk-0", "c#chunk-0"} {
		if got, want := fusedOf(t, res, key), (lex[i]+den[i])/2; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is fused to %v, want %v", key, got, want)
		}
	}
	a := entryOf(t, res, "a#chunk-0")
	if _, ok := a.Scores.Leg("dense"); ok {
		t.Error("a score that stands in for an absent one is shown as the leg's")
	}
}

func TestCompletionWithScorer(t *testing.T) {
	words := &exhibittest.ScoringPort{FakePort: lexical(chunk("a", 0, 4)), ScoreOf: func(h exhibit.Hit) exhibit.Score {
		return exhibit.Score{Value: map[string]float64{"b/0": 1.5}[h.ID], OK: true}
	}}
	vectors := &exhibittest.ScoringPort{FakePort: dense(chunk("b", 0, 0.8), chunk("c", 0, 0.2)), ScoreOf: func(exhibit.Hit) exhibit.Score { return exhibit.Score{Value: 0.7, OK: true} }}
	res := ask(t, hybrid(words, vectors), exhibit.LookupSettings{})
	lex, den := standard(4, 1.5, 0), standard(0.7, 0.8, 0.2)
	for i, key := range []string{"a#chunk-0", "b#chunk-0", "c#chunk-0"} {
		if got, want := fusedOf(t, res, key), (lex[i]+den[i])/2; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is fused to %v, want %v", key, got, want)
		}
	}
	a, b := entryOf(t, res, "a#chunk-0"), entryOf(t, res, "b#chunk-0")
	if l, ok := a.Scores.Leg("dense"); !ok || l != (exhibit.LegScore{Leg: "dense", Score: 0.7}) {
		t.Errorf("completed score %+v", l)
	}
	for _, e := range res.Evidence {
		if len(e.HitReasons) != 1 {
			t.Errorf("%s has the hit reasons %q: completion is no hit", e.Key, e.HitReasons)
		}
	}
	if l, ok := b.Scores.Leg("lexical"); !ok || l.Rank != 0 || l.Score != 1.5 {
		t.Errorf("completed score %+v", l)
	}
}

func standard(scores ...float64) []float64 {
	mean, deviation := 0.0, 0.0
	for _, s := range scores {
		mean += s / float64(len(scores))
	}
	for _, s := range scores {
		deviation += (s - mean) * (s - mean) / float64(len(scores))
	}
	z := make([]float64, len(scores))
	for i, s := range scores {
		z[i] = (s - mean) / math.Sqrt(deviation)
	}
	return z
}

func TestScorerThatFails(t *testing.T) {
	plain := ask(t, hybrid(lexical(chunk("a", 0, 4)), dense(chunk("b", 0, 0.8), chunk("c", 0, 0.2))), exhibit.LookupSettings{})
	for name, spoil := range map[string]func(*exhibittest.ScoringPort){
		"error":   func(p *exhibittest.ScoringPort) { p.Err = fmt.Errorf("down") },
		"too few": func(p *exhibittest.ScoringPort) { p.Short = true },
		"NaN":     func(p *exhibittest.ScoringPort) { p.ScoreOf = constant(math.NaN()) },
		"Inf":     func(p *exhibittest.ScoringPort) { p.ScoreOf = constant(math.Inf(1)) },
		"knows not": func(p *exhibittest.ScoringPort) {
			p.ScoreOf = func(exhibit.Hit) exhibit.Score { return exhibit.Score{Value: 9} }
		},
	} {
		vectors := &exhibittest.ScoringPort{FakePort: dense(chunk("b", 0, 0.8), chunk("c", 0, 0.2))}
		spoil(vectors)
		res := ask(t, hybrid(lexical(chunk("a", 0, 4)), vectors), exhibit.LookupSettings{})
		if !slices.Equal(keysOf(res), keysOf(plain)) || fusedOf(t, res, "a#chunk-0") != fusedOf(t, plain, "a#chunk-0") {
			t.Errorf("%s: answers %q, without a scorer %q", name, keysOf(res), keysOf(plain))
		}
		if degraded := len(res.Degraded) > 0; degraded != (name == "error" || name == "too few") {
			t.Errorf("%s: degraded %+v", name, res.Degraded)
		}
	}
}

func constant(x float64) func(exhibit.Hit) exhibit.Score {
	return func(exhibit.Hit) exhibit.Score { return exhibit.Score{Value: x, OK: true} }
}

func TestEqualScoresContributeNothing(t *testing.T) {
	flat := func(scores ...float64) *exhibit.LookupResult {
		words := lexical(chunk("a", 0, 3), chunk("b", 0, 2), chunk("c", 0, 1))
		vectors := dense(chunk("a", 0, scores[0]), chunk("b", 0, scores[1]), chunk("c", 0, scores[2]))
		return ask(t, hybrid(words, vectors), exhibit.LookupSettings{})
	}
	z := standard(3, 2, 1)
	for _, x := range []float64{0, 0.1, 0.7, -3, 1e300} {
		res := flat(x, x, x)
		wantKeys(t, res, "a#chunk-0", "b#chunk-0", "c#chunk-0")
		if got := fusedOf(t, res, "a#chunk-0"); math.Abs(got-z[0]/2) > 1e-12 {
			t.Errorf("all %v: fused %v, want half of %v", x, got, z[0])
		}
	}
	// One chunk that only the lexical leg knows must not lose by a leg that says nothing.
	none := ask(t, hybrid(lexical(chunk("a", 0, 3), chunk("b", 0, 1)), dense()), exhibit.LookupSettings{})
	wantKeys(t, none, "a#chunk-0", "b#chunk-0")
}

// Scores of any finite size fuse to finite numbers and keep their order.
func TestExtremeScores(t *testing.T) {
	for _, scale := range []float64{1, 1e-200, 5e-310, 1e160, math.MaxFloat64 / 4, math.MaxFloat64} {
		for _, shift := range []float64{0, -1} {
			at := func(x float64) float64 { return (x + shift) * scale }
			words := lexical(chunk("a", 0, 1*scale), chunk("b", 0, 0.5*scale), chunk("c", 0, 0.25*scale))
			vectors := dense(chunk("a", 0, at(1)), chunk("b", 0, at(0.5)), chunk("c", 0, at(0.25)), chunk("c", 0, at(0.125)))
			res := ask(t, hybrid(words, vectors), exhibit.LookupSettings{})
			wantKeys(t, res, "a#chunk-0", "b#chunk-0", "c#chunk-0")
			if a, c := fusedOf(t, res, "a#chunk-0"), fusedOf(t, res, "c#chunk-0"); !(a > 1 && c < -0.5) {
				t.Errorf("scale %v, shift %v: fused %v and %v", scale, shift, a, c)
			}
		}
	}
	ends := ask(t, hybrid(lexical(chunk("a", 0, math.MaxFloat64), chunk("b", 0, -math.MaxFloat64)), dense(chunk("a", 0, 1), chunk("b", 0, 0))), exhibit.LookupSettings{})
	wantKeys(t, ends, "a#chunk-0", "b#chunk-0")
}

func TestFusedListIsCutAtRetrieveK(t *testing.T) {
	res := ask(t, hybrid(lexical(chunks("a 0", "b 0", "c 0")...), dense(chunks("d 0", "e 0", "f 0")...)), exhibit.LookupSettings{RetrieveK: set(3), ReturnN: set(3)})
	if res.Ledger.Retrieved != 6 || len(dropped(res, exhibit.BelowRetrieveK)) != 3 || res.Ledger.Returned != 3 {
		t.Errorf("%s", res.Ledger.String())
	}
}

func TestHybridAlone(t *testing.T) {
	words, vectors := leave()
	h := hybrid(words, vectors)
	hits, err := h.Search(t.Context(), exhibit.SearchRequest{Collection: "c", Query: "q", K: 2})
	if err != nil || len(hits) != 2 || fmt.Sprintf("%.3f %.3f", hits[0].Score, hits[1].Score) != "1.372 -0.543" {
		// K 2 asks each leg for two: chunk 0 is found by words and chunk 1 by vectors.
		if err != nil || len(hits) != 2 || hits[0].Score < hits[1].Score || hits[0].Metadata["chunkIndex"].Text() != "2" {
			t.Errorf("%+v, %v", hits, err)
		}
	}
	if full, err := h.Search(t.Context(), exhibit.SearchRequest{Collection: "c", Query: "q", K: 20}); err != nil || len(full) != 3 || fmt.Sprintf("%.3f", full[2].Score) != "-0.829" {
		t.Errorf("%+v, %v", full, err)
	}
	down := hybrid(&exhibittest.FakePort{Name: "lexical", Err: exhibit.ErrStorage}, &exhibittest.FakePort{Err: exhibit.ErrEmbedder})
	if _, err := down.Search(t.Context(), exhibit.SearchRequest{Query: "q", K: 2}); err == nil {
		t.Error("a hybrid whose legs all fail answers")
	}
}
