package exhibit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// turning is a reranker that answers the other way round each time.
type turning struct{ calls int }

func (r *turning) Rerank(_ context.Context, _ string, passages []exhibit.RerankPassage) ([]exhibit.RerankScore, error) {
	r.calls++
	out := make([]exhibit.RerankScore, len(passages))
	for i := range passages {
		score := float64(i)
		if r.calls%2 == 0 {
			score = -score
		}
		out[i] = exhibit.RerankScore{Index: i, Score: score}
	}
	return out, nil
}

func TestCursorOfAnotherOrderIsAConflict(t *testing.T) {
	var hits []exhibit.Hit
	for i := range 9 {
		hits = append(hits, exhibit.Hit{Text: fmt.Sprint("text ", i), Score: float64(9 - i),
			Metadata: exhibit.Metadata{"docId": exhibit.String(fmt.Sprint("d", i)), "chunkIndex": exhibit.Int(0)}})
	}
	r := exhibit.NewRetriever(&exhibittest.FakePort{Hits: hits}, &exhibit.RetrieverOptions{Reranker: &turning{}})
	first := exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "q"})
	if first.NextCursor == "" {
		t.Fatal("no cursor with 4 blocks left out")
	}
	_, err := r.Lookup(context.Background(), exhibit.LookupRequest{Query: "q", Cursor: first.NextCursor})
	if !errors.Is(err, exhibit.ErrConflict) {
		t.Errorf("a page in another order answers %v, wanted a conflict: blocks would repeat or vanish", err)
	}
	third, err := r.Lookup(context.Background(), exhibit.LookupRequest{Query: "q", Cursor: first.NextCursor})
	if err != nil {
		t.Fatal(err)
	}
	if len(third.Evidence) != 4 {
		t.Errorf("%d blocks on the second page, wanted the 4 that were left", len(third.Evidence))
	}
}

func TestFractionLostInRoundingIsNoIndex(t *testing.T) {
	for text, want := range map[string]string{"2.9999999999999999999": "vector:v", "3.0": "d#chunk-3", "3": "d#chunk-3", "03": "vector:v", "3.": "vector:v", "0x3": "vector:v", "1e1": "d#chunk-10"} {
		hit := exhibit.Hit{ID: "v", Text: "t", Score: 1, Metadata: exhibit.Metadata{"docId": exhibit.String("d"), "chunkIndex": exhibit.String(text)}}
		r := exhibit.NewRetriever(&exhibittest.FakePort{Hits: []exhibit.Hit{hit}}, nil)
		res := exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "q"})
		if got := res.Evidence[0].Key.String(); got != want {
			t.Errorf("chunkIndex %q gives %s, wanted %s", text, got, want)
		}
	}
}

func TestFilterThatWasNotValidatedPassesNothing(t *testing.T) {
	value := exhibit.String("v")
	for _, f := range []exhibit.Filter{{Type: "ne", Key: "k"}, {Type: "nin", Key: "k"}, {Type: "eq", Key: "k"}, {Type: "not"}, {Type: "ne", Value: &value}, {Type: "", Key: ""}, {Type: "like", Key: "k", Value: &value}} {
		if f.Match(func(string) (exhibit.Value, bool) { return value, true }) {
			t.Errorf("%+v lets a document through", f)
		}
		if f.Validate() == nil {
			t.Errorf("%+v is valid", f)
		}
	}
}
