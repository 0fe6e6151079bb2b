package eval_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/exhibit-rag/exhibit/eval"
)

// The file holds what ir-measures makes of random judgements and rankings, with and without equal scores; it is
// renewed by `.ci/oracle/measures.py golden eval/testdata/oracle.json`.
func TestValuesEqualThoseOfIRMeasures(t *testing.T) {
	data, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Qrels  eval.Qrels
		Run    json.RawMessage
		Values map[string]map[string]float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cases {
		run, err := eval.ReadRun(bytes.NewReader(c.Run), "oracle.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range run.Rankings {
			for name, want := range c.Values[q.QueryID] {
				m, err := eval.ParseMeasure(name)
				if err != nil {
					t.Fatal(err)
				}
				if got := m.Value(q.Ranked, c.Qrels[q.QueryID]); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s of %s is %v, ir-measures says %v", name, q.QueryID, got, want)
				}
				n++
			}
		}
	}
	if n < 1500 {
		t.Errorf("only %d values were compared", n)
	}
}
