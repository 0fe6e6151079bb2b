package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/eval"
)

func tinySet(n int) *eval.Set {
	set := &eval.Set{Name: "tiny", Qrels: eval.Qrels{}}
	for i := range n {
		id := fmt.Sprintf("q%d", i)
		set.Queries = append(set.Queries, eval.Query{ID: id, Text: id})
		set.Qrels[id] = map[string]int{"d" + id: 1}
	}
	return set
}

func TestEvaluate(t *testing.T) {
	measures, err := eval.ParseMeasures("nDCG@10,RR@10,R@1")
	if err != nil {
		t.Fatal(err)
	}
	search := func(_ context.Context, q eval.Query) ([]eval.Ranked, error) {
		switch q.ID {
		case "q0":
			return ranking("x", "dq0"), nil
		case "q1":
			return nil, nil
		}
		return ranking("d"+q.ID, "x"), nil
	}
	var steps []int
	one, err := eval.Evaluate(t.Context(), tinySet(4), search, &eval.Options{Measures: measures, Progress: func(done, total int) {
		if total != 4 {
			t.Errorf("total %d", total)
		}
		steps = append(steps, done)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4}, steps); diff != "" {
		t.Error(diff)
	}
	want := map[string]float64{"nDCG@10": (0.6309297535714575 + 2) / 4, "RR@10": 2.5 / 4, "R@1": 2.0 / 4}
	for name, v := range want {
		if got, ok := one.Measures.Get(name); !ok || !cmp.Equal(v, got, nearly) {
			t.Errorf("%s = %v, want %v", name, got, v)
		}
	}
	if _, ok := one.Measures.Get("R@2"); ok {
		t.Error("a measure that was not asked for")
	}
	many, err := eval.Evaluate(t.Context(), tinySet(4), search, &eval.Options{Measures: measures, Workers: 7})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, many); diff != "" {
		t.Errorf("with seven workers: %s", diff)
	}
	again, err := eval.Score(tinySet(4), one.Run, &eval.Options{Measures: measures})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, again); diff != "" {
		t.Errorf("from the run: %s", diff)
	}
}

func TestEvaluateTellsTheFirstError(t *testing.T) {
	cause := errors.New("no luck")
	for _, workers := range []int{1, 3} {
		_, err := eval.Evaluate(t.Context(), tinySet(40), func(_ context.Context, q eval.Query) ([]eval.Ranked, error) {
			if q.ID >= "q2" {
				return nil, cause
			}
			return nil, nil
		}, &eval.Options{Workers: workers})
		if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "question q2: ") {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
	_, err := eval.Evaluate(t.Context(), tinySet(1), func(context.Context, eval.Query) ([]eval.Ranked, error) { return ranking("a", "a"), nil }, nil)
	if err == nil || !strings.Contains(err.Error(), `question q0: "a" is ranked twice`) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = eval.Evaluate(ctx, tinySet(3), func(context.Context, eval.Query) ([]eval.Ranked, error) { cancel(); return nil, nil }, nil)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestScoreRefusesAnUnrelatedRun(t *testing.T) {
	_, err := eval.Score(tinySet(2), &eval.Run{Tag: "other", Rankings: []eval.Ranking{{QueryID: "1"}}}, nil)
	if !errors.Is(err, exhibit.ErrInvalid) || exhibit.HintOf(err) == "" {
		t.Error(err)
	}
}

func TestResultJSON(t *testing.T) {
	res, err := eval.Evaluate(t.Context(), tinySet(2), func(_ context.Context, q eval.Query) ([]eval.Ranked, error) {
		return ranking("d" + q.ID), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Revision = "0123456789ab"
	res.Settings = []exhibit.Effective{{Key: exhibit.KeyRetrieveK, Value: exhibit.Number(20), From: exhibit.FromDefault}}
	got, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"level":"document","queries":2,"measures":{"nDCG@10":1,"R@100":1,"RR@10":1},` +
		`"per_query":{"q0":{"nDCG@10":1,"R@100":1,"RR@10":1},"q1":{"nDCG@10":1,"R@100":1,"RR@10":1}},` +
		`"settings":{"rag.retrieve-k":{"value":20,"from":"default"}},"revision":"0123456789ab"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
