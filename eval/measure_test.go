package eval_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/eval"
)

func ranking(ids ...string) []eval.Ranked {
	out := make([]eval.Ranked, len(ids))
	for i, id := range ids {
		out[i] = eval.Ranked{ID: id, Score: float64(len(ids) - i)}
	}
	return out
}

func TestMeasuresByHand(t *testing.T) {
	judged := map[string]int{"a": 3, "b": 2, "c": 0, "d": 1, "e": -1, "far": 3}
	ranked := ranking("x", "a", "c", "e", "b", "y", "d")
	l2 := math.Log2
	for name, want := range map[string]float64{
		"nDCG@5":            (3/l2(3) + 2/l2(6)) / (3/l2(2) + 3/l2(3) + 2/l2(4) + 1/l2(5)),
		"nDCG@2":            (3 / l2(3)) / (3/l2(2) + 3/l2(3)),
		"nDCG":              (3/l2(3) + 2/l2(6) + 1/l2(8)) / (3/l2(2) + 3/l2(3) + 2/l2(4) + 1/l2(5)),
		"R@5":               2.0 / 4,
		"R@100":             3.0 / 4,
		"R(rel=3)@5":        1.0 / 2,
		"RR@1":              0,
		"RR@10":             1.0 / 2,
		"RR(rel=2)":         1.0 / 2,
		"P@5":               2.0 / 5,
		"P@100":             3.0 / 100,
		"P(rel=3)@2":        1.0 / 2,
		"AP":                (1.0/2 + 2.0/5 + 3.0/7) / 4,
		"AP@5":              (1.0/2 + 2.0/5) / 4,
		"Success@1":         0,
		"Success@2":         1,
		"Judged@5":          4.0 / 5,
		"Judged@100":        5.0 / 7,
		"Success(rel=4)@10": 0,
		"R(rel=4)@10":       0,
	} {
		m, err := eval.ParseMeasure(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.String() != name {
			t.Errorf("%s prints as %s", name, m)
		}
		if got := m.Value(ranked, judged); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

func TestMeasuresStayBetween0And1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching("[a-k]"), 0, 11, rapid.ID).Draw(t, "ranking")
		judged := rapid.MapOf(rapid.StringMatching("[a-k]"), rapid.IntRange(-1, 4)).Draw(t, "judged")
		k := rapid.IntRange(1, 12).Draw(t, "k")
		for _, name := range []string{"nDCG", "R", "RR", "P", "AP", "Success", "Judged"} {
			m := eval.Measure{Name: name, Cutoff: k}
			v := m.Value(ranking(ids...), judged)
			if !(v >= 0 && v <= 1+1e-12) {
				t.Fatalf("%s of %v on %v is %v", m, ids, judged, v)
			}
			deeper := eval.Measure{Name: name, Cutoff: k + 1}.Value(ranking(ids...), judged)
			switch name {
			case "R", "RR", "AP", "Success":
				if deeper < v {
					t.Fatalf("%s falls from %v to %v one rank deeper", m, v, deeper)
				}
			}
		}
	})
}

func TestPerfectOrderIsOne(t *testing.T) {
	judged := map[string]int{"a": 3, "b": 2, "c": 1}
	for _, name := range []string{"nDCG@2", "nDCG@10", "nDCG", "RR@1", "AP", "R@3", "P@3", "Success@1", "Judged@3"} {
		m, err := eval.ParseMeasure(name)
		if err != nil {
			t.Fatal(err)
		}
		if v := m.Value(ranking("a", "b", "c"), judged); math.Abs(v-1) > 1e-12 {
			t.Errorf("%s = %v", name, v)
		}
	}
}

func TestParseMeasures(t *testing.T) {
	for list, want := range map[string][]eval.Measure{
		"":                       {{Name: "nDCG", Cutoff: 10}, {Name: "R", Cutoff: 100}, {Name: "RR", Cutoff: 10}},
		"nDCG@10,R@100,RR@10":    {{Name: "nDCG", Cutoff: 10}, {Name: "R", Cutoff: 100}, {Name: "RR", Cutoff: 10}},
		" ndcg@3  mrr@10, RR@10": {{Name: "nDCG", Cutoff: 3}, {Name: "RR", Cutoff: 10}},
		"MAP,P(rel=2)@5":         {{Name: "AP"}, {Name: "P", Cutoff: 5, Rel: 2}},
		"recall@20,P(rel=1)@5":   {{Name: "R", Cutoff: 20}, {Name: "P", Cutoff: 5}},
	} {
		got, err := eval.ParseMeasures(list)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", list, err, diff)
		}
	}
	for list, want := range map[string]string{
		"nDCG@10,Bref@3": `"Bref@3": is not known`,
		"P":              "needs a cutoff, such as P@10",
		"R@0":            `"0" after the @`,
		"R@":             `"" after the @`,
		"R@1e3":          `"1e3" after the @`,
		"P(rel=0)@5":     "N of 1 or more",
		"P(rel=2@5":      "not (rel=N)",
		"nDCG(rel=2)@5":  "takes no (rel=N)",
		", ,":            "names no measure",
	} {
		_, err := eval.ParseMeasures(list)
		if !errors.Is(err, exhibit.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(exhibit.HintOf(err), "nDCG[@k]") {
			t.Errorf("%q: %v (hint %q)", list, err, exhibit.HintOf(err))
		}
	}
	if n := eval.MaxCutoff([]eval.Measure{{Name: "AP"}, {Name: "R", Cutoff: 100}, {Name: "P", Cutoff: 5}}); n != 100 {
		t.Errorf("largest cutoff %d", n)
	}
}

func FuzzParseMeasure(f *testing.F) {
	for _, s := range []string{"nDCG@10", "P(rel=2)@5", "RR", "R@", "AP(rel=", "@@", "Judged@5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := eval.ParseMeasure(s)
		if err != nil {
			return
		}
		again, err := eval.ParseMeasure(m.String())
		if err != nil || again != m {
			t.Fatalf("%q is %v, which parses as %v, %v", s, m, again, err)
		}
	})
}

func entry(docID string, index, rank int, reason exhibit.Reason, fused float64) exhibit.Entry {
	e := exhibit.Entry{Key: exhibit.ChunkKey(docID, index), State: exhibit.Returned, Reason: reason, Rank: rank, Scores: exhibit.Scores{Fused: &fused}}
	if reason != "" {
		e.State = exhibit.Dropped
	}
	return e
}

func TestRank(t *testing.T) {
	rerank := 0.9
	loose := exhibit.Entry{Key: exhibit.VectorKey("v9"), State: exhibit.Returned, Rank: 5, Scores: exhibit.Scores{Legs: []exhibit.LegScore{{Leg: "dense", Score: .5, Rank: 1}}}}
	l := exhibit.Ledger{Entries: []exhibit.Entry{
		entry("b", 0, 1, "", 9),
		entry("a", 1, 2, exhibit.DocumentCap, 8),
		entry("b", 2, 3, exhibit.BelowReturnN, 7),
		entry("b", 2, 4, exhibit.DuplicateOf, 6),
		loose,
		entry("c", 0, 3, exhibit.BelowRetrieveK, 3), // a reranker renumbered what was kept
		entry("a", 0, 7, exhibit.BelowRetrieveK, 2),
		{Key: exhibit.ChunkKey("z", 0), State: exhibit.Dropped, Reason: exhibit.BelowThreshold},
		{State: exhibit.Dropped, Reason: exhibit.Unusable},
	}}
	l.Entries[0].Scores.Rerank = &rerank
	wantDocs := []eval.Ranked{{ID: "b", Score: .9}, {ID: "a", Score: 8}, {ID: loose.Key.String(), Score: .5}, {ID: "c", Score: 3}}
	if diff := cmp.Diff(wantDocs, eval.Rank(&l, eval.LevelDocument)); diff != "" {
		t.Error(diff)
	}
	wantChunks := []eval.Ranked{{ID: "b#chunk-0", Score: .9}, {ID: "a#chunk-1", Score: 8}, {ID: "b#chunk-2", Score: 7}, {ID: loose.Key.String(), Score: .5},
		{ID: "c#chunk-0", Score: 3}, {ID: "a#chunk-0", Score: 2}}
	if diff := cmp.Diff(wantChunks, eval.Rank(&l, eval.LevelChunk)); diff != "" {
		t.Error(diff)
	}
}

func TestParseLevel(t *testing.T) {
	for s, want := range map[string]eval.Level{"": eval.LevelDocument, "document": eval.LevelDocument, "chunk": eval.LevelChunk} {
		if got, err := eval.ParseLevel(s); got != want || err != nil {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	if _, err := eval.ParseLevel("page"); !errors.Is(err, exhibit.ErrInvalid) {
		t.Error(err)
	}
}

var nearly = cmpopts.EquateApprox(0, 1e-12)
