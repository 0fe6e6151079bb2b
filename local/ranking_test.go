package local_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/local"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// eachLine decodes every line of a file.
func eachLine[T any](t *testing.T, path string, f func(T)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f(v)
	}
}

type question struct {
	ID      string   `json:"_id"`
	Text    string   `json:"text"`
	Answers []string `json:"answers"` // evidence keys
}

// TestRanking holds result lists and measures of a pinned corpus with the built-in encoder against golden files; a
// change of quality is a difference there. Run with -update to write them.
func TestRanking(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("testdata", "ranking")
	docs := map[string]string{}
	eachLine(t, filepath.Join(folder, "corpus.jsonl"), func(d struct{ Name, Text string }) { docs[d.Name] = d.Text })
	var list []question
	eachLine(t, filepath.Join(folder, "queries.jsonl"), func(q question) { list = append(list, q) })
	p := newPlace(t, nil, docs)
	p.sync(t)
	chunks := all(t, p.Store)
	for _, mode := range []string{"lexical", "dense", "hybrid", "rrf"} {
		t.Run(mode, func(t *testing.T) {
			golden(t, filepath.Join(folder, mode+".golden"), rank(t, p.Store, mode, list, chunks))
		})
	}
}

// rank asks every question and prints the first five keys of each answer, then the measures over all of them.
func rank(t *testing.T, s *local.Store, mode string, list []question, chunks map[string]string) string {
	t.Helper()
	set := exhibit.LookupSettings{RetrieveK: exhibit.Set(50), ReturnN: exhibit.Set(10), MaxChunksPerDocument: exhibit.Set(10), SearchMode: exhibit.Set(mode)}
	if mode == "rrf" {
		set.SearchMode, set.Fusion = exhibit.Set("hybrid"), exhibit.Set("rrf")
	}
	var b strings.Builder
	var recall, mrr, ndcg float64
	for _, q := range list {
		got := keys(lookup(t, s, exhibit.LookupRequest{Query: q.Text, Settings: set}))
		var gain, ideal, first float64
		found := 0
		for i, a := range q.Answers {
			if _, ok := chunks[a]; !ok {
				t.Errorf("%s: the corpus has no %s", q.ID, a)
			}
			ideal += 1 / math.Log2(float64(i)+2)
		}
		for i, key := range got {
			if !slices.Contains(q.Answers, key) {
				continue
			}
			if first == 0 {
				first = 1 / float64(i+1)
			}
			if i < 3 {
				found++
			}
			gain += 1 / math.Log2(float64(i)+2)
		}
		recall += float64(found) / float64(len(q.Answers))
		mrr += first
		ndcg += gain / ideal
		fmt.Fprintf(&b, "%s %s\n", q.ID, q.Text)
		for _, key := range got[:min(5, len(got))] {
			mark := " "
			if slices.Contains(q.Answers, key) {
				mark = "*"
			}
			fmt.Fprintf(&b, "  %s %s\n", mark, key)
		}
	}
	n := float64(len(list))
	fmt.Fprintf(&b, "\nR@3 %.4f\nRR@10 %.4f\nnDCG@10 %.4f\n", recall/n, mrr/n, ndcg/n)
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-update writes it anew):\n%s", path, d)
	}
}

// TestHandbookRecall asks the questions of examples/handbook and holds the share whose answers stand in the answer
// against what was measured when the handbook was written.
func TestHandbookRecall(t *testing.T) {
	if os.Getenv("EXHIBIT_SLOW") == "" {
		t.Skip("embeds the whole handbook; set EXHIBIT_SLOW=1")
	}
	type asked struct {
		ID      string `json:"_id"`
		Text    string `json:"text"`
		Answers []struct {
			DocID string `json:"doc_id"`
			Quote string `json:"quote"`
		} `json:"answers"`
	}
	s := open(t, filepath.Join(t.TempDir(), ".exhibit"), nil)
	sync(t, s, filepath.Join("..", "examples", "handbook"))
	var list []asked
	eachLine(t, filepath.Join("..", "examples", "handbook.questions.jsonl"), func(q asked) { list = append(list, q) })
	var wide, defaults, total float64
	for _, q := range list {
		at10 := exhibit.LookupRequest{Query: q.Text, Settings: exhibit.LookupSettings{RetrieveK: exhibit.Set(50), ReturnN: exhibit.Set(10), MaxChunksPerDocument: exhibit.Set(10)}}
		wideAnswer, answer := lookup(t, s, at10), ask(t, s, q.Text)
		for _, a := range q.Answers {
			in := func(res *exhibit.LookupResult) float64 {
				for _, e := range res.Evidence {
					if e.DocID == a.DocID && strings.Contains(e.Text, a.Quote) {
						return 1
					}
				}
				return 0
			}
			total++
			wide, defaults = wide+in(wideAnswer), defaults+in(answer)
			if in(answer) == 0 {
				t.Logf("%s %q: not in the answer: %q of %s", q.ID, q.Text, a.Quote, a.DocID)
			}
		}
	}
	t.Logf("%d questions, %.0f passages: %.4f in ten blocks, %.4f with the default settings", len(list), total, wide/total, defaults/total)
	if wide/total < handbookRecallAt10 || defaults/total < handbookRecallDefault {
		t.Errorf("below the floors %.2f and %.2f", handbookRecallAt10, handbookRecallDefault)
	}
}

// Floors of TestHandbookRecall: what it measured, rounded down to the next hundredth.
const (
	handbookRecallAt10    = 0.81
	handbookRecallDefault = 0.71
)
