package exhibit_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

func reranked(t *testing.T, r *exhibittest.FakeReranker, timeout time.Duration, settings exhibit.LookupSettings, hits ...exhibit.Hit) *exhibit.LookupResult {
	t.Helper()
	retriever := over(dense(hits...), &exhibit.RetrieverOptions{Reranker: r, RerankTimeout: timeout})
	return exhibittest.Lookup(t, retriever, exhibit.LookupRequest{Query: "question", Settings: settings})
}

// backwards scores later chunks higher.
func backwards(_ string, p exhibit.RerankPassage) float64 {
	var n int
	fmt.Sscanf(p.Text, "Chunk %d", &n)
	return float64(n)
}

func TestCase_46_reranker_receives_all_candidates(t *testing.T) {
	var hits []exhibit.Hit
	for i := range 40 {
		hits = append(hits, chunk("d"+fmt.Sprint(i), i, 1-float64(i)/100))
	}
	r := &exhibittest.FakeReranker{ScoreOf: backwards}
	res := reranked(t, r, 0, exhibit.LookupSettings{RetrieveK: set(30), ReturnN: set(3)}, hits...)
	if asked := r.Asked(); len(asked) != 1 || len(asked[0]) != 30 || asked[0][0].Text != "Chunk 0 of d0." {
		t.Errorf("the reranker was asked %d times, for %d passages", len(asked), len(asked[0]))
	}
	wantKeys(t, res, "d29#chunk-29", "d28#chunk-28", "d27#chunk-27")
	if len(res.Degraded) > 0 {
		t.Errorf("degraded %+v", res.Degraded)
	}
}

func TestCase_51_reranker_fails_open(t *testing.T) {
	var hits []exhibit.Hit
	for i := range 7 {
		hits = append(hits, chunk("d"+fmt.Sprint(i), i, 1-float64(i)/100))
	}
	all := []int{0, 1, 2, 3, 4, 5, 6}
	for _, fault := range exhibittest.RerankFaults() {
		t.Run(fault.String(), func(t *testing.T) {
			want := all
			switch fault {
			case exhibittest.RerankPartial:
				want = []int{6, 4, 2, 0, 1, 3, 5}
			case exhibittest.RerankDuplicates, exhibittest.RerankOutOfRange:
				want = []int{6, 5, 4, 3, 2, 1, 0}
			case exhibittest.RerankNaN, exhibittest.RerankInf:
				want = []int{5, 4, 2, 1, 0, 3, 6}
			}
			timeout := time.Minute
			if fault == exhibittest.RerankHang || fault == exhibittest.RerankDeaf {
				timeout = 10 * time.Millisecond
			}
			start := time.Now()
			res := reranked(t, &exhibittest.FakeReranker{ScoreOf: backwards, Fault: fault, Delay: map[bool]time.Duration{true: 5 * time.Second}[fault == exhibittest.RerankDeaf]},
				timeout, exhibit.LookupSettings{ReturnN: set(7), MinRerank: set(-1.0)}, hits...)
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("took %v", took)
			}
			var keys []string
			for _, i := range want {
				keys = append(keys, fmt.Sprintf("d%d#chunk-%d", i, i))
			}
			wantKeys(t, res, keys...)
			if got := degradedStages(res); !slices.Equal(got, []string{"rerank:rerank"}) {
				t.Errorf("degraded %q", got)
			} else if d := res.Degraded[0]; d.Cause == "" || d.Effect == "" {
				t.Errorf("degraded %+v", d)
			}
		})
	}
}

func TestRerankCauses(t *testing.T) {
	hits := chunks("a 0", "b 1", "c 2")
	for fault, cause := range map[exhibittest.RerankFault]string{
		exhibittest.RerankPartial: "1 without a score", exhibittest.RerankEmpty: "3 without a score", exhibittest.RerankDuplicates: "3 scored twice",
		exhibittest.RerankOutOfRange: "2 out of range", exhibittest.RerankNaN: "1 without a score, 1 not finite", exhibittest.RerankError: "down", exhibittest.RerankHang: "no answer within 5ms",
	} {
		timeout := time.Minute
		if fault == exhibittest.RerankHang {
			timeout = 5 * time.Millisecond
		}
		res := reranked(t, &exhibittest.FakeReranker{Fault: fault}, timeout, exhibit.LookupSettings{}, hits...)
		if len(res.Degraded) != 1 || !strings.Contains(res.Degraded[0].Cause, cause) {
			t.Errorf("%s: degraded %+v, want %q", fault, res.Degraded, cause)
		}
	}
}

func TestRerankFloor(t *testing.T) {
	hits := chunks("a 0", "b 1", "c 2", "d 3")
	res := reranked(t, &exhibittest.FakeReranker{ScoreOf: backwards}, 0, exhibit.LookupSettings{MinRerank: set(2.0)}, hits...)
	wantKeys(t, res, "d#chunk-3", "c#chunk-2")
	if got := dropped(res, exhibit.BelowThreshold); !slices.Equal(got, []string{"b#chunk-1", "a#chunk-0"}) {
		t.Errorf("below the floor %q", got)
	}
	if res.Short == nil || !strings.Contains(res.Short.Hint, exhibit.KeyMinRerank) || strings.Contains(res.Short.Hint, exhibit.KeyMinDense) {
		t.Errorf("short %+v", res.Short)
	}
	// Candidates that the reranker left out are under no floor, and the ledger stays in rank order.
	res = reranked(t, &exhibittest.FakeReranker{ScoreOf: backwards, Fault: exhibittest.RerankPartial}, 0, exhibit.LookupSettings{MinRerank: set(2.0)}, hits...)
	wantKeys(t, res, "c#chunk-2", "b#chunk-1", "d#chunk-3")
	var ranks []int
	for _, e := range res.Ledger.Entries {
		ranks = append(ranks, e.Rank)
	}
	if !slices.IsSorted(ranks) {
		t.Errorf("ranks in the ledger %v", ranks)
	}
}

func TestRerankLeftOut(t *testing.T) {
	r := &exhibittest.FakeReranker{ScoreOf: backwards}
	res := reranked(t, r, 0, exhibit.LookupSettings{NoRerank: true}, chunks("a 0", "b 1")...)
	wantKeys(t, res, "a#chunk-0", "b#chunk-1")
	if len(r.Asked()) > 0 {
		t.Error("a reranker that was left out was asked")
	}
	if reranked(t, r, 0, exhibit.LookupSettings{}); len(r.Asked()) > 0 {
		t.Error("a reranker was asked about nothing")
	}
}

func TestRerankTies(t *testing.T) {
	same := func(string, exhibit.RerankPassage) float64 { return 1 }
	res := reranked(t, &exhibittest.FakeReranker{ScoreOf: same}, 0, exhibit.LookupSettings{}, chunks("b 0", "a 0", "c 0")...)
	wantKeys(t, res, "b#chunk-0", "a#chunk-0", "c#chunk-0") // the order of recall
}

// A reranker may lift the second text of a key above the first; it is then the higher-ranked content that stays.
func TestRerankOfDuplicates(t *testing.T) {
	first, second := chunk("a", 0, 0.9), chunk("a", 0, 0.5)
	second.ID, second.Text = "a/0/old", "question question"
	res := reranked(t, &exhibittest.FakeReranker{}, 0, exhibit.LookupSettings{}, first, second, chunk("b", 0, 0.7))
	if res.Evidence[0].Text != "question question" || res.Ledger.Returned != 2 {
		t.Errorf("%q first, %s", res.Evidence[0].Text, res.Ledger.String())
	}
	if got := dropped(res, exhibit.DuplicateOf); !slices.Equal(got, []string{"a#chunk-0"}) {
		t.Errorf("duplicates %q", got)
	}
	// The reasons of both are merged, also those that only the lower-ranked one had.
	both := over(hybrid(lexical(first), dense(first, second)), &exhibit.RetrieverOptions{Reranker: &exhibittest.FakeReranker{}})
	lifted := exhibittest.Lookup(t, both, exhibit.LookupRequest{Query: "question"}).Evidence[0]
	if lifted.Text != "question question" || !slices.Equal(slices.Sorted(slices.Values(lifted.HitReasons)), []string{"dense", "lexical"}) {
		t.Errorf("%q for %q", lifted.Text, lifted.HitReasons)
	}
	if math.IsNaN(res.Evidence[0].Score) || *res.Evidence[0].Scores.Rerank != 1 {
		t.Errorf("score %+v", res.Evidence[0].Scores)
	}
}
