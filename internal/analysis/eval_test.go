package analysis

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/sentences"
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

type posting struct{ unit, tf int }

// evaluate returns the mean nDCG@10 of plain BM25, the best unit standing for its document.
func evaluate(a *Analyzer, c collection, u units) float64 {
	index := map[string][]posting{}
	length := make([]float64, len(u.terms))
	total := 0.0
	for i, terms := range u.terms {
		tf := map[string]int{}
		for _, t := range terms {
			tf[t]++
		}
		for t, n := range tf {
			index[t] = append(index[t], posting{i, n})
		}
		length[i] = float64(len(terms))
		total += length[i]
	}
	n := float64(len(u.terms))
	avg := total / n
	sum, judged := 0.0, 0
	for _, q := range c.queries {
		rel := c.judged[q.ID]
		if len(rel) == 0 {
			continue
		}
		terms := a.QueryTerms(q.Text)
		slices.Sort(terms)
		scores := map[int]float64{}
		for _, t := range terms {
			df := float64(len(index[t]))
			idf := math.Log(1 + (n-df+.5)/(df+.5))
			for _, p := range index[t] {
				tf := float64(p.tf)
				scores[p.unit] += idf * tf * 2.2 / (tf + 1.2*(.25+.75*length[p.unit]/avg))
			}
		}
		best := map[int]float64{}
		for unit, s := range scores {
			best[u.doc[unit]] = max(best[u.doc[unit]], s)
		}
		judged++
		sum += ndcg(c, rel, best)
	}
	return sum / float64(judged)
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
