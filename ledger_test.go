package exhibit_test

import (
	"slices"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// An account that was tampered with must not check, or the law of conservation would hold nothing.
func TestLedgerCheckFindsWhatDoesNotAddUp(t *testing.T) {
	for name, spoil := range map[string]func(*exhibit.Ledger){
		"retrieved":         func(l *exhibit.Ledger) { l.Retrieved++ },
		"returned":          func(l *exhibit.Ledger) { l.Returned-- },
		"count":             func(l *exhibit.Ledger) { l.Dropped[0].N++ },
		"reason left out":   func(l *exhibit.Ledger) { l.Dropped = l.Dropped[1:] },
		"reason of nothing": func(l *exhibit.Ledger) { l.Dropped = append(l.Dropped, exhibit.Count{Reason: exhibit.Unusable}) },
		"entry lost":        func(l *exhibit.Ledger) { l.Entries = l.Entries[1:] },
		"no state":          func(l *exhibit.Ledger) { l.Entries[0].State = "" },
		"returned with a reason": func(l *exhibit.Ledger) {
			l.Entries[0].Reason = exhibit.DocumentCap
		},
		"dropped without one": func(l *exhibit.Ledger) { l.Entries[0].State = exhibit.Dropped },
		"another reason":      func(l *exhibit.Ledger) { l.Entries[len(l.Entries)-1].Reason = exhibit.OverBudgetDrop },
	} {
		res := ask(t, dense(crowd()...), exhibit.LookupSettings{ReturnN: set(3)})
		if err := res.Ledger.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(&res.Ledger)
		if res.Ledger.Check() == nil {
			t.Errorf("%s: the account still adds up", name)
		}
	}
}

// The helper that all lookups go through must see a spoiled answer, or it proves nothing.
func TestCheckResultFindsSpoiledAnswers(t *testing.T) {
	req := exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{ReturnN: set(3)}}
	swap := func(l []exhibit.Entry, i, j int) { l[i], l[j] = l[j], l[i] }
	for name, spoil := range map[string]func(*exhibit.LookupResult){
		"ledger":                func(r *exhibit.LookupResult) { r.Ledger.Retrieved++ },
		"entries swapped":       func(r *exhibit.LookupResult) { swap(r.Ledger.Entries, 0, 1) },
		"ranks swapped":         func(r *exhibit.LookupResult) { r.Ledger.Entries[0].Rank, r.Ledger.Entries[1].Rank = 2, 1 },
		"scores against ranks":  func(r *exhibit.LookupResult) { r.Ledger.Entries[0].Scores.Legs[0].Score = -5 },
		"block without entry":   func(r *exhibit.LookupResult) { r.Evidence[0].Key = exhibit.ChunkKey("no", 1) },
		"blocks swapped":        func(r *exhibit.LookupResult) { r.Evidence[0], r.Evidence[1] = r.Evidence[1], r.Evidence[0] },
		"block lost":            func(r *exhibit.LookupResult) { r.Evidence = r.Evidence[1:] },
		"handle twice":          func(r *exhibit.LookupResult) { r.Evidence[1].Handle = "[1]" },
		"text changed":          func(r *exhibit.LookupResult) { r.Evidence[0].Text += "." },
		"docId of another":      func(r *exhibit.LookupResult) { r.Evidence[0].DocID = "other" },
		"score of another":      func(r *exhibit.LookupResult) { r.Evidence[0].Score++ },
		"no reason":             func(r *exhibit.LookupResult) { r.Evidence[0].HitReasons = nil },
		"short of nothing":      func(r *exhibit.LookupResult) { r.Short = &exhibit.Short{} },
		"id":                    func(r *exhibit.LookupResult) { r.LookupID = "x" },
		"cap ignored":           func(r *exhibit.LookupResult) { capIgnored(r) },
		"loser of another book": func(r *exhibit.LookupResult) { r.Ledger.Entries[2].Of[0] = exhibit.ChunkKey("a", 0) },
	} {
		res := exhibittest.Lookup(t, over(dense(crowd()...), nil), req)
		if err := exhibittest.CheckResult(req, res); err != nil {
			t.Fatal(err)
		}
		spoil(res)
		if exhibittest.CheckResult(req, res) == nil {
			t.Errorf("%s: the answer still passes", name)
		}
	}
}

// capIgnored returns the third chunk of the book in place of the other document, in a way that adds up.
func capIgnored(r *exhibit.LookupResult) {
	e := r.Ledger.Entries
	i := slices.IndexFunc(e, func(e exhibit.Entry) bool { return e.Key == exhibit.ChunkKey("a", 0) })
	e[2].State, e[2].Reason, e[2].Of = exhibit.Returned, "", nil
	e[i].State, e[i].Reason = exhibit.Dropped, exhibit.BelowReturnN
	b := &r.Evidence[2]
	b.Key, b.DocID, b.ChunkIndex, b.Text = e[2].Key, "book", 2, "Chunk 2 of book."
	b.ContentHash, b.Scores, b.Score = exhibit.ContentHash(b.Text), e[2].Scores, e[2].Scores.Legs[0].Score
	for j := range r.Ledger.Dropped {
		switch c := &r.Ledger.Dropped[j]; c.Reason {
		case exhibit.DocumentCap:
			c.N--
		case exhibit.BelowReturnN:
			c.N++
		}
	}
}
