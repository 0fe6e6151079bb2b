package analysis

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/uax29/v2/sentences"

	"github.com/exhibit-rag/exhibit/internal/lexical"
	"github.com/exhibit-rag/exhibit/internal/sharedtest"
)

type record struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// collection is a data set in the BEIR layout.
type collection struct {
	docs, queries []record
	judged        map[string]map[string]int
}

func load(t testing.TB, name string) collection {
	t.Helper()
	dir := sharedtest.Dir(t, "datasets", name)
	c := collection{judged: map[string]map[string]int{}}
	c.docs = loadRecords(t, filepath.Join(dir, "corpus.jsonl"))
	c.queries = loadRecords(t, filepath.Join(dir, "queries.jsonl"))
	data, err := os.ReadFile(filepath.Join(dir, "qrels", "test.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		rel, err := strconv.Atoi(f[2])
		if err != nil {
			continue // the heading
		}
		if c.judged[f[0]] == nil {
			c.judged[f[0]] = map[string]int{}
		}
		c.judged[f[0]][f[1]] = rel
	}
	return c
}

func loadRecords(t testing.TB, path string) []record {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []record
	r := bufio.NewReader(f)
	dec := json.NewDecoder(r)
	for dec.More() {
		var d record
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// units are the texts that are indexed, and the document each stands for.
type units struct {
	terms [][]string
	doc   []int
}

func whole(a *Analyzer, c collection) units {
	var u units
	for i, d := range c.docs {
		u.terms = append(u.terms, a.Terms(nil, d.Title+"\n"+d.Text))
		u.doc = append(u.doc, i)
	}
	return u
}

// chunked cuts at sentence ends, greedily, to at most about 256 tokens of the encoder, and puts the title before each part.
func chunked(a *Analyzer, c collection) units {
	var u units
	for i, d := range c.docs {
		var part strings.Builder
		n := 0
		flush := func() {
			if n > 0 {
				u.terms = append(u.terms, a.Terms(nil, d.Title+"\n"+part.String()))
				u.doc = append(u.doc, i)
			}
			part.Reset()
			n = 0
		}
		for s := range sentencesOf(d.Text) {
			if n > 0 && n+tokens(s) > 256 {
				flush()
			}
			part.WriteString(s)
			n += tokens(s)
		}
		flush()
	}
	return u
}

func sentencesOf(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		it := sentences.FromString(text)
		for it.Next() {
			if !yield(it.Value()) {
				return
			}
		}
	}
}

// tokens guesses the count of the encoder's tokens: 1.4 a word, one per 1.6 characters of a script without spaces.
func tokens(s string) int {
	n := 0.0
	for w := range strings.FieldsSeq(s) {
		n += 1.4
		d := 0
		for _, r := range w {
			if k, _ := classOf(r); k == dense {
				d++
			}
		}
		n += float64(d) / 1.6
	}
	return int(math.Ceil(n))
}

// evaluation is what a set of questions gave.
type evaluation struct {
	ndcg     float64       // mean nDCG@10, the best unit standing for its document
	p50, p95 time.Duration // of analysing a question, statistics and search
	bytes    int           // of the index
}

func evaluate(t testing.TB, a *Analyzer, c collection, u units) evaluation {
	t.Helper()
	b := lexical.NewBuilder()
	for _, terms := range u.terms {
		b.Add(terms)
	}
	var data bytes.Buffer
	if err := b.Write(&data); err != nil {
		t.Fatal(err)
	}
	s, err := lexical.OpenSegment(data.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	e := evaluation{bytes: data.Len()}
	var took []time.Duration
	for _, question := range c.queries {
		rel := c.judged[question.ID]
		if len(rel) == 0 {
			continue
		}
		start := time.Now()
		q := lexical.NewQuery(a.QueryTerms(question.Text))
		hits := s.Search(q, s.Stats(q, nil), 100, nil, nil)
		took = append(took, time.Since(start))
		best := map[int]float64{}
		for _, h := range hits {
			best[u.doc[h.Ord]] = max(best[u.doc[h.Ord]], h.Score)
		}
		e.ndcg += ndcg(c, rel, best)
	}
	e.ndcg /= float64(len(took))
	slices.Sort(took)
	e.p50, e.p95 = took[len(took)/2], took[len(took)*95/100]
	return e
}

func ndcg(c collection, rel map[string]int, scores map[int]float64) float64 {
	order := make([]int, 0, len(scores))
	for d := range scores {
		order = append(order, d)
	}
	slices.SortFunc(order, func(x, y int) int {
		if scores[x] != scores[y] {
			if scores[x] > scores[y] {
				return -1
			}
			return 1
		}
		return strings.Compare(c.docs[x].ID, c.docs[y].ID)
	})
	got := 0.0
	for i, d := range order[:min(10, len(order))] {
		got += float64(rel[c.docs[d].ID]) / math.Log2(float64(i)+2)
	}
	var ideal []int
	for _, r := range rel {
		ideal = append(ideal, r)
	}
	slices.SortFunc(ideal, func(a, b int) int { return b - a })
	best := 0.0
	for i, r := range ideal[:min(10, len(ideal))] {
		best += float64(r) / math.Log2(float64(i)+2)
	}
	if best == 0 {
		return 0
	}
	return got / best
}
