package exhibit_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
	"github.com/exhibit-rag/exhibit/internal/sharedtest"
)

// Each scenario of the specification runs twice: literally over a scripted port, and in exhibittest's form, which runs
// over any port, here over ones in memory.

func runScenario(t *testing.T, name string) {
	t.Helper()
	all := exhibittest.Scenarios()
	i := slices.IndexFunc(all, func(s exhibittest.Scenario) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no scenario %q", name)
	}
	t.Run("dense", func(t *testing.T) {
		all[i].Run(t, &exhibittest.SpecRun{Dense: true, Build: func(_ *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
			return exhibittest.NewMemoryVectors(docs)
		}})
	})
	t.Run("hybrid", func(t *testing.T) {
		all[i].Run(t, &exhibittest.SpecRun{Dense: true, Build: func(_ *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
			return hybrid(exhibittest.NewMemoryWords(docs), exhibittest.NewMemoryVectors(docs))
		}})
	})
}

func TestSpec_Identity_extracted_from_metadata(t *testing.T) {
	for _, m := range []exhibit.Metadata{
		{"docId": exhibit.String("docA"), "chunkIndex": exhibit.Int(2)}, {"doc_id": exhibit.String("docA"), "chunk_index": exhibit.Int(2)},
		{"docId": exhibit.String("docA"), "chunk_index": exhibit.String("2")}, {"doc_id": exhibit.String("docA"), "chunkIndex": exhibit.Number(2)},
	} {
		res := ask(t, dense(exhibit.Hit{ID: "7f3a", Text: "text", Score: 0.9, Metadata: m}), exhibit.LookupSettings{})
		wantKeys(t, res, "docA#chunk-2")
		if e := res.Evidence[0]; e.DocID != "docA" || e.ChunkIndex != 2 {
			t.Errorf("docId %q, chunkIndex %d", e.DocID, e.ChunkIndex)
		}
	}
	runScenario(t, "Identity_extracted_from_metadata")
}

func TestSpec_Fallback_identity_without_chunk_index(t *testing.T) {
	res := ask(t, dense(exhibit.Hit{ID: "7f3a", Text: "text", Score: 0.9, Metadata: exhibit.Metadata{"docId": exhibit.String("docA")}}), exhibit.LookupSettings{})
	wantKeys(t, res, "vector:7f3a")
	if e := res.Evidence[0]; e.DocID != "docA" || e.ChunkIndex != -1 {
		t.Errorf("docId %q, chunkIndex %d: the document id is available and is carried", e.DocID, e.ChunkIndex)
	}
	runScenario(t, "Fallback_identity_without_chunk_index")
}

func TestSpec_Same_document_different_chunks_are_kept(t *testing.T) {
	a, b, c := chunk("docA", 0, 0.9), chunk("docA", 1, 0.8), chunk("docA", 2, 0.7)
	for _, h := range []*exhibit.Hit{&a, &b, &c} {
		h.Source, h.Text = "handbook.pdf", "The same words."
	}
	res := ask(t, dense(a, b, c), exhibit.LookupSettings{})
	wantKeys(t, res, "docA#chunk-0", "docA#chunk-1")
	if got := dropped(res, exhibit.DocumentCap); !slices.Equal(got, []string{"docA#chunk-2"}) {
		t.Errorf("the cap removes %q, want the lowest-ranked", got)
	}
	runScenario(t, "Same_document_different_chunks_are_kept")
}

func TestSpec_True_duplicate_keys_merge_without_replacing_higher_ranked_content(t *testing.T) {
	high, low := chunk("docA", 1, 0.9), chunk("docA", 1, 0.4)
	low.Text = "Lower-ranked text."
	for _, hits := range [][]exhibit.Hit{{high, low}, {low, high}} {
		res := ask(t, dense(hits...), exhibit.LookupSettings{})
		wantKeys(t, res, "docA#chunk-1")
		if res.Evidence[0].Text != high.Text || res.Evidence[0].Score != 0.9 {
			t.Errorf("%q with %v stays", res.Evidence[0].Text, res.Evidence[0].Score)
		}
	}
	both := ask(t, hybrid(lexical(chunk("docA", 1, 3)), dense(high, low)), exhibit.LookupSettings{})
	wantKeys(t, both, "docA#chunk-1")
	if !slices.Equal(both.Evidence[0].HitReasons, []string{"lexical", "dense"}) {
		t.Errorf("hit reasons %q are not merged", both.Evidence[0].HitReasons)
	}
	// Other keys are no duplicates, however alike the rest is.
	alike := ask(t, dense(chunk("docA", 1, 0.9), chunk("docB", 1, 0.9)), exhibit.LookupSettings{})
	wantKeys(t, alike, "docA#chunk-1", "docB#chunk-1")
	runScenario(t, "True_duplicate_keys_merge_without_replacing_higher-ranked_content")
}

func TestSpec_Excess_chunks_from_one_document_are_dropped(t *testing.T) {
	hits := chunks("docA 4", "docA 1", "docB 0", "docA 3", "docA 0")
	for limit, want := range map[int][]string{1: {"docA#chunk-4", "docB#chunk-0"}, 2: {"docA#chunk-4", "docA#chunk-1", "docB#chunk-0"}, 3: {"docA#chunk-4", "docA#chunk-1", "docB#chunk-0", "docA#chunk-3"}} {
		wantKeys(t, ask(t, dense(shuffled(hits, 3)...), exhibit.LookupSettings{MaxChunksPerDocument: set(limit)}), want...)
	}
	wantKeys(t, ask(t, dense(hits...), exhibit.LookupSettings{}), "docA#chunk-4", "docA#chunk-1", "docB#chunk-0")
	runScenario(t, "Excess_chunks_from_one_document_are_dropped")
}

func TestSpec_retrieve_k_widens_recall_without_unbounded_return(t *testing.T) {
	var hits []exhibit.Hit
	for i := range 30 {
		hits = append(hits, chunk("doc"+strings.Repeat("x", i), 0, 1-float64(i)/100))
	}
	port := dense(hits...)
	res := ask(t, port, exhibit.LookupSettings{RetrieveK: set(20), ReturnN: set(5)})
	if asked := port.Asked(); len(asked) != 1 || asked[0].K != 20 || res.Ledger.Retrieved != 20 || len(res.Evidence) != 5 {
		t.Errorf("asked %+v, %s", asked, res.Ledger.String())
	}
	// The legacy key stands in where the new ones are absent.
	legacy := dense(hits...)
	res = ask(t, legacy, exhibit.LookupSettings{TopK: set(8)})
	if legacy.Asked()[0].K != 8 || len(res.Evidence) != 8 {
		t.Errorf("top-k 8: asked for %d, %d blocks", legacy.Asked()[0].K, len(res.Evidence))
	}
	runScenario(t, "retrieve-k_widens_recall_without_unbounded_return")
}

func TestSpec_Same_source_different_evidence_keys_both_project(t *testing.T) {
	a, b := chunk("docA", 1, 0.9), chunk("docA", 2, 0.8)
	a.Source, b.Source = "handbook.pdf", "handbook.pdf"
	res := projected(t, a, b)
	if got := keysOfEvidence(res.Projection.Kept); !slices.Equal(got, []string{"docA#chunk-1", "docA#chunk-2"}) {
		t.Errorf("projected %q", got)
	}
	runScenario(t, "Same_source_different_evidence_keys_both_project")
}

func TestSpec_Projected_document_id_is_chunk_scoped(t *testing.T) {
	h := chunk("docA", 2, 0.9)
	h.Source = "handbook.pdf"
	e := projected(t, h).Projection.Kept[0]
	if e.Key.String() != "docA#chunk-2" || e.Source != "handbook.pdf" || e.DocID != "docA" {
		t.Errorf("document_id %q, source %q, doc_id %q", e.Key, e.Source, e.DocID)
	}
	runScenario(t, "Projected_document_id_is_chunk-scoped")
}

func TestSpec_Default_dense_adapter(t *testing.T) {
	port := dense(chunk("docA", 2, 0.9), exhibit.Hit{ID: "x", Text: "no index", Score: 0.8})
	for _, mode := range []exhibit.Setting[string]{{}, set(exhibit.ModeDense)} {
		res := ask(t, port, exhibit.LookupSettings{SearchMode: mode})
		wantKeys(t, res, "docA#chunk-2", "vector:x")
		if res.Evidence[0].ScoreKind != exhibit.LegDense {
			t.Errorf("score kind %s", res.Evidence[0].ScoreKind)
		}
	}
	if len(port.Asked()) != 2 {
		t.Errorf("the port was asked %d times in two lookups", len(port.Asked()))
	}
	runScenario(t, "Default_dense_adapter")
}

// TestSpecIsWhole holds that the scenarios are those of the specification, in its order and under its requirements, and
// that each has its test in this file.
func TestSpecIsWhole(t *testing.T) {
	own, err := os.ReadFile("spec_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, s := range exhibittest.Scenarios() {
		have = append(have, s.Requirement+": "+s.Name)
		if f := "func TestSpec_" + strings.ReplaceAll(s.Name, "-", "_") + "("; !strings.Contains(string(own), f) {
			t.Errorf("no %s", f)
		}
	}
	text, err := os.ReadFile(sharedtest.Dir(t, "spec", "rag-chunk-evidence-identity.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	requirement := ""
	for line := range strings.Lines(string(text)) {
		if r, ok := strings.CutPrefix(line, "### Requirement: "); ok {
			requirement = strings.TrimSpace(r)
		}
		if s, ok := strings.CutPrefix(line, "#### Scenario: "); ok {
			want = append(want, requirement+": "+strings.ReplaceAll(strings.TrimSpace(s), " ", "_"))
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("scenarios (-specification +here):\n%s", diff)
	}
}

func projected(t *testing.T, hits ...exhibit.Hit) *exhibit.LookupResult {
	t.Helper()
	return exhibittest.Lookup(t, over(dense(hits...), &exhibit.RetrieverOptions{Projector: exhibittest.FakeProjector{}}), exhibit.LookupRequest{Query: "q", Format: "text"})
}

func keysOfEvidence(list []exhibit.Evidence) []string {
	var keys []string
	for _, e := range list {
		keys = append(keys, e.Key.String())
	}
	return keys
}
