package local_test

import (
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// TestPorts holds each port of a synced store against the contract.
func TestPorts(t *testing.T) {
	for _, leg := range []string{exhibit.LegLexical, exhibit.LegDense, exhibit.ModeHybrid} {
		t.Run(leg, func(t *testing.T) {
			t.Parallel()
			exhibittest.TestSearchPort(t, func(t *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
				return stored(t, fake(), docs).Port("", leg)
			}, &exhibittest.Options{ListsDependOnK: leg == exhibit.ModeHybrid, Repeats: 10})
		})
	}
}

// runScenario runs one scenario of the specification over every port of a synced store.
func runScenario(t *testing.T, name string) {
	t.Helper()
	t.Parallel()
	for _, s := range exhibittest.Scenarios() {
		if s.Name != name {
			continue
		}
		t.Run("lexical", func(t *testing.T) {
			s.Run(t, &exhibittest.SpecRun{Build: func(t *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
				return stored(t, words(), docs).Port("", exhibit.LegLexical)
			}})
		})
		t.Run("dense", func(t *testing.T) {
			s.Run(t, &exhibittest.SpecRun{Dense: true, Build: func(t *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
				return stored(t, fake(), docs).Port("", exhibit.LegDense)
			}})
		})
		t.Run("hybrid", func(t *testing.T) {
			s.Run(t, &exhibittest.SpecRun{Dense: true, Build: func(t *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
				return stored(t, fake(), docs).Port("", exhibit.ModeHybrid)
			}})
		})
		return
	}
	t.Fatalf("no scenario %q", name)
}

func TestSpec_Identity_extracted_from_metadata(t *testing.T) {
	runScenario(t, "Identity_extracted_from_metadata")
}

func TestSpec_Fallback_identity_without_chunk_index(t *testing.T) {
	runScenario(t, "Fallback_identity_without_chunk_index")
}

func TestSpec_Same_document_different_chunks_are_kept(t *testing.T) {
	runScenario(t, "Same_document_different_chunks_are_kept")
}

func TestSpec_True_duplicate_keys_merge(t *testing.T) {
	runScenario(t, "True_duplicate_keys_merge_without_replacing_higher-ranked_content")
}

func TestSpec_Excess_chunks_from_one_document_are_dropped(t *testing.T) {
	runScenario(t, "Excess_chunks_from_one_document_are_dropped")
}

func TestSpec_retrieve_k_widens_recall_without_unbounded_return(t *testing.T) {
	runScenario(t, "retrieve-k_widens_recall_without_unbounded_return")
}

func TestSpec_Same_source_different_evidence_keys_both_project(t *testing.T) {
	runScenario(t, "Same_source_different_evidence_keys_both_project")
}

func TestSpec_Projected_document_id_is_chunk_scoped(t *testing.T) {
	runScenario(t, "Projected_document_id_is_chunk-scoped")
}

func TestSpec_Default_dense_adapter(t *testing.T) {
	runScenario(t, "Default_dense_adapter")
}
