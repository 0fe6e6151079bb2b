package exhibit_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

func effective(t *testing.T, res *exhibit.LookupResult, key string) string {
	t.Helper()
	for _, e := range res.Settings {
		if e.Key == key {
			return e.Value.Text() + " " + string(e.From)
		}
	}
	return ""
}

func TestDefaults(t *testing.T) {
	port := dense()
	res := ask(t, port, exhibit.LookupSettings{})
	for key, want := range map[string]string{
		"rag.retrieve-k": "20 default", "rag.return-n": "5 default", "rag.max-chunks-per-document": "2 default", "rag.cap-mode": "strict default",
		"rag.search-mode": "hybrid default", "rag.fusion": "score default", "rag.min-score.dense": "", "rag.top-k": "", "project.max-tokens": "", "project.overflow": "",
	} {
		if got := effective(t, res, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if asked := port.Asked(); len(asked) != 1 || asked[0].K != 20 || asked[0].Collection != "default" {
		t.Errorf("asked %+v", asked)
	}
}

func TestWidthsAndLegacyTopK(t *testing.T) {
	none := exhibit.Setting[int]{}
	file := func(n int) exhibit.Setting[int] { return exhibit.Setting[int]{Value: n, From: exhibit.FromFile} }
	for _, c := range []struct {
		topK, k, n   exhibit.Setting[int]
		wantK, wantN string
		warns        bool
	}{
		{none, none, none, "20 default", "5 default", false},
		{file(8), none, none, "8 legacy rag.top-k", "8 legacy rag.top-k", false},
		{file(8), none, set(5), "8 legacy rag.top-k", "5 request", false},
		{file(8), file(30), none, "30 file", "8 legacy rag.top-k", false},
		{file(8), file(30), set(3), "30 file", "3 request", false},
		{file(3), none, set(5), "5 raised", "5 request", true},
		{file(8), file(3), none, "8 raised", "8 legacy rag.top-k", true},
		{none, set(3), set(8), "8 raised", "8 request", true},
		{none, set(3), none, "5 raised", "5 default", true},
		{none, none, set(50), "50 raised", "50 request", true},
		{none, set(1), set(1), "1 request", "1 request", false},
		{none, set(1000), set(100), "1000 request", "100 request", false},
		{file(200), none, set(5), "200 legacy rag.top-k", "5 request", false},
	} {
		port := dense()
		res := ask(t, port, exhibit.LookupSettings{TopK: c.topK, RetrieveK: c.k, ReturnN: c.n})
		k, n := effective(t, res, "rag.retrieve-k"), effective(t, res, "rag.return-n")
		if k != c.wantK || n != c.wantN || (len(res.Warnings) > 0) != c.warns {
			t.Errorf("top-k %v retrieve-k %v return-n %v: %q, %q, warnings %q", c.topK, c.k, c.n, k, n, res.Warnings)
		}
		if asked := fmt.Sprint(port.Asked()[0].K); !strings.HasPrefix(k, asked+" ") {
			t.Errorf("effective %s, asked %s", k, asked)
		}
	}
	res := ask(t, dense(), exhibit.LookupSettings{RetrieveK: set(3), ReturnN: set(8)})
	if want := []string{"rag.retrieve-k 3 raised to rag.return-n 8"}; !slices.Equal(res.Warnings, want) {
		t.Errorf("warnings %q, want %q", res.Warnings, want)
	}
}

func TestSettingsRefused(t *testing.T) {
	nan := exhibit.Setting[float64]{Value: math.NaN(), From: exhibit.FromFile}
	for _, c := range []struct {
		key string
		set exhibit.LookupSettings
	}{
		{"rag.retrieve-k", exhibit.LookupSettings{RetrieveK: set(0)}}, {"rag.retrieve-k", exhibit.LookupSettings{RetrieveK: set(-3)}}, {"rag.retrieve-k", exhibit.LookupSettings{RetrieveK: set(1001)}},
		{"rag.return-n", exhibit.LookupSettings{ReturnN: set(0)}}, {"rag.return-n", exhibit.LookupSettings{ReturnN: set(-3)}}, {"rag.return-n", exhibit.LookupSettings{ReturnN: set(101)}},
		{"rag.max-chunks-per-document", exhibit.LookupSettings{MaxChunksPerDocument: set(0)}}, {"rag.max-chunks-per-document", exhibit.LookupSettings{MaxChunksPerDocument: set(-3)}},
		{"rag.top-k", exhibit.LookupSettings{TopK: set(0)}}, {"rag.top-k", exhibit.LookupSettings{TopK: set(-3)}}, {"rag.top-k", exhibit.LookupSettings{TopK: set(101)}},
		{"rag.top-k", exhibit.LookupSettings{TopK: set(0), RetrieveK: set(5), ReturnN: set(5)}}, {"rag.top-k", exhibit.LookupSettings{TopK: set(1001), ReturnN: set(5)}},
		{"rag.cap-mode", exhibit.LookupSettings{CapMode: set("lax")}}, {"rag.cap-mode", exhibit.LookupSettings{CapMode: set("")}}, {"rag.search-mode", exhibit.LookupSettings{SearchMode: set("magic")}}, {"rag.fusion", exhibit.LookupSettings{Fusion: set("sum")}},
		{"rag.search-mode", exhibit.LookupSettings{SearchMode: set("lexical")}},
		{"rag.min-score.dense", exhibit.LookupSettings{MinDense: nan}}, {"rag.min-score.rerank", exhibit.LookupSettings{MinRerank: set(0.5)}}, {"rag.min-score.rerank", exhibit.LookupSettings{MinRerank: set(math.Inf(1))}},
		{"project.max-tokens", exhibit.LookupSettings{MaxTokens: set(0)}}, {"project.max-characters", exhibit.LookupSettings{MaxCharacters: set(-1)}}, {"project.overflow", exhibit.LookupSettings{Overflow: set("fold")}},
		{"project.tokenizer", exhibit.LookupSettings{Tokenizer: set("p50k")}}, {"project.max-tokens", exhibit.LookupSettings{MaxTokens: set(100)}},
	} {
		port := dense(chunk("a", 0, 1))
		_, err := over(port, nil).Lookup(t.Context(), exhibit.LookupRequest{Query: "q", Settings: c.set})
		if !errors.Is(err, exhibit.ErrInvalid) || !strings.Contains(err.Error(), c.key) || exhibit.HintOf(err) == "" || exhibit.CodeOf(err) != "invalid" {
			t.Errorf("%+v: error %v with the hint %q, want one about %s", c.set, err, exhibit.HintOf(err), c.key)
		}
		if len(port.Asked()) > 0 {
			t.Errorf("%s: the port was asked before the error", c.key)
		}
	}
	_, err := over(dense(), nil).Lookup(t.Context(), exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{RetrieveK: set(0), ReturnN: set(-1)}})
	if err == nil || !strings.Contains(err.Error(), "rag.retrieve-k") || !strings.Contains(err.Error(), "rag.return-n") {
		t.Errorf("two faults, one named: %v", err)
	}
}

func TestQuestionsRefused(t *testing.T) {
	r := over(dense(chunk("a", 0, 1)), nil)
	for name, c := range map[string]struct {
		req  exhibit.LookupRequest
		kind error
	}{
		"empty":        {exhibit.LookupRequest{}, exhibit.ErrInvalid},
		"blank":        {exhibit.LookupRequest{Query: " \t\n"}, exhibit.ErrInvalid},
		"not UTF-8":    {exhibit.LookupRequest{Query: "a\xff"}, exhibit.ErrInvalid},
		"too long":     {exhibit.LookupRequest{Query: strings.Repeat("a", exhibit.MaxQueryBytes+1)}, exhibit.ErrTooLarge},
		"collection":   {exhibit.LookupRequest{Query: "q", Collection: "A/B"}, exhibit.ErrInvalid},
		"no projector": {exhibit.LookupRequest{Query: "q", Format: "markdown"}, exhibit.ErrInvalid},
		"cursor":       {exhibit.LookupRequest{Query: "q", Cursor: "x"}, exhibit.ErrMalformed},
	} {
		if res, err := r.Lookup(t.Context(), c.req); !errors.Is(err, c.kind) || res != nil || exhibit.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, exhibit.HintOf(err))
		}
	}
	exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: strings.Repeat("a", exhibit.MaxQueryBytes)})
	exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "?"})
}

func TestCase_45_thresholds_are_named_and_refused(t *testing.T) {
	two := func() *exhibit.Hybrid {
		return hybrid(lexical(chunk("a", 0, 9), chunk("b", 0, 3)), dense(chunk("a", 0, 0.4), chunk("c", 0, 0.3), chunk("d", 0, 0.8)))
	}
	// The floor is on the cosine, before fusion of either kind: a goes on with its lexical hit alone, c is gone.
	for _, fusion := range []string{exhibit.FusionScore, exhibit.FusionRRF} {
		res := ask(t, two(), exhibit.LookupSettings{MinDense: set(0.5), Fusion: set(fusion)})
		if got := dropped(res, exhibit.BelowThreshold); !slices.Equal(got, []string{"c#chunk-0"}) {
			t.Errorf("%s: below the floor %q", fusion, got)
		}
		for _, e := range res.Evidence {
			if e.Key.DocID() != "a" {
				continue
			}
			if l, ok := e.Scores.Leg(exhibit.LegDense); ok || !slices.Equal(e.HitReasons, []string{exhibit.LegLexical}) {
				t.Errorf("%s: the dense hit under the floor is still there: %v, %q", fusion, l, e.HitReasons)
			}
		}
	}
	// The floor itself passes.
	if res := ask(t, two(), exhibit.LookupSettings{MinDense: set(0.3)}); len(dropped(res, exhibit.BelowThreshold)) > 0 {
		t.Errorf("a score at the floor is below it: %s", res.Ledger.String())
	}
	// A floor for a leg that does not run says so.
	_, err := over(two(), nil).Lookup(t.Context(), exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{MinDense: set(0.5), SearchMode: set("lexical")}})
	if !errors.Is(err, exhibit.ErrInvalid) || !strings.Contains(err.Error(), "rag.min-score.dense") {
		t.Errorf("a cosine floor without the dense leg: %v", err)
	}
	_, err = over(two(), &exhibit.RetrieverOptions{Reranker: &exhibittest.FakeReranker{}}).Lookup(t.Context(), exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{MinRerank: set(1.0), NoRerank: true}})
	if !errors.Is(err, exhibit.ErrInvalid) || !strings.Contains(err.Error(), "rag.min-score.rerank") {
		t.Errorf("a floor for a reranker that was left out: %v", err)
	}
	// A text that only the hit under the floor holds is not evidence, and no conflict.
	other := chunk("a", 0, 0.4)
	other.Text = "Other text."
	for _, port := range []exhibit.KnowledgeSearchPort{hybrid(lexical(chunk("b", 0, 10), chunk("a", 0, 9)), dense(other)),
		exhibit.NewHybrid(exhibit.Leg{Name: exhibit.LegDense, Port: dense(other)}, exhibit.Leg{Name: exhibit.LegLexical, Port: lexical(chunk("a", 0, 9))})} {
		res := ask(t, port, exhibit.LookupSettings{MinDense: set(0.5)})
		e := entryOf(t, res, "a#chunk-0")
		if ev := res.Evidence[slices.Index(keysOf(res), "a#chunk-0")]; ev.Text == other.Text || e.Conflict || !slices.Equal(ev.HitReasons, []string{exhibit.LegLexical}) {
			t.Errorf("%q for %q, conflict %v", ev.Text, ev.HitReasons, e.Conflict)
		}
	}
	// A further hit of a key is a candidate of its own, under the floor too.
	twice := ask(t, dense(chunk("a", 0, 0.9), chunk("a", 0, 0.2), chunk("b", 0, 0.3), chunk("b", 0, 0.1)), exhibit.LookupSettings{MinDense: set(0.5)})
	if got := twice.Ledger.String(); got != "4 retrieved = 1 returned + 3 dropped (below-threshold 3)" {
		t.Errorf("ledger %q", got)
	}
	// Completion gives the score back for fusion, and never the hit.
	vectors := &exhibittest.ScoringPort{FakePort: dense(chunk("a", 0, 0.4), chunk("d", 0, 0.8))}
	res := ask(t, hybrid(lexical(chunk("a", 0, 9), chunk("b", 0, 3)), vectors), exhibit.LookupSettings{MinDense: set(0.5)})
	a := entryOf(t, res, "a#chunk-0")
	if l, _ := a.Scores.Leg(exhibit.LegDense); l.Score != 0.4 || l.Rank != 0 {
		t.Errorf("completed dense score %+v", l)
	}
}

func TestSearchModes(t *testing.T) {
	words, vectors := lexical(chunk("a", 0, 9)), dense(chunk("b", 0, 0.5))
	for mode, want := range map[string]string{"lexical": "a#chunk-0", "dense": "b#chunk-0"} {
		res := ask(t, hybrid(words, vectors), exhibit.LookupSettings{SearchMode: set(mode)})
		wantKeys(t, res, want)
		if e := res.Evidence[0]; e.ScoreKind != mode || e.Scores.Fused != nil || len(res.Ledger.Legs) != 1 {
			t.Errorf("%s: kind %s, scores %+v, legs %+v", mode, e.ScoreKind, e.Scores, res.Ledger.Legs)
		}
	}
	if len(words.Asked()) != 1 || len(vectors.Asked()) != 1 {
		t.Error("a leg that the mode leaves out was asked")
	}
}
