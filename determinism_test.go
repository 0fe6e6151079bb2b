package exhibit_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// bytesOf writes everything in an answer.
func bytesOf(t exhibittest.TB, res *exhibit.LookupResult) string {
	t.Helper()
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var b strings.Builder
	b.Write(data)
	for _, e := range res.Evidence {
		c := e.Citation()
		fmt.Fprintf(&b, "\n%s %s %v", e.Key, c, e.Score)
	}
	for _, e := range res.Ledger.Entries {
		fmt.Fprintf(&b, "\n%s %s %v", e.Key, e.Reason, e.Of)
	}
	return b.String()
}

// tied is a list full of equal scores, repeated keys and missing identities.
func tied() []exhibit.Hit {
	var hits []exhibit.Hit
	for i := range 24 {
		h := chunk(fmt.Sprint("d", i%5), i%3, float64(i%2)/2)
		switch i % 6 {
		case 1:
			h.Metadata = exhibit.Metadata{"n": exhibit.Int(i)}
		case 2:
			h.Metadata["seen"] = exhibit.Int(i)
		case 3:
			h.ID, h.Text = "", "equal text"
			delete(h.Metadata, "chunkIndex")
			h.Metadata["n"] = exhibit.Int(i)
		case 4:
			h = exhibit.Hit{Score: 0.5, Metadata: exhibit.Metadata{"n": exhibit.Int(i)}}
		case 5:
			h.Source = fmt.Sprint("source ", i)
		}
		hits = append(hits, h)
	}
	return hits
}

func TestCase_50_same_question_same_bytes(t *testing.T) {
	hits := tied()
	settings := []exhibit.LookupSettings{
		{}, {Fusion: set(exhibit.FusionRRF)}, {CapMode: set(exhibit.CapSoft), MaxChunksPerDocument: set(1)}, {RetrieveK: set(8), ReturnN: set(8)}, {SearchMode: set(exhibit.ModeDense)},
	}
	for i, s := range settings {
		want := ""
		for n := range uint64(200) {
			port := hybrid(&exhibittest.FakePort{Name: "lexical", Hits: shuffled(hits, n), Overrun: true}, &exhibittest.FakePort{Hits: shuffled(hits, n+1000), Overrun: true})
			// A new retriever each time stands for a restart.
			r := over(port, &exhibit.RetrieverOptions{Reranker: &exhibittest.FakeReranker{}})
			got := bytesOf(t, exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "equal text", Settings: s}))
			if n == 0 {
				want = got
			} else if got != want {
				t.Fatalf("settings %d, order %d:\n%s\nthen\n%s", i, n, want, got)
			}
		}
	}
}

func TestCase_50_concurrent_lookups(t *testing.T) {
	r := over(hybrid(exhibittest.NewMemoryWords(exhibittest.Corpus()), exhibittest.NewMemoryVectors(exhibittest.Corpus())), &exhibit.RetrieverOptions{Reranker: &exhibittest.FakeReranker{}})
	questions := []string{"parental leave weeks", "lost hardware key", "days", "salary"}
	var want []string
	for _, q := range questions {
		want = append(want, bytesOf(t, exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: q})))
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := range 40 {
				i := (w + n) % len(questions)
				if got := bytesOf(t, exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: questions[i]})); got != want[i] {
					t.Errorf("%q differs while others ask", questions[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestAnswersShareNothing(t *testing.T) {
	position := 3
	h := chunk("a", 0, 1)
	h.Position, h.Span, h.HeadingPath = &position, &exhibit.Span{EndByte: 9}, []string{"H"}
	r := over(dense(h), &exhibit.RetrieverOptions{Warnings: []string{"w"}})
	first := exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "q"})
	want := bytesOf(t, first)
	e := &first.Evidence[0]
	e.Metadata["docId"], e.Metadata["new"] = exhibit.String("other"), exhibit.Int(1)
	*e.Position, e.Span.EndByte, e.HeadingPath[0], e.HitReasons[0] = 9, 1, "X", "X"
	first.Warnings[0], first.Settings[0].Key = "X", "X"
	if got := bytesOf(t, exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "q"})); got != want {
		t.Errorf("an answer that was written to changed the next:\n%s\nthen\n%s", want, got)
	}
}

func TestLookupID(t *testing.T) {
	port := dense(chunks("a 0", "b 0", "c 0")...)
	filter, access := exhibit.Eq("a", exhibit.Int(1)), exhibit.Eq("a", exhibit.Int(1))
	base := exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{ReturnN: set(2)}}
	with := func(change func(*exhibit.LookupRequest)) string {
		req := base
		change(&req)
		return exhibittest.Lookup(t, over(port, &exhibit.RetrieverOptions{Revision: "r", Projector: exhibittest.FakeProjector{}}), req).LookupID
	}
	id := with(func(*exhibit.LookupRequest) {})
	cursor := exhibittest.Lookup(t, over(port, &exhibit.RetrieverOptions{Revision: "r"}), base).NextCursor
	seen := map[string]string{id: "base"}
	for name, change := range map[string]func(*exhibit.LookupRequest){
		"caller": func(r *exhibit.LookupRequest) { r.Caller = "eve" }, "query": func(r *exhibit.LookupRequest) { r.Query = "q " }, "collection": func(r *exhibit.LookupRequest) { r.Collection = "c" },
		"return-n": func(r *exhibit.LookupRequest) { r.Settings.ReturnN = set(3) }, "fusion": func(r *exhibit.LookupRequest) { r.Settings.Fusion = set("rrf") }, "no rerank": func(r *exhibit.LookupRequest) { r.Settings.NoRerank = true },
		"filter": func(r *exhibit.LookupRequest) { r.Filter = &filter }, "access": func(r *exhibit.LookupRequest) { r.Access = &access }, "format": func(r *exhibit.LookupRequest) { r.Format = "text" }, "cursor": func(r *exhibit.LookupRequest) { r.Cursor = cursor },
		"floor": func(r *exhibit.LookupRequest) { r.Settings.MinDense = set(0.1) }, "floor 2": func(r *exhibit.LookupRequest) { r.Settings.MinDense = set(0.2) },
	} {
		got := with(change)
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s share the id %s", name, other, got)
		}
		seen[got] = name
	}
	for name, change := range map[string]func(*exhibit.LookupRequest){
		"nothing": func(*exhibit.LookupRequest) {}, "the default by name": func(r *exhibit.LookupRequest) { r.Collection = "default" },
		"the default from elsewhere": func(r *exhibit.LookupRequest) {
			r.Settings.RetrieveK = exhibit.Setting[int]{Value: 20, From: exhibit.FromEnv}
		},
	} {
		if got := with(change); got != id {
			t.Errorf("%s changes the id from %s to %s", name, id, got)
		}
	}
	if other := exhibittest.Lookup(t, over(port, &exhibit.RetrieverOptions{Revision: "r2"}), base).LookupID; other == id {
		t.Error("another revision has the same id")
	}
	// Fields that run together must not be taken for each other.
	if with(func(r *exhibit.LookupRequest) { r.Caller, r.Query = "ab", "c" }) == with(func(r *exhibit.LookupRequest) { r.Caller, r.Query = "a", "bc" }) {
		t.Error("caller and query run into each other")
	}
}

// Metamorphic: changes to the data or the request that must not change the answer, or change it in a known way.

func TestOrderOfAddingChangesNothing(t *testing.T) {
	docs := exhibittest.Corpus()
	answer := func(docs []exhibittest.Doc) string {
		r := over(hybrid(exhibittest.NewMemoryWords(docs), exhibittest.NewMemoryVectors(docs)), nil)
		return bytesOf(t, exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "days of leave for parents"}))
	}
	want := answer(docs)
	rapid.Check(t, func(rt *rapid.T) {
		if got := answer(rapid.Permutation(docs).Draw(rt, "order")); got != want {
			rt.Fatalf("%s\nthen\n%s", want, got)
		}
	})
}

// Scores enter fusion only by their place among the others: a leg on another scale gives the same order and the same
// fused scores.
func TestScaleOfALegChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words, vectors := drawHits(rt, "lexical"), drawHits(rt, "dense")
		port := func(factor float64) exhibit.KnowledgeSearchPort {
			scaled := slices.Clone(words)
			for i := range scaled {
				scaled[i].Score *= factor
			}
			return hybrid(lexical(scaled...), dense(vectors...))
		}
		s := exhibit.LookupSettings{RetrieveK: set(60), ReturnN: set(20)}
		want, got := ask(rt, port(1), s), ask(rt, port(1<<20), s)
		if !slices.Equal(keysOf(want), keysOf(got)) {
			rt.Fatalf("%q, then %q", keysOf(want), keysOf(got))
		}
		for i := range want.Evidence {
			if want.Evidence[i].Score != got.Evidence[i].Score {
				rt.Fatalf("%s scores %v, then %v", want.Evidence[i].Key, want.Evidence[i].Score, got.Evidence[i].Score)
			}
		}
	})
}

// One leg alone and the same leg beside one that finds nothing answer the same keys in the same order.
func TestAnEmptyLegChangesNoOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hits := drawHits(rt, "hits")
		s := exhibit.LookupSettings{RetrieveK: set(60), ReturnN: set(20)}
		alone, beside := ask(rt, dense(hits...), s), ask(rt, hybrid(lexical(), dense(hits...)), s)
		if !slices.Equal(keysOf(alone), keysOf(beside)) {
			rt.Fatalf("alone %q, beside an empty leg %q", keysOf(alone), keysOf(beside))
		}
	})
}

// Adding a document that ranks last changes nothing above it.
func TestALastDocumentChangesNothingAboveIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hits := drawHits(rt, "hits")
		s := exhibit.LookupSettings{RetrieveK: set(60), ReturnN: set(40), MaxChunksPerDocument: set(2)}
		before, after := ask(rt, dense(hits...), s), ask(rt, dense(append(slices.Clone(hits), chunk("zzz", 0, -9))...), s)
		if want := append(keysOf(before), "zzz#chunk-0"); !slices.Equal(keysOf(after), want) {
			rt.Fatalf("%q, want %q", keysOf(after), want)
		}
	})
}

// A wider cap never loses evidence that a narrower one showed, while return-n leaves room.
func TestAWiderCapKeepsWhatWasThere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hits := drawHits(rt, "hits")
		limit := rapid.IntRange(1, 5).Draw(rt, "cap")
		narrow, wide := ask(rt, dense(hits...), caps(limit, 50, exhibit.CapStrict)), ask(rt, dense(hits...), caps(limit+1, 50, exhibit.CapStrict))
		for _, key := range keysOf(narrow) {
			if !slices.Contains(keysOf(wide), key) {
				rt.Fatalf("%s is lost under a cap of %d", key, limit+1)
			}
		}
	})
}
