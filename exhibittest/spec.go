package exhibittest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
)

// Scenario is one scenario of the specification "rag-chunk-evidence-identity", to be run over any port.
type Scenario struct {
	Name        string // as the specification has it, with underscores
	Requirement string
	Run         func(t *testing.T, s *SpecRun)
}

// SpecRun is what a scenario runs over.
type SpecRun struct {
	Build Factory
	// Options are those of the Retriever; a Projector that is nil becomes FakeProjector. May be nil.
	Options *exhibit.RetrieverOptions
	// Format is what a projection is asked in; "" is "markdown".
	Format string
	// Dense says that the port has a leg named "dense", so that the search mode can name it. Without it the scenario of
	// the default adapter runs over the port as it is.
	Dense bool
}

// RunSpecification runs every scenario over a port, each as a subtest named after it.
func RunSpecification(t *testing.T, s SpecRun) {
	t.Helper()
	for _, c := range Scenarios() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, &s) })
	}
}

// Scenarios returns the scenarios in the order of the specification.
func Scenarios() []Scenario {
	const (
		carry   = "Retrieval candidates SHALL carry chunk-level identity"
		dedup   = "Evidence deduplication SHALL be chunk-scoped"
		cap     = "Post-processing SHALL enforce max chunks per document"
		widths  = "Retrieval width and return width SHALL be separate"
		project = "Agent projection SHALL preserve distinct chunk evidence"
		port    = "Lookup pipeline SHALL call a KnowledgeSearchPort boundary"
	)
	return []Scenario{
		{"Identity_extracted_from_metadata", carry, identityFromMetadata},
		{"Fallback_identity_without_chunk_index", carry, fallbackIdentity},
		{"Same_document_different_chunks_are_kept", dedup, differentChunksKept},
		{"True_duplicate_keys_merge_without_replacing_higher-ranked_content", dedup, duplicatesMerge},
		{"Excess_chunks_from_one_document_are_dropped", cap, excessDropped},
		{"retrieve-k_widens_recall_without_unbounded_return", widths, widthsApart},
		{"Same_source_different_evidence_keys_both_project", project, bothProject},
		{"Projected_document_id_is_chunk-scoped", project, projectedDocumentID},
		{"Default_dense_adapter", port, defaultDenseAdapter},
	}
}

const specQuestion = "How many weeks of parental leave does each parent get?"

// SpecDocs returns the documents that the scenarios search: one of six long sections, each of which any chunker cuts
// apart from the others, and eight of one section. All are about the question, so that every port finds them.
func SpecDocs() []Doc {
	section := func(heading string, n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "## %s\n\n", heading)
		for i := range 14 {
			fmt.Fprintf(&b, "Rule %d.%d says how many weeks of parental leave each parent may take in year %d, and whom they tell before it begins. ", n, i+1, i+2)
		}
		return strings.TrimSpace(b.String())
	}
	guide := []string{"# Parental leave"}
	for i, h := range []string{"Weeks", "Pay", "Notice", "Return", "Adoption", "Twins"} {
		guide = append(guide, section(h, i+1))
	}
	docs := []Doc{{DocID: "people/parental leave.md", Title: "Parental leave", Text: strings.Join(guide, "\n\n") + "\n", Metadata: exhibit.Metadata{"team": exhibit.String("people")}}}
	for i := range 8 {
		docs = append(docs, Doc{DocID: fmt.Sprintf("notes/%d.md", i), Title: fmt.Sprintf("Note %d", i), Metadata: exhibit.Metadata{"team": exhibit.String("notes")},
			Text: fmt.Sprintf("# Note %d\n\nIn office %d each parent asked how many weeks of parental leave they get.\n", i, i)})
	}
	return docs
}

func (s *SpecRun) retriever(port exhibit.KnowledgeSearchPort) *exhibit.Retriever {
	var opt exhibit.RetrieverOptions
	if s.Options != nil {
		opt = *s.Options
	}
	if opt.Projector == nil {
		opt.Projector = FakeProjector{}
	}
	return exhibit.NewRetriever(port, &opt)
}

func (s *SpecRun) format() string {
	if s.Format == "" {
		return "markdown"
	}
	return s.Format
}

// lookup asks the question of the scenarios over the port.
func (s *SpecRun) lookup(t *testing.T, port exhibit.KnowledgeSearchPort, set exhibit.LookupSettings, format string) *exhibit.LookupResult {
	t.Helper()
	res := Lookup(t, s.retriever(port), exhibit.LookupRequest{Query: specQuestion, Settings: set, Format: format})
	if len(res.Evidence) == 0 {
		t.Fatalf("nothing found: %s", res.Ledger.String())
	}
	return res
}

// wide are settings that return all there is.
func wide() exhibit.LookupSettings {
	return exhibit.LookupSettings{RetrieveK: exhibit.Set(100), ReturnN: exhibit.Set(100), MaxChunksPerDocument: exhibit.Set(100)}
}

func identityFromMetadata(t *testing.T, s *SpecRun) {
	port, recorded := Record(s.Build(t, SpecDocs()))
	res := s.lookup(t, port, wide(), "")
	want := map[string]bool{}
	for _, h := range recorded.Hits() {
		doc, okDoc := firstOf(h.Metadata, "docId", "doc_id")
		index, okIndex := firstOf(h.Metadata, "chunkIndex", "chunk_index")
		if !okDoc || !okIndex {
			t.Fatalf("hit %q carries no docId and chunkIndex: %v", h.ID, h.Metadata.Keys())
		}
		want[doc.Text()+"#chunk-"+index.Text()] = true
	}
	for _, e := range res.Evidence {
		key := fmt.Sprintf("%s#chunk-%d", e.DocID, e.ChunkIndex)
		if e.DocID == "" || e.ChunkIndex < 0 || e.Key.String() != key || !want[key] {
			t.Errorf("docId %q and chunk index %d have the evidence key %q", e.DocID, e.ChunkIndex, e.Key)
		}
	}
	if len(res.Evidence) != len(want) {
		t.Errorf("%d blocks of %d chunks found", len(res.Evidence), len(want))
	}
}

func fallbackIdentity(t *testing.T, s *SpecRun) {
	port, recorded := Record(StripIndex(s.Build(t, SpecDocs())))
	res := s.lookup(t, port, wide(), "")
	ids := map[string]bool{}
	for _, h := range recorded.Hits() {
		if h.ID == "" {
			t.Fatal("a hit has no id to fall back on")
		}
		ids["vector:"+h.ID] = true
	}
	for _, e := range res.Evidence {
		if !ids[e.Key.String()] || e.Key.Kind() != exhibit.KeyVector || e.ChunkIndex != -1 {
			t.Errorf("without a chunk index the evidence key is %q", e.Key)
		}
	}
}

// chunksOf returns the keys of a document's blocks, and fails where it has fewer than enough.
func chunksOf(t *testing.T, evidence []exhibit.Evidence, docID string, enough int) []exhibit.Key {
	t.Helper()
	var keys []exhibit.Key
	for _, e := range evidence {
		if e.DocID == docID {
			keys = append(keys, e.Key)
		}
	}
	if len(keys) < enough {
		t.Fatalf("%d blocks of %s: %v, want %d", len(keys), docID, keys, enough)
	}
	return keys
}

func differentChunksKept(t *testing.T, s *SpecRun) {
	docs := SpecDocs()
	res := s.lookup(t, s.Build(t, docs), wide(), "")
	chunksOf(t, res.Evidence, docs[0].DocID, 3)
	for _, e := range res.Ledger.Entries {
		if e.State == exhibit.Dropped {
			t.Errorf("%s is dropped for %s", e.Key, e.Reason)
		}
	}
}

func duplicatesMerge(t *testing.T, s *SpecRun) {
	docs := SpecDocs()
	plain := s.lookup(t, s.Build(t, docs), wide(), "")
	texts := map[exhibit.Key]string{}
	for _, e := range plain.Evidence {
		texts[e.Key] = e.Text
	}
	res := s.lookup(t, RepeatHits(s.Build(t, docs)), wide(), "")
	seen := map[exhibit.Key]bool{}
	for _, e := range res.Evidence {
		if seen[e.Key] {
			t.Errorf("%s stands twice in the evidence", e.Key)
		}
		seen[e.Key] = true
		if e.Text != texts[e.Key] {
			t.Errorf("%s holds the text of the lower-ranked hit", e.Key)
		}
	}
	if len(seen) != len(texts) {
		t.Errorf("%d blocks with repeated hits, %d without", len(seen), len(texts))
	}
	duplicates, conflicts := 0, 0
	for _, e := range res.Ledger.Entries {
		if e.Reason == exhibit.DuplicateOf {
			duplicates++
		}
		if e.State == exhibit.Returned && e.Conflict {
			conflicts++
		}
	}
	if duplicates < len(texts) || conflicts != len(texts) {
		t.Errorf("%d duplicates and %d conflicts told of %d repeated chunks", duplicates, conflicts, len(texts))
	}
}

func excessDropped(t *testing.T, s *SpecRun) {
	docs := SpecDocs()
	for _, limit := range []int{0, 1, 3} {
		set := wide()
		set.MaxChunksPerDocument = exhibit.Setting[int]{}
		if limit > 0 {
			set.MaxChunksPerDocument = exhibit.Set(limit)
		}
		res := s.lookup(t, s.Build(t, docs), set, "")
		if limit == 0 {
			limit = 2 // the default
		}
		kept := chunksOf(t, res.Evidence, docs[0].DocID, limit)
		var ranked []exhibit.Key
		for _, e := range res.Ledger.Entries {
			if e.Key.DocID() == docs[0].DocID {
				ranked = append(ranked, e.Key)
			}
		}
		if len(ranked) <= limit {
			t.Fatalf("%d chunks of %s were found, too few to exceed %d", len(ranked), docs[0].DocID, limit)
		}
		if !slices.Equal(kept, ranked[:limit]) {
			t.Errorf("a cap of %d kept %v of %v in rank order", limit, kept, ranked)
		}
	}
}

func widthsApart(t *testing.T, s *SpecRun) {
	port, recorded := Record(s.Build(t, SpecDocs()))
	set := exhibit.LookupSettings{RetrieveK: exhibit.Set(20), ReturnN: exhibit.Set(5)}
	res := s.lookup(t, port, set, "")
	for _, r := range recorded.Requests() {
		if r.K != 20 {
			t.Errorf("the port is asked for %d candidates, want 20", r.K)
		}
	}
	if len(res.Evidence) > 5 || res.Ledger.Retrieved <= 5 {
		t.Errorf("%d blocks of %d candidates", len(res.Evidence), res.Ledger.Retrieved)
	}
}

func bothProject(t *testing.T, s *SpecRun) {
	docs := SpecDocs()
	res := s.lookup(t, s.Build(t, docs), wide(), s.format())
	keys := chunksOf(t, res.Projection.Kept, docs[0].DocID, 2)
	sources := map[string]int{}
	for _, e := range res.Projection.Kept {
		if e.DocID == docs[0].DocID {
			sources[e.Source]++
		}
	}
	if len(sources) != 1 {
		t.Errorf("chunks of one document have the sources %v", sources)
	}
	for _, k := range keys {
		if !strings.Contains(res.Projection.Text, k.String()) {
			t.Errorf("%s is kept and does not stand in the projection", k)
		}
	}
}

func projectedDocumentID(t *testing.T, s *SpecRun) {
	docs := SpecDocs()
	res := s.lookup(t, s.Build(t, docs), wide(), s.format())
	seen := map[string]bool{}
	for _, e := range res.Projection.Kept {
		id := e.Key.String()
		if seen[id] || id != fmt.Sprintf("%s#chunk-%d", e.DocID, e.ChunkIndex) {
			t.Errorf("a block of %s, chunk %d, is projected as %q", e.DocID, e.ChunkIndex, id)
		}
		seen[id] = true
	}
	chunksOf(t, res.Projection.Kept, docs[0].DocID, 2)
}

func defaultDenseAdapter(t *testing.T, s *SpecRun) {
	port, recorded := Record(s.Build(t, SpecDocs()))
	var set exhibit.LookupSettings
	if s.Dense {
		set.SearchMode = exhibit.Set(exhibit.ModeDense)
	}
	res := s.lookup(t, port, set, "")
	if n := len(recorded.Requests()); n != 1 {
		t.Errorf("the port was asked %d times for one dense lookup", n)
	}
	if n := len(recorded.Hits()); res.Ledger.Retrieved != n {
		t.Errorf("%d hits became %d candidates", n, res.Ledger.Retrieved)
	}
	for _, e := range res.Ledger.Entries {
		if e.Key.Kind() != exhibit.KeyChunk {
			t.Errorf("a candidate has the key %q", e.Key)
		}
	}
}
