package local_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
	"github.com/exhibit-rag/exhibit/local"
)

// owned are the documents of one tenant.
func owned(owner string, n int) []exhibittest.Doc {
	var docs []exhibittest.Doc
	for i := range n {
		docs = append(docs, exhibittest.Doc{DocID: fmt.Sprintf("%s/%d.md", owner, i), Title: "Turbines",
			Text:     fmt.Sprintf("# Turbines\n\nThe turbine number %d spins at night.\n\n## Oil\n\nIt wants oil of grade %d.\n", i, i%3),
			Metadata: exhibit.Metadata{"owner": exhibit.String(owner), "level": exhibit.Int(i)}})
	}
	return docs
}

func only(owner string) *exhibit.Filter {
	f := exhibit.Eq("owner", exhibit.String(owner))
	return &f
}

// TestCase_67 holds the answers of a tenant who shares the store equal to those of one who has it alone: scores,
// counts, revision, errors.
func TestCase_67_another_tenant_leaves_no_trace(t *testing.T) {
	alone := stored(t, fake(), owned("a", 6))
	var noise []exhibittest.Doc
	for i := range 60 {
		noise = append(noise, exhibittest.Doc{DocID: fmt.Sprintf("b/%d.md", i), Title: "Turbines", Text: fmt.Sprintf("# Turbines\n\nThe turbine and its oil, grade %d, turbine, turbine.\n", i), Metadata: exhibit.Metadata{"owner": exhibit.String("b")}})
	}
	shared := stored(t, fake(), append(owned("a", 6), noise...))
	for _, mode := range []string{"hybrid", "lexical", "dense"} {
		for _, q := range []string{"turbine oil", "Which turbine number spins at night?", "grade 2"} {
			req := wide(q)
			req.Settings.SearchMode = exhibit.Set(mode)
			req.Access = only("a")
			mine := lookup(t, alone, req)
			equal(t, mode+" "+q, shape(lookup(t, shared, req)), shape(mine))
			if len(mine.Evidence) == 0 {
				t.Errorf("%s %s: nothing found", mode, q)
			}
			for _, leg := range mine.Ledger.Legs {
				if leg.WithoutVector != nil && *leg.WithoutVector != 0 {
					t.Errorf("without a vector: %d", *leg.WithoutVector)
				}
			}
			narrow := req
			level := exhibit.Eq("level", exhibit.Int(2))
			narrow.Filter = &level
			equal(t, "filtered", shape(lookup(t, shared, narrow)), shape(lookup(t, alone, narrow)))
		}
	}
	// What is there and hidden, and what is not there, get the same error.
	for _, name := range []string{"b/3.md", "b/3.md#chunk-0", "exhibit://default/b/3.md#chunk-0"} {
		_, hidden := shared.Fetch(t.Context(), local.FetchRequest{Names: []string{name}, Access: only("a")})
		absentName := strings.Replace(name, "b/3", "b/999", 1)
		_, absent := shared.Fetch(t.Context(), local.FetchRequest{Names: []string{absentName}, Access: only("a")})
		if code(hidden) != "not-found" || strings.Replace(hidden.Error(), "b/3", "b/999", 1) != absent.Error() || exhibit.HintOf(hidden) != exhibit.HintOf(absent) {
			t.Errorf("%s: %v, and what is absent: %v", name, hidden, absent)
		}
		if _, err := shared.Fetch(t.Context(), local.FetchRequest{Names: []string{name}, Access: only("b")}); err != nil {
			t.Errorf("%s, as its owner: %v", name, err)
		}
	}
	if _, err := shared.Delete(t.Context(), "", []string{"b/3.md"}); err != nil {
		t.Fatal(err)
	}
	_, gone := shared.Fetch(t.Context(), local.FetchRequest{Names: []string{"b/3.md#chunk-0"}, Access: only("a")})
	if gone == nil || strings.Contains(gone.Error(), "gone") {
		t.Errorf("a hidden document that was deleted: %v", gone)
	}
	notB := &exhibit.Filter{Type: "not", Filters: []exhibit.Filter{*only("b")}}
	for _, state := range []string{local.StateGone, local.StateFailed} {
		if rows, err := shared.Documents(t.Context(), local.ListRequest{State: state, Access: notB}); err != nil || len(rows) != 0 {
			t.Errorf("%s: %+v %v", state, rows, err)
		}
	}
	_, gone = shared.Fetch(t.Context(), local.FetchRequest{Names: []string{"b/3.md"}, Access: notB})
	_, absent := shared.Fetch(t.Context(), local.FetchRequest{Names: []string{"b/999.md"}, Access: notB})
	if code(gone) != "not-found" || strings.Replace(gone.Error(), "b/3", "b/999", 1) != absent.Error() {
		t.Errorf("a hidden document that was deleted: %v, one that never was: %v", gone, absent)
	}
	rows, err := shared.Documents(t.Context(), local.ListRequest{Access: only("a")})
	if err != nil || len(rows) != 6 {
		t.Errorf("%d documents, %v", len(rows), err)
	}
	for _, state := range []string{local.StateGone, local.StateFailed, local.StateStale} {
		if rows, err := shared.Documents(t.Context(), local.ListRequest{State: state, Access: only("a")}); err != nil || len(rows) != 0 {
			t.Errorf("%s: %+v %v", state, rows, err)
		}
	}
}

func TestCase_15_equal_text_of_two_tenants_is_found_by_both(t *testing.T) {
	text := "# Turbines\n\nThe turbine spins at night.\n"
	docs := []exhibittest.Doc{
		{DocID: "a/x.md", Text: text, Metadata: exhibit.Metadata{"owner": exhibit.String("a")}}, {DocID: "b/x.md", Text: text, Metadata: exhibit.Metadata{"owner": exhibit.String("b")}}}
	s := stored(t, fake(), docs[:1])
	before := shape(lookup(t, s, exhibit.LookupRequest{Query: "turbine", Access: only("a")}))
	syncWith(t, s, local.SyncRequest{Lines: strings.NewReader(lines(t, docs[1:])), LinesName: "docs"})
	equal(t, "answer of the first tenant", shape(lookup(t, s, exhibit.LookupRequest{Query: "turbine", Access: only("a")})), before)
	for _, owner := range []string{"a", "b"} {
		res := lookup(t, s, exhibit.LookupRequest{Query: "turbine", Access: only(owner)})
		if got := keys(res); len(got) != 1 || got[0] != owner+"/x.md#chunk-0" {
			t.Errorf("%s finds %v", owner, got)
		}
	}
	if _, err := s.Delete(t.Context(), "", []string{"a/x.md"}); err != nil {
		t.Fatal(err)
	}
	equal(t, "found after the other's is deleted", len(lookup(t, s, exhibit.LookupRequest{Query: "turbine", Access: only("b")}).Evidence), 1)
}

func TestCase_49_a_filter_holds_on_every_leg(t *testing.T) {
	s := stored(t, fake(), append(owned("a", 9), owned("b", 9)...))
	filters := map[string]struct {
		filter exhibit.Filter
		pass   func(e exhibit.Evidence) bool
	}{
		"owner": {exhibit.Eq("owner", exhibit.String("b")), func(e exhibit.Evidence) bool { v := e.Metadata["owner"]; return v.Text() == "b" }},
		"docId": {exhibit.Filter{Type: "starts_with", Key: "doc_id", Value: ptr(exhibit.String("a/"))}, func(e exhibit.Evidence) bool { return strings.HasPrefix(e.DocID, "a/") }},
		"level": {exhibit.Filter{Type: "gte", Key: "level", Value: ptr(exhibit.Int(7))}, func(e exhibit.Evidence) bool {
			return strings.Contains(e.DocID, "/7") || strings.Contains(e.DocID, "/8")
		}},
		"not": {exhibit.Filter{Type: "not", Filters: []exhibit.Filter{exhibit.Eq("owner", exhibit.String("b"))}}, func(e exhibit.Evidence) bool { return strings.HasPrefix(e.DocID, "a/") }},
	}
	for name, f := range filters {
		for _, mode := range []string{"hybrid", "lexical", "dense"} {
			req := wide("Which turbine spins at night with oil of grade 2?")
			req.Filter = &f.filter
			req.Settings.SearchMode = exhibit.Set(mode)
			res := lookup(t, s, req)
			if len(res.Evidence) == 0 {
				t.Errorf("%s, %s: nothing found", name, mode)
			}
			for _, e := range res.Evidence {
				if !f.pass(e) {
					t.Errorf("%s, %s: %s does not pass", name, mode, e.Key)
				}
			}
			for _, e := range res.Ledger.Entries {
				if id := e.Key.DocID(); !f.pass(exhibit.Evidence{DocID: id, Metadata: exhibit.Metadata{"owner": exhibit.String(id[:1])}}) {
					t.Errorf("%s, %s: %s is in the account", name, mode, e.Key)
				}
			}
		}
	}
	bad := exhibit.Filter{Type: "near", Key: "x"}
	for _, req := range []exhibit.LookupRequest{{Query: "turbine", Filter: &bad}, {Query: "turbine", Access: &bad}} {
		if _, err := s.Lookup(t.Context(), req); code(err) != "invalid" {
			t.Errorf("a filter that is none: %v", err)
		}
	}
	nothing := exhibit.Eq("owner", exhibit.String("nobody"))
	res := lookup(t, s, exhibit.LookupRequest{Query: "turbine", Filter: &nothing})
	if len(res.Evidence) != 0 || res.Short == nil || res.Ledger.Retrieved != 0 {
		t.Errorf("%v, short %v", keys(res), res.Short)
	}
}

func ptr[T any](v T) *T { return &v }
