package exhibit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

func caps(limit, n int, mode string) exhibit.LookupSettings {
	return exhibit.LookupSettings{MaxChunksPerDocument: set(limit), ReturnN: set(n), CapMode: set(mode)}
}

// crowd is a list of twelve hits, ten of which are from one document.
func crowd() []exhibit.Hit {
	return chunks("book 0", "book 1", "book 2", "book 3", "a 0", "book 4", "book 5", "b 0", "book 6", "book 7", "book 8", "book 9")
}

func TestCase_01_freed_slots_go_to_the_next_documents(t *testing.T) {
	res := ask(t, dense(crowd()...), exhibit.LookupSettings{})
	wantKeys(t, res, "book#chunk-0", "book#chunk-1", "a#chunk-0", "b#chunk-0")
	if got := dropped(res, exhibit.DocumentCap); len(got) != 8 || got[0] != "book#chunk-2" {
		t.Errorf("capped %q", got)
	}
	e := entryOf(t, res, "book#chunk-9")
	if fmt.Sprint(e.Of) != "[book#chunk-0 book#chunk-1]" {
		t.Errorf("lost to %v", e.Of)
	}
	if res.Short == nil || res.Short.Returned != 4 || !strings.Contains(res.Short.Hint, "rag.cap-mode: soft") {
		t.Errorf("short %+v", res.Short)
	}
	soft := ask(t, dense(crowd()...), caps(2, 5, exhibit.CapSoft))
	wantKeys(t, soft, "book#chunk-0", "book#chunk-1", "a#chunk-0", "b#chunk-0", "book#chunk-2")
	if soft.Short != nil || len(dropped(soft, exhibit.DocumentCap)) != 7 {
		t.Errorf("soft: short %+v, %s", soft.Short, soft.Ledger.String())
	}
}

func TestSoftRefillGoesRoundByRound(t *testing.T) {
	hits := chunks("x 0", "x 1", "x 2", "y 0", "y 1", "y 2", "z 0")
	res := ask(t, dense(hits...), caps(1, 7, exhibit.CapSoft))
	wantKeys(t, res, "x#chunk-0", "y#chunk-0", "z#chunk-0", "x#chunk-1", "y#chunk-1", "x#chunk-2", "y#chunk-2")
	res = ask(t, dense(hits...), caps(1, 4, exhibit.CapSoft))
	wantKeys(t, res, "x#chunk-0", "y#chunk-0", "z#chunk-0", "x#chunk-1")
	if got := dropped(res, exhibit.DocumentCap); !slices.Equal(got, []string{"x#chunk-2", "y#chunk-1", "y#chunk-2"}) {
		t.Errorf("capped %q", got)
	}
}

func TestCase_03_cap_is_over_all_candidates(t *testing.T) {
	res := ask(t, dense(crowd()...), caps(1, 3, exhibit.CapStrict))
	wantKeys(t, res, "book#chunk-0", "a#chunk-0", "b#chunk-0")
	if res.Short != nil {
		t.Errorf("short %+v", res.Short)
	}
}

func TestCase_04_one_per_document(t *testing.T) {
	res := ask(t, dense(chunks("a 0", "a 1", "b 0", "b 1", "c 0")...), caps(1, 5, exhibit.CapStrict))
	wantKeys(t, res, "a#chunk-0", "b#chunk-0", "c#chunk-0")
}

func TestCase_08_as_many_documents_as_asked(t *testing.T) {
	for n := 1; n <= 6; n++ {
		res := ask(t, dense(chunks("a 0", "a 1", "b 0", "b 1", "c 0", "d 0")...), caps(1, n, exhibit.CapStrict))
		if got := res.Ledger.Returned; got != min(n, 4) || (res.Short != nil) != (n > 4) {
			t.Errorf("%d documents for %d, short %+v", got, n, res.Short)
		}
	}
}

func TestCandidatesWithoutDocIDShareNoBucket(t *testing.T) {
	var hits []exhibit.Hit
	for i := range 5 {
		hits = append(hits, exhibit.Hit{ID: fmt.Sprint("id", i), Text: fmt.Sprint("text ", i), Score: 1 - float64(i)/10})
	}
	if res := ask(t, dense(hits...), caps(1, 5, exhibit.CapStrict)); res.Ledger.Returned != 5 {
		t.Errorf("%s", res.Ledger.String())
	}
	// A docId counts for the cap even where no index makes a chunk key of it.
	for i := range hits {
		hits[i].Metadata = exhibit.Metadata{"doc_id": exhibit.String("one")}
	}
	res := ask(t, dense(hits...), caps(2, 5, exhibit.CapStrict))
	wantKeys(t, res, "vector:id0", "vector:id1")
	if res.Evidence[0].DocID != "one" || res.Evidence[0].ChunkIndex != -1 {
		t.Errorf("%+v", res.Evidence[0])
	}
}

// drawHits draws hits of a few documents, some with equal scores, some repeated.
func drawHits(t *rapid.T, name string) []exhibit.Hit {
	n := rapid.IntRange(0, 30).Draw(t, name+" hits")
	var hits []exhibit.Hit
	for i := range n {
		doc := rapid.SampledFrom([]string{"a", "b", "c", "d", "e#chunk-1", "vector:f"}).Draw(t, "doc")
		h := chunk(doc, rapid.IntRange(0, 6).Draw(t, "index"), float64(rapid.IntRange(-3, 10).Draw(t, "score"))/4)
		switch rapid.IntRange(0, 9).Draw(t, "oddity") {
		case 0:
			delete(h.Metadata, "chunkIndex")
		case 1:
			h.Metadata = nil
		case 2:
			h.ID = ""
			delete(h.Metadata, "chunkIndex")
		case 3:
			h.Text += fmt.Sprint(" older ", i)
			h.ID += "/old"
		case 4:
			h = exhibit.Hit{Score: h.Score}
		}
		hits = append(hits, h)
	}
	return hits
}

// survivors counts what the cap lets through, from the ledger of an answer that returned all.
func survivors(res *exhibit.LookupResult) int {
	return res.Ledger.Returned + len(dropped(res, exhibit.BelowReturnN))
}

func TestCase_02_length_of_the_answer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hits := drawHits(rt, "dense")
		limit, n := rapid.IntRange(1, 8).Draw(rt, "cap"), rapid.IntRange(1, 12).Draw(rt, "return-n")
		lookup := func(n int, mode string) *exhibit.LookupResult {
			s := caps(limit, n, mode)
			s.RetrieveK = set(50)
			return ask(rt, dense(hits...), s)
		}
		all, unique := lookup(50, exhibit.CapStrict), 0
		for _, e := range all.Ledger.Entries {
			if e.Reason != exhibit.Unusable && e.Reason != exhibit.DuplicateOf {
				unique++
			}
		}
		if got := lookup(n, exhibit.CapStrict).Ledger.Returned; got != min(n, survivors(all)) {
			rt.Fatalf("strict: %d returned for %d, the cap lets %d through", got, n, survivors(all))
		}
		if got := lookup(n, exhibit.CapSoft).Ledger.Returned; got != min(n, unique) {
			rt.Fatalf("soft: %d returned for %d, there are %d", got, n, unique)
		}
	})
}

func TestCase_44_fewer_are_a_prefix_of_more(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words, vectors := drawHits(rt, "lexical"), drawHits(rt, "dense")
		s := exhibit.LookupSettings{RetrieveK: set(rapid.IntRange(12, 40).Draw(rt, "k")), MaxChunksPerDocument: set(rapid.IntRange(1, 3).Draw(rt, "cap")),
			CapMode: set(rapid.SampledFrom([]string{exhibit.CapStrict, exhibit.CapSoft}).Draw(rt, "mode")), Fusion: set(rapid.SampledFrom([]string{exhibit.FusionScore, exhibit.FusionRRF}).Draw(rt, "fusion"))}
		var opt exhibit.RetrieverOptions
		if rapid.Bool().Draw(rt, "rerank") {
			opt.Reranker = &exhibittest.FakeReranker{ScoreOf: backwards}
		}
		r := over(hybrid(lexical(words...), dense(vectors...)), &opt)
		var before []string
		for n := 1; n <= 12; n++ {
			s.ReturnN = set(n)
			got := keysOf(exhibittest.Lookup(rt, r, exhibit.LookupRequest{Query: "q", Settings: s}))
			if len(got) < len(before) || !slices.Equal(got[:len(before)], before) {
				rt.Fatalf("results(%d) %q is no prefix of results(%d) %q", n-1, before, n, got)
			}
			before = got
		}
	})
}

func TestDuplicateKeysOfOneLeg(t *testing.T) {
	first, second, third := chunk("a", 0, 0.9), chunk("a", 0, 0.8), chunk("a", 0, 0.7)
	second.ID, third.ID, third.Text = "copy", "older", "Older text."
	res := ask(t, dense(third, first, second, chunk("b", 0, 0.85)), exhibit.LookupSettings{})
	wantKeys(t, res, "a#chunk-0", "b#chunk-0")
	if e := res.Evidence[0]; e.Text != first.Text || e.Score != 0.9 || !slices.Equal(e.HitReasons, []string{"dense"}) {
		t.Errorf("%+v", e)
	}
	kept := entryOf(t, res, "a#chunk-0")
	var conflicts, ids []string
	for _, e := range res.Ledger.Entries {
		if e.Reason == exhibit.DuplicateOf {
			ids = append(ids, e.HitID)
			conflicts = append(conflicts, fmt.Sprint(e.Conflict))
		}
	}
	if !kept.Conflict || !slices.Equal(ids, []string{"copy", "older"}) || !slices.Equal(conflicts, []string{"false", "true"}) {
		t.Errorf("kept conflict %v, duplicates %q with conflicts %q", kept.Conflict, ids, conflicts)
	}
}

func TestConflictBetweenLegs(t *testing.T) {
	words, vectors := chunk("a", 0, 3), chunk("a", 0, 0.9)
	vectors.Text = "Another text."
	// The dense leg ranks it first, the lexical leg second: the dense text stays.
	res := ask(t, hybrid(lexical(chunk("b", 0, 4), words), dense(vectors, chunk("c", 0, 0.5))), exhibit.LookupSettings{})
	i := slices.Index(keysOf(res), "a#chunk-0")
	if e := res.Evidence[i]; e.Text != "Another text." || !slices.Equal(e.HitReasons, []string{"lexical", "dense"}) {
		t.Errorf("%q, reasons %q", e.Text, e.HitReasons)
	}
	if !entryOf(t, res, "a#chunk-0").Conflict || res.Ledger.Retrieved != 3 {
		t.Errorf("no conflict, or %s", res.Ledger.String())
	}
	// The other way round, and with equal ranks, the lexical text stays.
	for _, port := range []exhibit.KnowledgeSearchPort{
		hybrid(lexical(words, chunk("b", 0, 1)), dense(chunk("c", 0, 0.95), vectors)), hybrid(lexical(words), dense(vectors)),
	} {
		res := ask(t, port, exhibit.LookupSettings{})
		if e := res.Evidence[slices.Index(keysOf(res), "a#chunk-0")]; e.Text != words.Text || !entryOf(t, res, "a#chunk-0").Conflict {
			t.Errorf("%q stays", e.Text)
		}
	}
}

// A leg that knows only ids must not blank the text that another leg found.
func TestHitWithoutTextLeavesTheTextOfAnotherLeg(t *testing.T) {
	bare, full := chunk("a", 0, 3), chunk("a", 0, 0.9)
	bare.Text = ""
	for name, port := range map[string]exhibit.KnowledgeSearchPort{
		"bare first": hybrid(lexical(bare), dense(chunk("b", 0, 0.95), full)),
		"bare last":  hybrid(lexical(chunk("b", 0, 4), full), dense(bare)),
	} {
		res := ask(t, port, exhibit.LookupSettings{})
		if e := res.Evidence[slices.Index(keysOf(res), "a#chunk-0")]; e.Text != full.Text || entryOf(t, res, "a#chunk-0").Conflict {
			t.Errorf("%s: text %q, conflict %v", name, e.Text, entryOf(t, res, "a#chunk-0").Conflict)
		}
	}
}

func TestCase_54_every_candidate_ends_once(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words, vectors := drawHits(rt, "lexical"), drawHits(rt, "dense")
		s := exhibit.LookupSettings{RetrieveK: set(rapid.IntRange(1, 40).Draw(rt, "k")), ReturnN: set(rapid.IntRange(1, 10).Draw(rt, "n")),
			MaxChunksPerDocument: set(rapid.IntRange(1, 4).Draw(rt, "cap")), CapMode: set(rapid.SampledFrom([]string{exhibit.CapStrict, exhibit.CapSoft}).Draw(rt, "mode"))}
		if rapid.Bool().Draw(rt, "floor") {
			s.MinDense = set(float64(rapid.IntRange(-2, 8).Draw(rt, "least")) / 4)
		}
		opt := exhibit.RetrieverOptions{Projector: exhibittest.FakeProjector{}}
		if rapid.Bool().Draw(rt, "rerank") {
			opt.Reranker = &exhibittest.FakeReranker{ScoreOf: backwards, Fault: rapid.SampledFrom([]exhibittest.RerankFault{exhibittest.RerankOK, exhibittest.RerankPartial, exhibittest.RerankNaN, exhibittest.RerankError}).Draw(rt, "fault")}
			if rapid.Bool().Draw(rt, "rerank floor") {
				s.MinRerank = set(2.0)
			}
		}
		req := exhibit.LookupRequest{Query: "q", Settings: s}
		if rapid.Bool().Draw(rt, "project") {
			req.Format = "text"
			req.Settings.MaxCharacters = set(rapid.IntRange(1, 200).Draw(rt, "characters"))
		}
		port := hybrid(&exhibittest.FakePort{Name: "lexical", Hits: words, Overrun: rapid.Bool().Draw(rt, "overrun")}, dense(vectors...))
		res := exhibittest.Lookup(rt, over(port, &opt), req)
		if hits := res.Ledger.Legs[0].Hits + res.Ledger.Legs[1].Hits; hits > 0 && res.Ledger.Retrieved == 0 {
			rt.Fatalf("%d hits and no candidate", hits)
		}
	})
}

func TestShortNamesTheSetting(t *testing.T) {
	filter := exhibit.Eq("team", exhibit.String("it"))
	for name, c := range map[string]struct {
		port exhibit.KnowledgeSearchPort
		req  exhibit.LookupRequest
		want string // in the hint; "" for no hint
		why  string
	}{
		"nothing":        {dense(), exhibit.LookupRequest{}, "", "0 candidates in all"},
		"one candidate":  {dense(chunk("a", 0, 1)), exhibit.LookupRequest{}, "", "1 candidate in all"},
		"cap":            {dense(chunks("a 0", "a 1", "a 2")...), exhibit.LookupRequest{}, exhibit.KeyMaxChunks, "1 dropped by document-cap"},
		"cap, full legs": {dense(crowd()...), exhibit.LookupRequest{Settings: exhibit.LookupSettings{RetrieveK: set(6)}}, exhibit.KeyRetrieveK, "dropped by document-cap"},
		"no docId":       {dense(chunk("a", 0, 1), chunk("a", 1, 0.9), chunk("a", 2, 0.8), exhibit.Hit{ID: "x", Text: "t"}), exhibit.LookupRequest{}, "raise rag.max-chunks-per-document or", "1 dropped by document-cap"},
		"floor":          {dense(chunks("a 0", "b 0")...), exhibit.LookupRequest{Settings: exhibit.LookupSettings{MinDense: set(0.995)}}, exhibit.KeyMinDense, "1 dropped by below-threshold"},
		"filter":         {dense(chunk("a", 0, 1)), exhibit.LookupRequest{Filter: &filter}, "filter", "1 candidate in all"},
		"duplicates":     {dense(chunk("a", 0, 1), chunk("a", 0, 0.9), chunk("a", 0, 0.8)), exhibit.LookupRequest{Settings: exhibit.LookupSettings{RetrieveK: set(3), ReturnN: set(3)}}, exhibit.KeyRetrieveK, "2 dropped by duplicate-of"},
		"budget":         {dense(chunks("a 0", "b 0")...), exhibit.LookupRequest{Format: "text", Settings: exhibit.LookupSettings{MaxCharacters: set(20)}}, exhibit.KeyMaxCharacters, "dropped by over-budget"},
	} {
		c.req.Query = "q"
		res := exhibittest.Lookup(t, over(c.port, &exhibit.RetrieverOptions{Projector: exhibittest.FakeProjector{}}), c.req)
		if res.Short == nil || !strings.Contains(res.Short.Because, c.why) || !strings.Contains(res.Short.Hint, c.want) || c.want == "" && res.Short.Hint != "" {
			t.Errorf("%s: short %+v", name, res.Short)
		}
	}
	if full := ask(t, dense(chunks("a 0", "b 0", "c 0", "d 0", "e 0")...), exhibit.LookupSettings{}); full.Short != nil {
		t.Errorf("a full answer is short: %+v", full.Short)
	}
}
