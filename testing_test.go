package exhibit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// chunk is a hit of a chunk of a document, with a text of its own.
func chunk(doc string, index int, score float64) exhibit.Hit {
	return exhibit.Hit{ID: fmt.Sprintf("%s/%d", doc, index), Text: fmt.Sprintf("Chunk %d of %s.", index, doc), Score: score,
		Metadata: exhibit.Metadata{"docId": exhibit.String(doc), "chunkIndex": exhibit.Int(index)}}
}

// chunks is one hit for each "doc index", the scores descending from 1.
func chunks(names ...string) []exhibit.Hit {
	var hits []exhibit.Hit
	for i, n := range names {
		var doc string
		var index int
		if _, err := fmt.Sscan(n, &doc, &index); err != nil {
			panic(n)
		}
		hits = append(hits, chunk(doc, index, 1-float64(i)/100))
	}
	return hits
}

func dense(hits ...exhibit.Hit) *exhibittest.FakePort { return &exhibittest.FakePort{Hits: hits} }

func lexical(hits ...exhibit.Hit) *exhibittest.FakePort {
	return &exhibittest.FakePort{Name: exhibit.LegLexical, Hits: hits}
}

func hybrid(words, vectors exhibit.KnowledgeSearchPort) *exhibit.Hybrid {
	return exhibit.NewHybrid(exhibit.Leg{Name: exhibit.LegLexical, Port: words}, exhibit.Leg{Name: exhibit.LegDense, Port: vectors})
}

// ask looks one question up over a port and checks the answer.
func ask(t exhibittest.TB, port exhibit.KnowledgeSearchPort, set exhibit.LookupSettings) *exhibit.LookupResult {
	t.Helper()
	return exhibittest.Lookup(t, over(port, nil), exhibit.LookupRequest{Query: "question", Settings: set})
}

// over returns a retriever with a fixed secret, so that its cursors can be compared.
func over(port exhibit.KnowledgeSearchPort, opt *exhibit.RetrieverOptions) *exhibit.Retriever {
	var o exhibit.RetrieverOptions
	if opt != nil {
		o = *opt
	}
	if o.Secret == nil {
		o.Secret = []byte("secret of the tests")
	}
	return exhibit.NewRetriever(port, &o)
}

func keysOf(res *exhibit.LookupResult) []string {
	keys := []string{}
	for _, e := range res.Evidence {
		keys = append(keys, e.Key.String())
	}
	return keys
}

func wantKeys(t exhibittest.TB, res *exhibit.LookupResult, keys ...string) {
	t.Helper()
	if got := keysOf(res); !slices.Equal(got, keys) {
		t.Errorf("answer %q, want %q", got, keys)
	}
}

// entryOf returns the entry of a key that is no duplicate.
func entryOf(t exhibittest.TB, res *exhibit.LookupResult, key string) exhibit.Entry {
	t.Helper()
	for _, e := range res.Ledger.Entries {
		if e.Key.String() == key && e.Reason != exhibit.DuplicateOf {
			return e
		}
	}
	t.Fatalf("no entry %q in %v", key, res.Ledger.String())
	return exhibit.Entry{}
}

// dropped returns the keys of the entries with a reason, in the order of the ledger.
func dropped(res *exhibit.LookupResult, reason exhibit.Reason) []string {
	keys := []string{}
	for _, e := range res.Ledger.Entries {
		if e.Reason == reason {
			keys = append(keys, e.Key.String())
		}
	}
	return keys
}

func degradedStages(res *exhibit.LookupResult) []string {
	list := []string{}
	for _, d := range res.Degraded {
		list = append(list, d.Stage+":"+d.Port)
	}
	return list
}

// shuffled returns a copy in an order that the seed gives.
func shuffled(hits []exhibit.Hit, seed uint64) []exhibit.Hit {
	hits = slices.Clone(hits)
	rand.New(rand.NewPCG(seed, 7)).Shuffle(len(hits), func(i, j int) { hits[i], hits[j] = hits[j], hits[i] })
	return hits
}

func set[T any](v T) exhibit.Setting[T] { return exhibit.Set(v) }
