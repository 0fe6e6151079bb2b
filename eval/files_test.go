package eval_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/eval"
)

// folder writes a BEIR folder; a name with an empty text is left out.
func folder(t *testing.T, changes map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	files := map[string]string{
		"corpus.jsonl":   `{"_id":"d1","title":"T","text":"words"}` + "\n",
		"queries.jsonl":  "\ufeff" + `{"_id":"q2","text":"two?"}` + "\r\n" + `{"_id":"q1","text":"one?","metadata":{"x":1}}` + "\n\n" + `{"_id":3,"text":"three?"}`,
		"qrels/test.tsv": "query-id\tcorpus-id\tscore\r\nq1\td1\t1\r\nq1\td 2\t2\nq2\td9\t0\nq2\td1\t1\n3\td1\t0\n",
	}
	for name, text := range changes {
		files[name] = text
	}
	for name, text := range files {
		if text == "" {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoadBEIR(t *testing.T) {
	dir := folder(t, nil)
	got, err := eval.LoadBEIR(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := &eval.Set{Name: "tiny", Corpus: filepath.Join(dir, "corpus.jsonl"),
		Queries:  []eval.Query{{ID: "q2", Text: "two?"}, {ID: "q1", Text: "one?"}},
		Unjudged: 1,
		Qrels:    eval.Qrels{"q1": {"d1": 1, "d 2": 2}, "q2": {"d9": 0, "d1": 1}, "3": {"d1": 0}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadBEIRSaysWhereAndWhy(t *testing.T) {
	for _, c := range []struct {
		file, text string
		kind       error
		want       string
	}{
		{"corpus.jsonl", "", exhibit.ErrNotFound, "corpus.jsonl: no such file"},
		{"queries.jsonl", "", exhibit.ErrNotFound, "queries.jsonl: no such file"},
		{"queries.jsonl", "\n\n", exhibit.ErrInvalid, "queries.jsonl: there is no question in it"},
		{"queries.jsonl", `{"_id":"q1","text":"a"}` + "\nnot json\n", exhibit.ErrMalformed, "queries.jsonl:2: not a question: invalid character"},
		{"queries.jsonl", `{"text":"a"}`, exhibit.ErrMalformed, `queries.jsonl:1: no "_id"`},
		{"queries.jsonl", `{"_id":"","text":"a"}`, exhibit.ErrMalformed, `queries.jsonl:1: "_id" is empty`},
		{"queries.jsonl", `{"_id":"q1","text":" "}`, exhibit.ErrMalformed, `queries.jsonl:1: question "q1" has no text`},
		{"queries.jsonl", `{"_id":"q1","text":"a"}` + "\n" + `{"_id":"q1","text":"b"}`, exhibit.ErrMalformed, `queries.jsonl:2: a second question has the _id "q1"`},
		{"queries.jsonl", "{\"_id\":\"q1\",\"text\":\"\xff\"}", exhibit.ErrMalformed, "queries.jsonl:1: it is not valid UTF-8"},
		{"queries.jsonl", `{"_id":"q1","text":"` + strings.Repeat("x", eval.MaxLineBytes) + `"}`, exhibit.ErrMalformed, "queries.jsonl:1: the line is longer than 1048576 bytes"},
		{"queries.jsonl", `{"_id":"q1","text":"a"}`, exhibit.ErrInvalid, `test.tsv: question "3" is judged but is not in`},
		{"qrels/test.tsv", "", exhibit.ErrNotFound, "test.tsv: no such file"},
		{"qrels/test.tsv", "query-id\tcorpus-id\tscore\n", exhibit.ErrInvalid, "test.tsv: there is no judgement in it"},
		{"qrels/test.tsv", "q1\td1\t1\n", exhibit.ErrMalformed, "test.tsv:1: the header is missing"},
		{"qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\n", exhibit.ErrMalformed, "test.tsv:2: 2 columns, not 3"},
		{"qrels/test.tsv", "query-id\tcorpus-id\tscore\n\nq1\td1\tyes\n", exhibit.ErrMalformed, `test.tsv:3: relevance "yes" is not a whole number`},
		{"qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t0\n", exhibit.ErrMalformed, `test.tsv:3: document "d1" is judged a second time`},
		{"qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t0\n", exhibit.ErrInvalid, "has a relevant document"},
	} {
		_, err := eval.LoadBEIR(folder(t, map[string]string{c.file: c.text}))
		if err == nil || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.40q: %v, want %q", c.file, c.text, err, c.want)
		}
	}
	if _, err := eval.LoadBEIR(filepath.Join(t.TempDir(), "none")); !errors.Is(err, exhibit.ErrNotFound) || exhibit.HintOf(err) == "" {
		t.Error(err)
	}
	if _, err := eval.LoadBEIR(filepath.Join(folder(t, nil), "corpus.jsonl")); !errors.Is(err, exhibit.ErrInvalid) {
		t.Error(err)
	}
}

func TestReadQrelsTakesThreeForms(t *testing.T) {
	want := eval.Qrels{"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 3}}
	for name, text := range map[string]string{
		"BEIR": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t3\n",
		"TREC": "q1 0 d1 1\nq1\t0\td2  0\r\nq2 Q0 d1 3",
		"ranx": "\n {\"q1\": {\"d1\": 1, \"d2\": 0},\n \"q2\": {\"d1\": 3}}\n",
	} {
		got, err := eval.ReadQrels(strings.NewReader(text), name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for text, want := range map[string]string{
		"q1 0 d1":             "f:1: 3 columns, not 4",
		"q1 0 d1 0.5":         `f:1: relevance "0.5"`,
		`{"q1": {"d1": 0.5}}`: `f: question "q1": relevance "0.5"`,
		`{"q1": ["d1"]}`:      "f: json",
	} {
		if _, err := eval.ReadQrels(strings.NewReader(text), "f"); !errors.Is(err, exhibit.ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestReadRunOrdersAsTRECDoes(t *testing.T) {
	want := []eval.Ranking{
		{QueryID: "q1", Ranked: []eval.Ranked{{ID: "c", Score: 1.5}, {ID: "b", Score: 1}, {ID: "a", Score: 1}}},
		{QueryID: "q2", Ranked: []eval.Ranked{{ID: "x", Score: -2}}},
	}
	for name, text := range map[string]string{
		"TREC": "q2 Q0 x 1 -2 me\nq1 Q0 a 1 1 me\nq1 Q0 b 2 1 me\nq1 Q0 c 3 1.5 me\n",
		"ranx": `{"q2": {"x": -2}, "q1": {"a": 1, "b": 1, "c": 1.5}}`,
	} {
		run, err := eval.ReadRun(strings.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, run.Rankings); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for text, want := range map[string]string{
		"q1 Q0 a 1 1":                          "f:1: 5 columns, not 6",
		"q1 Q0 a 1 NaN me":                     `f:1: score "NaN"`,
		"q1 Q0 a 1 2 me\nq1 Q0 a 2 1 me":       `f:2: document "a" is ranked a second time`,
		"q1 Q0 a 1 1e999 me":                   `f:1: score "1e999"`,
		"q1 Q0 a 1 1 me\nq1 Q0 b c 2 0.5 me\n": "f:2: 7 columns",
	} {
		if _, err := eval.ReadRun(strings.NewReader(text), "f"); !errors.Is(err, exhibit.ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWriteTREC(t *testing.T) {
	run := &eval.Run{Rankings: []eval.Ranking{
		{QueryID: "q1", Ranked: []eval.Ranked{{"handbook/leave.md#chunk-2", 1.372}, {"handbook/leave.md#chunk-1", -0.543}}},
		{QueryID: "q2", Ranked: []eval.Ranked{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 5}, {"e", 0.25}}},
	}}
	var b bytes.Buffer
	if err := run.WriteTREC(&b, nil); err != nil {
		t.Fatal(err)
	}
	want := `q1 Q0 handbook/leave.md#chunk-2 1 1.372 exhibit
q1 Q0 handbook/leave.md#chunk-1 2 -0.543 exhibit
q2 Q0 a 1 1 exhibit
q2 Q0 b 2 0.99999994 exhibit
q2 Q0 c 3 0.9999999 exhibit
q2 Q0 d 4 0.9999998 exhibit
q2 Q0 e 5 0.25 exhibit
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteTRECRefuses(t *testing.T) {
	one := func(query, id string, score float64, tag string) *eval.Run {
		return &eval.Run{Tag: tag, Rankings: []eval.Ranking{{QueryID: query, Ranked: []eval.Ranked{{id, score}}}}}
	}
	for name, c := range map[string]struct {
		run  *eval.Run
		hint bool
	}{
		"space in id":      {one("q", "a b.md#chunk-0", 1, ""), true},
		"no-break space":   {one("q", "a\u00a0b", 1, ""), true},
		"newline in query": {one("q\n1", "a", 1, ""), true},
		"empty id":         {one("q", "", 1, ""), false},
		"tag":              {one("q", "a", 1, "my run"), true},
		"NaN":              {one("q", "a", math.NaN(), ""), false},
	} {
		err := c.run.WriteTREC(&bytes.Buffer{}, nil)
		if !errors.Is(err, exhibit.ErrInvalid) || c.hint != strings.Contains(exhibit.HintOf(err), "--escape-ids") {
			t.Errorf("%s: %v (%s)", name, err, exhibit.HintOf(err))
		}
	}
	var b bytes.Buffer
	if err := one("q 1", "50% a\tb\u3000\xff", 1, "").WriteTREC(&b, &eval.TRECOptions{EscapeIDs: true}); err != nil {
		t.Fatal(err)
	}
	if want := "q%201 Q0 50%25%20a%09b%E3%80%80%FF 1 1 exhibit\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}

// What is written must order the same way for a reader that parses doubles and rounds to single precision.
func TestWrittenScoresFallStrictly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.OneOf(rapid.Float64(), rapid.Float64Range(-2, 2), rapid.SampledFrom([]float64{0, 1, -1, math.MaxFloat64, 1e-45})), 1, 40).Draw(t, "scores")
		run := &eval.Run{Rankings: []eval.Ranking{{QueryID: "q"}}}
		var ids []string
		for i, s := range scores {
			ids = append(ids, "d"+strconv.Itoa(i))
			run.Rankings[0].Ranked = append(run.Rankings[0].Ranked, eval.Ranked{ID: ids[i], Score: s})
		}
		var b bytes.Buffer
		if err := run.WriteTREC(&b, nil); err != nil {
			if !errors.Is(err, exhibit.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		again, err := eval.ReadRun(&b, "written")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, r := range again.Rankings[0].Ranked {
			got = append(got, r.ID)
			if i > 0 && float32(r.Score) >= float32(again.Rankings[0].Ranked[i-1].Score) {
				t.Fatalf("score %v does not fall", r.Score)
			}
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzReadQrels(f *testing.F) {
	for _, s := range []string{"query-id\tcorpus-id\tscore\nq\td\t1\n", "q 0 d 1\n", `{"q":{"d":1}}`, "q\td\t1", "\ufeffq 0 d 1", "{", "q 0 d 99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		qrels, err := eval.ReadQrels(strings.NewReader(s), "f")
		if (err == nil) != (len(qrels) > 0) {
			t.Fatalf("%d queries with error %v", len(qrels), err)
		}
	})
}

func FuzzReadRun(f *testing.F) {
	for _, s := range []string{"q Q0 d 1 1.5 tag\n", `{"q":{"d":1.5}}`, "q Q0 d 1 inf tag", "q Q0 d 1 0x1p-2 tag"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		run, err := eval.ReadRun(strings.NewReader(s), "f")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := run.WriteTREC(&b, &eval.TRECOptions{EscapeIDs: true}); err != nil && !errors.Is(err, exhibit.ErrInvalid) {
			t.Fatal(err)
		}
	})
}
