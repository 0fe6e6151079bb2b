package exhibit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

func TestOneLegFails(t *testing.T) {
	down := &exhibittest.FakePort{Err: fmt.Errorf("%w: connection refused", exhibit.ErrEmbedder)}
	for _, fusion := range []string{exhibit.FusionScore, exhibit.FusionRRF} {
		res := ask(t, hybrid(lexical(chunks("a 0", "b 0")...), down), exhibit.LookupSettings{Fusion: set(fusion)})
		wantKeys(t, res, "a#chunk-0", "b#chunk-0")
		if got := degradedStages(res); !slices.Equal(got, []string{"recall:dense"}) || !strings.Contains(res.Degraded[0].Cause, "connection refused") {
			t.Errorf("%s: degraded %+v", fusion, res.Degraded)
		}
		if legs := res.Ledger.Legs; len(legs) != 2 || legs[0].Hits != 2 || legs[1].Hits != 0 || legs[1].Error == "" || legs[1].Asked != 20 {
			t.Errorf("%s: legs %+v", fusion, legs)
		}
	}
}

func TestFailedLegIsNotAskedToScore(t *testing.T) {
	asked := false
	port := &exhibittest.ScoringPort{FakePort: &exhibittest.FakePort{Err: exhibit.ErrEmbedder}, ScoreOf: func(exhibit.Hit) exhibit.Score { asked = true; return exhibit.Score{} }}
	if ask(t, hybrid(lexical(chunk("a", 0, 1)), port), exhibit.LookupSettings{}); asked {
		t.Error("a leg that failed was asked for scores")
	}
}

func TestEveryLegFails(t *testing.T) {
	hinted := &exhibit.Error{Op: "embed", Kind: exhibit.ErrEmbedder, Err: errors.New("refused"), Hint: "start the embedder"}
	_, err := over(hybrid(&exhibittest.FakePort{Name: "lexical", Err: hinted}, &exhibittest.FakePort{Err: errors.New("disk gone")}), nil).
		Lookup(t.Context(), exhibit.LookupRequest{Query: "q"})
	if !errors.Is(err, exhibit.ErrUnavailable) || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "disk gone") || exhibit.HintOf(err) != "start the embedder" {
		t.Errorf("%v, hint %q", err, exhibit.HintOf(err))
	}
	// A fault of the request stays one.
	for _, kind := range []error{exhibit.ErrInvalid, exhibit.ErrIncompatibleStore} {
		_, err := over(&exhibittest.FakePort{Err: kind}, nil).Lookup(t.Context(), exhibit.LookupRequest{Query: "q"})
		if !errors.Is(err, kind) || errors.Is(err, exhibit.ErrUnavailable) {
			t.Errorf("%v became %v", kind, err)
		}
	}
}

func TestPortWithoutLegs(t *testing.T) {
	if _, err := over(exhibit.NewHybrid(), nil).Lookup(t.Context(), exhibit.LookupRequest{Query: "q"}); !errors.Is(err, exhibit.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if _, err := exhibit.NewHybrid().Search(t.Context(), exhibit.SearchRequest{Query: "q", K: 1}); !errors.Is(err, exhibit.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// within fails where f does not return soon.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the lookup hangs")
	}
}

func TestHungParts(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	for name, r := range map[string]*exhibit.Retriever{
		"a leg that heeds ctx":  over(hybrid(lexical(chunk("a", 0, 1)), &exhibittest.FakePort{Hang: true}), nil),
		"a leg that does not":   over(hybrid(lexical(chunk("a", 0, 1)), &exhibittest.FakePort{Deaf: forever}), nil),
		"the only leg":          over(&exhibittest.FakePort{Deaf: forever}, nil),
		"a scorer":              over(hybrid(lexical(chunk("a", 0, 1)), &exhibittest.ScoringPort{FakePort: dense(chunk("b", 0, 1)), Deaf: forever}), nil),
		"a reranker, long wait": over(dense(chunk("a", 0, 1)), &exhibit.RetrieverOptions{Reranker: &exhibittest.FakeReranker{Fault: exhibittest.RerankHang}, RerankTimeout: time.Hour}),
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func() {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
				defer cancel()
				res, err := r.Lookup(ctx, exhibit.LookupRequest{Query: "q"})
				if !errors.Is(err, context.DeadlineExceeded) || res != nil || exhibit.CodeOf(err) != "timeout" {
					t.Errorf("%v, %v", res, err)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := over(dense(chunk("a", 0, 1)), nil).Lookup(ctx, exhibit.LookupRequest{Query: "q"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a lookup whose ctx has ended: %v", err)
	}
}

// What breaks the contract of a port costs no lookup its account or its order: the helper checks each answer.
func TestBrokenPortsBehindAPipeline(t *testing.T) {
	queries := []string{"parental leave weeks", "days", "Backups run every night and are restored on trial each quarter."}
	filter := exhibit.Eq("team", exhibit.String("people"))
	for _, b := range exhibittest.BrokenPorts() {
		t.Run(b.Name, func(t *testing.T) {
			port := b.Build(exhibittest.Corpus())
			words := exhibittest.NewMemoryWords(exhibittest.Corpus())
			for _, p := range []exhibit.KnowledgeSearchPort{port, hybrid(words, port)} {
				for _, q := range queries {
					for _, f := range []*exhibit.Filter{nil, &filter} {
						req := exhibit.LookupRequest{Query: q, Filter: f, Settings: exhibit.LookupSettings{RetrieveK: set(7)}}
						_, err := over(p, nil).Lookup(t.Context(), req)
						if err != nil { // a port that answers an error has said so
							if !strings.Contains(err.Error(), "every leg failed") {
								t.Errorf("%q: %v", q, err)
							}
							continue
						}
						exhibittest.Lookup(t, over(p, nil), req)
					}
				}
			}
		})
	}
}

func TestContractBreachesAreTold(t *testing.T) {
	nan, inf := chunk("b", 0, math.NaN()), chunk("c", 0, math.Inf(1))
	res := ask(t, dense(chunk("a", 0, 0.5), nan, inf, chunk("d", 0, 0.7)), exhibit.LookupSettings{})
	wantKeys(t, res, "d#chunk-0", "a#chunk-0", "b#chunk-0", "c#chunk-0")
	if len(res.Degraded) != 1 || !strings.Contains(res.Degraded[0].Cause, "2 scores are not finite") {
		t.Errorf("degraded %+v", res.Degraded)
	}
	many := &exhibittest.FakePort{Hits: crowd(), Overrun: true}
	res = ask(t, many, exhibit.LookupSettings{RetrieveK: set(5)})
	if res.Ledger.Retrieved != 12 || len(dropped(res, exhibit.BelowRetrieveK)) != 7 || len(res.Degraded) != 1 || !strings.Contains(res.Degraded[0].Cause, "12 hits for 5 asked") {
		t.Errorf("%s, degraded %+v", res.Ledger.String(), res.Degraded)
	}
	all := ask(t, dense(chunk("a", 0, math.NaN()), chunk("b", 0, math.Inf(-1))), exhibit.LookupSettings{})
	wantKeys(t, all, "a#chunk-0", "b#chunk-0")
}

func TestUnusableHits(t *testing.T) {
	res := ask(t, hybrid(lexical(exhibit.Hit{Score: 3}, chunk("a", 0, 2)), dense(exhibit.Hit{Score: 1}, exhibit.Hit{Score: 0.5}, chunk("a", 0, 0.4))), exhibit.LookupSettings{})
	wantKeys(t, res, "a#chunk-0")
	if got := res.Ledger.String(); got != "4 retrieved = 1 returned + 3 dropped (unusable 3)" {
		t.Errorf("ledger %q", got)
	}
}

func TestCase_70_empty_and_small_collections(t *testing.T) {
	for name, build := range map[string]func([]exhibittest.Doc) exhibit.KnowledgeSearchPort{
		"words":   func(d []exhibittest.Doc) exhibit.KnowledgeSearchPort { return exhibittest.NewMemoryWords(d) },
		"vectors": func(d []exhibittest.Doc) exhibit.KnowledgeSearchPort { return exhibittest.NewMemoryVectors(d) },
		"hybrid": func(d []exhibittest.Doc) exhibit.KnowledgeSearchPort {
			return hybrid(exhibittest.NewMemoryWords(d), exhibittest.NewMemoryVectors(d))
		},
	} {
		s := exhibit.LookupSettings{RetrieveK: set(1000), ReturnN: set(100)}
		empty := ask(t, build(nil), s)
		if len(empty.Evidence) > 0 || empty.Short == nil || len(empty.Degraded) > 0 || empty.NextCursor != "" {
			t.Errorf("%s, empty: %+v", name, empty)
		}
		few := exhibittest.Lookup(t, over(build(exhibittest.Corpus()[:1]), nil), exhibit.LookupRequest{Query: "parental leave", Settings: s})
		if len(few.Evidence) != 2 || few.Short == nil || len(few.Degraded) > 0 {
			t.Errorf("%s, one document: %s, %+v", name, few.Ledger.String(), few.Short)
		}
	}
}

func TestCase_48_distance_is_caught_by_the_suite(t *testing.T) {
	for _, b := range exhibittest.BrokenPorts() {
		if !strings.HasPrefix(b.Name, "distance as similarity") {
			continue
		}
		problems := exhibittest.Problems(b.Build, nil)
		if !slices.ContainsFunc(problems, func(p exhibittest.Problem) bool { return p.Check == b.Check }) {
			t.Errorf("%s: %v", b.Name, problems)
		}
	}
}

type covering struct {
	*exhibittest.FakePort
	n   int
	err error
}

func (c covering) WithoutVector(context.Context, exhibit.SearchRequest) (int, error) {
	return c.n, c.err
}

func TestCoverageIsReported(t *testing.T) {
	res := ask(t, hybrid(lexical(chunk("a", 0, 1)), covering{FakePort: dense(chunk("a", 0, 1)), n: 7}), exhibit.LookupSettings{})
	if legs := res.Ledger.Legs; legs[0].WithoutVector != nil || legs[1].WithoutVector == nil || *legs[1].WithoutVector != 7 {
		t.Errorf("legs %+v", legs)
	}
	res = ask(t, covering{FakePort: dense(chunk("a", 0, 1)), err: errors.New("cannot say")}, exhibit.LookupSettings{})
	if res.Ledger.Legs[0].WithoutVector != nil || res.Ledger.Returned != 1 {
		t.Errorf("legs %+v", res.Ledger.Legs)
	}
}

func TestLegNames(t *testing.T) {
	res := ask(t, &exhibittest.FakePort{Name: "pgvector", Hits: chunks("a 0")}, exhibit.LookupSettings{})
	if e := res.Evidence[0]; e.ScoreKind != "pgvector" || !slices.Equal(e.HitReasons, []string{"pgvector"}) {
		t.Errorf("%+v", e)
	}
	three := exhibit.NewHybrid(exhibit.Leg{Name: "lexical", Port: lexical(chunk("a", 0, 3))}, exhibit.Leg{Name: "dense", Port: dense(chunk("a", 0, 0.5))},
		exhibit.Leg{Name: "titles", Port: &exhibittest.FakePort{Name: "titles", Hits: []exhibit.Hit{chunk("a", 0, 9), chunk("b", 0, 8)}}})
	res = ask(t, three, exhibit.LookupSettings{})
	wantKeys(t, res, "a#chunk-0", "b#chunk-0")
	if !slices.Equal(res.Evidence[0].HitReasons, []string{"lexical", "dense", "titles"}) || len(res.Ledger.Legs) != 3 {
		t.Errorf("%q", res.Evidence[0].HitReasons)
	}
}
