package exhibit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// Cases that no other file of this package is about.

func TestCase_16_one_text_twice_in_a_document(t *testing.T) {
	a, b := chunk("slides", 3, 0.9), chunk("slides", 8, 0.9)
	a.Text, b.Text = "Thank you for listening.", "Thank you for listening."
	res := ask(t, dense(a, b), exhibit.LookupSettings{})
	wantKeys(t, res, "slides#chunk-3", "slides#chunk-8")
	if res.Evidence[0].Citation() == res.Evidence[1].Citation() {
		t.Error("two places share a citation")
	}
}

func TestCase_21_several_legs_repeat_no_key_and_lose_no_chunk(t *testing.T) {
	all := []exhibit.Hit{chunk("file", 0, 4), chunk("file", 1, 3), chunk("file", 2, 2), chunk("file", 3, 1)}
	legs := []exhibit.Leg{{Name: "q1", Port: dense(all[:3]...)}, {Name: "q2", Port: dense(all[1:]...)}, {Name: "q3", Port: dense(all[0], all[3])}}
	s := wideSettings()
	res := ask(t, exhibit.NewHybrid(legs...), s)
	got := keysOf(res)
	slices.Sort(got)
	if fmt.Sprint(got) != "[file#chunk-0 file#chunk-1 file#chunk-2 file#chunk-3]" {
		t.Errorf("%q", got)
	}
}

func wideSettings() exhibit.LookupSettings {
	return exhibit.LookupSettings{RetrieveK: set(100), ReturnN: set(100), MaxChunksPerDocument: set(100)}
}

func TestCase_30_three_facts_of_a_chunk(t *testing.T) {
	h := chunk("doc", 2, 1)
	h.ConfigHash = "9d3c51e07ab2"
	before := ask(t, dense(h), exhibit.LookupSettings{}).Evidence[0]
	h.ConfigHash = "000000000000"
	recut := ask(t, dense(h), exhibit.LookupSettings{}).Evidence[0]
	h.Text += " Edited."
	edited := ask(t, dense(h), exhibit.LookupSettings{}).Evidence[0]
	if before.Key != recut.Key || before.ContentHash != recut.ContentHash || before.ConfigHash == recut.ConfigHash {
		t.Errorf("another configuration: %+v, %+v", before, recut)
	}
	if recut.Key != edited.Key || recut.ContentHash == edited.ContentHash || recut.ConfigHash != edited.ConfigHash {
		t.Errorf("another text: %+v, %+v", recut, edited)
	}
}

func TestCase_32_and_68_citations_carry_the_collection(t *testing.T) {
	r := over(dense(chunk("doc", 2, 1)), nil)
	one := exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "q", Collection: "one"})
	two := exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "q", Collection: "two"})
	if a, b := one.Evidence[0].Citation(), two.Evidence[0].Citation(); a == b || a.Key != b.Key || a.Collection != "one" || b.Collection != "two" {
		t.Errorf("%s and %s", a, b)
	}
	if a := one.Ledger.Entries[0].Citation("one"); a != one.Evidence[0].Citation() {
		t.Errorf("the ledger cites %s", a)
	}
	if one.LookupID == two.LookupID {
		t.Error("two collections share a lookup id")
	}
}

func TestCase_61_every_block_says_where_it_stands(t *testing.T) {
	docs := exhibittest.Corpus()
	port := exhibittest.Rewrite(exhibittest.NewMemoryWords(docs), func(_ exhibit.SearchRequest, hits []exhibit.Hit) []exhibit.Hit {
		for i := range hits {
			d := docs[slices.IndexFunc(docs, func(d exhibittest.Doc) bool { return d.DocID == hits[i].Source })]
			at := strings.Index(d.Text, hits[i].Text)
			hits[i].Span = &exhibit.Span{StartByte: at, EndByte: at + len(hits[i].Text), StartLine: 1, EndLine: 1}
		}
		return hits
	})
	res := exhibittest.Lookup(t, over(port, nil), exhibit.LookupRequest{Query: "days of leave", Settings: wideSettings()})
	for _, e := range res.Evidence {
		d := docs[slices.IndexFunc(docs, func(d exhibittest.Doc) bool { return d.DocID == e.DocID })]
		if d.Text[e.Span.StartByte:e.Span.EndByte] != e.Text || !strings.HasSuffix(e.Citation().String(), "@"+exhibit.ContentHash(e.Text)[:12]) {
			t.Errorf("%s: span %v, citation %s", e.Key, *e.Span, e.Citation())
		}
	}
	if len(res.Evidence) < 3 {
		t.Errorf("only %d blocks", len(res.Evidence))
	}
}

func TestCase_62_handles_are_unique(t *testing.T) {
	var hits []exhibit.Hit
	for i := range 100 {
		hits = append(hits, chunk(fmt.Sprint("doc", i), 0, -float64(i)))
	}
	res := ask(t, dense(hits...), wideSettings())
	for i, e := range res.Evidence {
		if want := fmt.Sprintf("[%d]", i+1); e.Handle != want {
			t.Errorf("block %d has the handle %s", i+1, e.Handle)
		}
	}
}
