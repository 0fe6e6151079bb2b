package eval

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/exhibit-rag/exhibit"
)

// Query is one question of a set.
type Query struct {
	ID   string
	Text string
}

// Set is a question set with judgements. It is not changed after it was loaded, and safe for concurrent use.
type Set struct {
	Name     string  // of its folder or of its file of questions
	Corpus   string  // path of the BEIR corpus, JSON lines of documents; "" where the set has none of its own
	Queries  []Query // those with a relevant document, in the order of the file
	Unjudged int     // questions of the file that have none and are left out
	Qrels    Qrels
}

// LoadBEIR loads a folder in the layout of BEIR (https://github.com/beir-cellar/beir): corpus.jsonl, queries.jsonl and
// qrels/test.tsv. The corpus is looked for, not read. An error names file and line, and wraps exhibit.ErrNotFound,
// exhibit.ErrUnreadable, exhibit.ErrMalformed or exhibit.ErrInvalid.
func LoadBEIR(dir string) (*Set, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fileError(dir, err, "give a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv")
	} else if !info.IsDir() {
		return nil, &exhibit.Error{Source: dir, Kind: exhibit.ErrInvalid, Err: errors.New("it is a file, not a BEIR folder"),
			Hint: "give the folder that holds corpus.jsonl, queries.jsonl and qrels/test.tsv"}
	}
	corpus := filepath.Join(dir, "corpus.jsonl")
	if _, err := os.Stat(corpus); err != nil {
		return nil, fileError(corpus, err, "a BEIR folder has corpus.jsonl, queries.jsonl and qrels/test.tsv")
	}
	set, err := Load(filepath.Join(dir, "queries.jsonl"), filepath.Join(dir, "qrels", "test.tsv"))
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fileError(dir, err, "")
	}
	set.Name, set.Corpus = filepath.Base(abs), corpus
	return set, nil
}

// Load loads a set from its questions (BEIR's queries.jsonl) and its judgements (any form that ReadQrels takes).
func Load(queries, qrels string) (*Set, error) {
	all, err := LoadQueries(queries)
	if err != nil {
		return nil, err
	}
	judged, err := LoadQrels(qrels)
	if err != nil {
		return nil, err
	}
	set := &Set{Name: filepath.Base(queries), Qrels: judged}
	known := make(map[string]bool, len(all))
	for _, q := range all {
		known[q.ID] = true
		if judged.Relevant(q.ID) > 0 {
			set.Queries = append(set.Queries, q)
		} else {
			set.Unjudged++
		}
	}
	for _, id := range judged.queryIDs() {
		if !known[id] {
			return nil, &exhibit.Error{Source: qrels, Kind: exhibit.ErrInvalid, Err: fmt.Errorf("question %q is judged but is not in %s", id, queries),
				Hint: "questions and judgements must belong together; take out the judgements of questions that are not asked"}
		}
	}
	if len(set.Queries) == 0 {
		return nil, &exhibit.Error{Source: qrels, Kind: exhibit.ErrInvalid, Err: fmt.Errorf("no question of %s has a relevant document", queries),
			Hint: "a relevant document has a score of 1 or more"}
	}
	return set, nil
}

// LoadQueries loads a file of questions, JSON lines with "_id" and "text" (BEIR). Further fields are not read.
func LoadQueries(path string) ([]Query, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err, "")
	}
	defer f.Close()
	return ReadQueries(f, path)
}

// LoadQrels loads a file of judgements in any form that ReadQrels takes.
func LoadQrels(path string) (Qrels, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err, "")
	}
	defer f.Close()
	return ReadQrels(f, path)
}

// LoadRun loads a run file in any form that ReadRun takes.
func LoadRun(path string) (*Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err, "")
	}
	defer f.Close()
	return ReadRun(f, path)
}

// fileError tells of a file that cannot be read; the cause of the file system names the path, so only its reason stays.
func fileError(path string, err error, hint string) error {
	kind := exhibit.ErrUnreadable
	if errors.Is(err, os.ErrNotExist) {
		kind = exhibit.ErrNotFound
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &exhibit.Error{Source: path, Kind: kind, Err: err, Hint: hint}
}

// Qrels are judgements: relevance by document id by query id. 1 or more is relevant, 0 and less is judged not to be.
type Qrels map[string]map[string]int

// Relevant returns how many documents are relevant to a query.
func (q Qrels) Relevant(queryID string) int {
	n := 0
	for _, rel := range q[queryID] {
		if rel > 0 {
			n++
		}
	}
	return n
}

func (q Qrels) queryIDs() []string {
	ids := make([]string, 0, len(q))
	for id := range q {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// add records a judgement, and reports whether the pair was judged before.
func (q Qrels) add(query, doc string, rel int) bool {
	docs := q[query]
	if docs == nil {
		docs = map[string]int{}
		q[query] = docs
	}
	_, twice := docs[doc]
	docs[doc] = rel
	return twice
}
