package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/exhibit-rag/exhibit"
)

// ReadQueries reads questions, JSON lines with "_id" and "text"; name is how errors call the file.
func ReadQueries(r io.Reader, name string) ([]Query, error) {
	var queries []Query
	seen := map[string]bool{}
	err := lines(r, name, func(line []byte) error {
		var row struct {
			ID   json.RawMessage `json:"_id"`
			Text string          `json:"text"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			return hinted(`a line is {"_id": "…", "text": "…"}`, "not a question: %w", err)
		}
		id, err := idOf(row.ID)
		switch {
		case err != nil:
			return err
		case strings.TrimSpace(row.Text) == "":
			return fmt.Errorf("question %q has no text", id)
		case seen[id]:
			return fmt.Errorf("a second question has the _id %q", id)
		}
		seen[id] = true
		queries = append(queries, Query{ID: id, Text: row.Text})
		return nil
	})
	if err == nil && len(queries) == 0 {
		err = &exhibit.Error{Source: name, Kind: exhibit.ErrInvalid, Err: errors.New("there is no question in it")}
	}
	return queries, err
}

// idOf takes a string, and a number as it is written.
func idOf(raw json.RawMessage) (string, error) {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		var n json.Number
		if err := json.Unmarshal(raw, &n); err != nil {
			return "", hinted(`a line is {"_id": "…", "text": "…"}`, `no "_id"`)
		}
		s = n.String()
	}
	if s == "" {
		return "", errors.New(`"_id" is empty`)
	}
	return s, nil
}

// ReadQrels reads judgements; name is how errors call the file. It takes BEIR's table (three columns separated by tabs
// under the header query-id, corpus-id, score), TREC's (qid 0 docid rel, separated by white space) and the JSON of ranx
// ({qid: {docid: number}}), told apart by their first line. A pair that is judged twice is an error.
func ReadQrels(r io.Reader, name string) (Qrels, error) {
	qrels := Qrels{}
	peek, isJSON, err := sniff(r, name)
	if err != nil {
		return nil, err
	}
	if isJSON {
		err = readNested(peek, name, func(query, doc string, number json.Number) error {
			rel, err := relevance(number.String())
			qrels.add(query, doc, rel)
			return err
		})
	} else {
		err = readQrelLines(peek, name, qrels)
	}
	if err == nil && len(qrels) == 0 {
		err = &exhibit.Error{Source: name, Kind: exhibit.ErrInvalid, Err: errors.New("there is no judgement in it")}
	}
	if err != nil {
		return nil, err
	}
	return qrels, nil
}

func readQrelLines(r io.Reader, name string, qrels Qrels) error {
	first, table := true, false
	return lines(r, name, func(line []byte) error {
		if first {
			first = false
			if cells := bytes.Split(bytes.TrimRight(line, "\r"), []byte{'\t'}); len(cells) == 3 {
				table = true
				if _, err := relevance(string(bytes.TrimSpace(cells[2]))); err != nil {
					return nil
				}
				return hinted("put the line query-id<TAB>corpus-id<TAB>score first", "the header is missing")
			}
		}
		query, doc, rel, err := judgement(line, table)
		if err != nil {
			return err
		}
		n, err := relevance(rel)
		if err != nil {
			return err
		}
		if qrels.add(query, doc, n) {
			return fmt.Errorf("document %q is judged a second time for question %q", doc, query)
		}
		return nil
	})
}

func judgement(line []byte, table bool) (query, doc, rel string, err error) {
	if table {
		cells := bytes.Split(bytes.TrimRight(line, "\r"), []byte{'\t'})
		if len(cells) != 3 || len(cells[0]) == 0 || len(cells[1]) == 0 {
			return "", "", "", hinted("a line is query-id<TAB>corpus-id<TAB>score", "%d columns, not 3", len(cells))
		}
		return string(cells[0]), string(cells[1]), string(bytes.TrimSpace(cells[2])), nil
	}
	cells := fields(line)
	if len(cells) != 4 {
		return "", "", "", hinted("a TREC line is: qid 0 docid rel; a BEIR table begins with the header query-id<TAB>corpus-id<TAB>score",
			"%d columns, not 4", len(cells))
	}
	return string(cells[0]), string(cells[2]), string(cells[3]), nil
}

func relevance(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("relevance %q is not a whole number", s)
	}
	return n, nil
}

// ReadRun reads rankings; name is how errors call the file. It takes TREC's lines (qid Q0 docid rank score tag) and the
// JSON of ranx ({qid: {docid: number}}). As trec_eval does, it ignores the rank and orders by score in single precision,
// equal scores by docid from high to low. Queries come in byte order of their ids.
func ReadRun(r io.Reader, name string) (*Run, error) {
	peek, isJSON, err := sniff(r, name)
	if err != nil {
		return nil, err
	}
	run := &Run{}
	found := map[string][]Ranked{}
	seen := map[[2]string]bool{}
	add := func(query, doc, number string) error {
		score, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
			return fmt.Errorf("score %q is not a finite number", number)
		}
		if seen[[2]string{query, doc}] {
			return fmt.Errorf("document %q is ranked a second time for question %q", doc, query)
		}
		seen[[2]string{query, doc}] = true
		found[query] = append(found[query], Ranked{ID: doc, Score: score})
		return nil
	}
	if isJSON {
		err = readNested(peek, name, func(query, doc string, n json.Number) error { return add(query, doc, n.String()) })
	} else {
		err = lines(peek, name, func(line []byte) error {
			cells := fields(line)
			if len(cells) != 6 {
				return hinted("a line is: qid Q0 docid rank score tag", "%d columns, not 6", len(cells))
			}
			run.Tag = string(cells[5])
			return add(string(cells[0]), string(cells[2]), string(cells[4]))
		})
	}
	if err != nil {
		return nil, err
	}
	for query, ranked := range found {
		slices.SortFunc(ranked, func(a, b Ranked) int {
			return cmp.Or(cmp.Compare(float32(b.Score), float32(a.Score)), strings.Compare(b.ID, a.ID))
		})
		run.Rankings = append(run.Rankings, Ranking{QueryID: query, Ranked: ranked})
	}
	slices.SortFunc(run.Rankings, func(a, b Ranking) int { return strings.Compare(a.QueryID, b.QueryID) })
	return run, nil
}

// sniff tells JSON from lines by the first byte that is no white space.
func sniff(r io.Reader, name string) (io.Reader, bool, error) {
	head := make([]byte, 512)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false, fileError(name, err, "")
	}
	head = head[:n]
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	isJSON := len(trimmed) > 0 && trimmed[0] == '{'
	if isJSON {
		head = trimmed
	}
	return io.MultiReader(bytes.NewReader(head), r), isJSON, nil
}

// readNested reads {qid: {docid: number}} and calls f for each pair, pairs in byte order.
func readNested(r io.Reader, name string, f func(query, doc string, number json.Number) error) error {
	var all map[string]map[string]json.Number
	d := json.NewDecoder(r)
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		return &exhibit.Error{Source: name, Kind: exhibit.ErrMalformed, Err: err, Hint: "the JSON form is {qid: {docid: number}}"}
	}
	for _, query := range sortedKeys(all) {
		for _, doc := range sortedKeys(all[query]) {
			if err := f(query, doc, all[query][doc]); err != nil {
				return &exhibit.Error{Source: name, Kind: exhibit.ErrMalformed, Err: fmt.Errorf("question %q: %w", query, err)}
			}
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
