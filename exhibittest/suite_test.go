package exhibittest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

func words(_ *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
	return exhibittest.NewMemoryWords(docs)
}

func vectors(_ *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
	return exhibittest.NewMemoryVectors(docs)
}

func hybrid(_ *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
	return exhibit.NewHybrid(exhibit.Leg{Name: exhibit.LegLexical, Port: exhibittest.NewMemoryWords(docs)},
		exhibit.Leg{Name: exhibit.LegDense, Port: exhibittest.NewMemoryVectors(docs)})
}

func TestSearchPort(t *testing.T) {
	t.Run("words", func(t *testing.T) { exhibittest.TestSearchPort(t, words, nil) })
	t.Run("vectors", func(t *testing.T) { exhibittest.TestSearchPort(t, vectors, nil) })
	t.Run("hybrid", func(t *testing.T) {
		exhibittest.TestSearchPort(t, hybrid, &exhibittest.Options{ListsDependOnK: true})
	})
	t.Run("rewritten", func(t *testing.T) {
		exhibittest.TestSearchPort(t, func(t *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
			port, _ := exhibittest.Record(words(t, docs))
			if _, ok := port.(exhibit.Scorer); !ok {
				t.Fatal("a recorded port lost its scorer")
			}
			return port
		}, nil)
	})
}

// TestBrokenPorts is the proof of the suite itself: it must catch every fault of the table, under the rule that names
// it.
func TestBrokenPorts(t *testing.T) {
	names := map[string]bool{}
	for _, b := range exhibittest.BrokenPorts() {
		if names[b.Name] {
			t.Errorf("two broken ports are named %q", b.Name)
		}
		names[b.Name] = true
		t.Run(b.Name, func(t *testing.T) {
			problems := exhibittest.Problems(b.Build, &exhibittest.Options{Patience: 20 * time.Millisecond})
			if !slices.ContainsFunc(problems, func(p exhibittest.Problem) bool { return p.Check == b.Check }) {
				t.Errorf("not caught by %q; found %v", b.Check, problems)
			}
		})
	}
}

// TestEveryRuleCatches holds that no rule of the suite is idle: each is the one that catches some broken port.
func TestEveryRuleCatches(t *testing.T) {
	rules := map[string]bool{}
	for _, b := range exhibittest.BrokenPorts() {
		rules[b.Check] = true
	}
	for _, name := range exhibittest.Rules() {
		if !rules[name] {
			t.Errorf("no broken port is there for the rule %q to catch", name)
		}
	}
}

func TestOptionsLeaveOut(t *testing.T) {
	leaky := exhibittest.BrokenPorts()[slices.IndexFunc(exhibittest.BrokenPorts(), func(b exhibittest.BrokenPort) bool { return b.Name == "access rule leaks statistics" })]
	if p := exhibittest.Problems(leaky.Build, &exhibittest.Options{LeaksStatistics: true}); len(p) > 0 {
		t.Errorf("a port that declares its leak fails: %v", p)
	}
}

func TestFakeEmbedder(t *testing.T) {
	ctx := context.Background()
	ok := &exhibittest.FakeEmbedder{Dimension: 32}
	a, err := ok.Embed(ctx, exhibit.Passage, []string{"parental leave", "leave parental", "backup", ""})
	if err != nil || len(a) != 4 || len(a[3]) != 32 {
		t.Fatalf("%v, %v", a, err)
	}
	if !slices.Equal(a[0], a[1]) || slices.Equal(a[0], a[2]) {
		t.Error("texts of the same words must have one vector, texts of others another")
	}
	for _, v := range a {
		var norm float64
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		if norm < 0.999 || norm > 1.001 {
			t.Errorf("a vector has the length %v", norm)
		}
	}
	for fault, bad := range map[exhibittest.EmbedFault]func([][]float32, error) bool{
		exhibittest.EmbedError:     func(_ [][]float32, err error) bool { return err != nil },
		exhibittest.EmbedTooFew:    func(v [][]float32, _ error) bool { return len(v) == 1 },
		exhibittest.EmbedTooMany:   func(v [][]float32, _ error) bool { return len(v) == 3 },
		exhibittest.EmbedNaN:       func(v [][]float32, _ error) bool { return v[0][0] != v[0][0] },
		exhibittest.EmbedDimension: func(v [][]float32, _ error) bool { return len(v[0]) == 65 },
	} {
		e := &exhibittest.FakeEmbedder{Fault: fault, FaultFrom: 2}
		if v, err := e.Embed(ctx, exhibit.Query, []string{"a", "b"}); err != nil || len(v) != 2 || len(v[0]) != 64 {
			t.Errorf("fault %d came before its call: %v", fault, err)
		}
		if !bad(e.Embed(ctx, exhibit.Query, []string{"a", "b"})) {
			t.Errorf("fault %d did not come", fault)
		}
		if calls, texts := e.Calls(); calls != 2 || texts != 4 {
			t.Errorf("%d calls, %d texts", calls, texts)
		}
	}
	within, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := (&exhibittest.FakeEmbedder{Fault: exhibittest.EmbedHang}).Embed(within, exhibit.Query, []string{"a"}); err == nil {
		t.Error("a hung embedder answered")
	}
}
