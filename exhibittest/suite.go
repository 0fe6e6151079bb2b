package exhibittest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/exhibit-rag/exhibit"
)

// Options tell the suite what a port does differently. The zero value, and nil, is a port that does all.
type Options struct {
	Collection string // put into every request; default "default"

	// ListsDependOnK says that an answer for K is not the beginning of the answer for more, and that a filter changes
	// scores, as with fused lists and approximate indexes.
	ListsDependOnK bool
	// LeaksStatistics says that scores are taken over more than the access rule shows. The suite then leaves that
	// check out; a port that serves several callers should not need this.
	LeaksStatistics bool

	Repeats        int           // how often an equal request is made; default 25
	ScoreTolerance float64       // how far the scores of Scorer may be from those of Search; default 1e-6, relative above 1
	Patience       time.Duration // how long a call may take once its ctx has ended; default 5 s
}

func (o *Options) orDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Collection == "" {
		d.Collection = exhibit.DefaultCollection
	}
	if d.Repeats <= 0 {
		d.Repeats = 25
	}
	if d.ScoreTolerance <= 0 {
		d.ScoreTolerance = 1e-6
	}
	if d.Patience <= 0 {
		d.Patience = 5 * time.Second
	}
	return d
}

// TestSearchPort proves a port against the contract of exhibit.KnowledgeSearchPort, one subtest a rule. The factory is
// called once for most rules, with the documents of Corpus, a part of them, or none. Options may be nil.
func TestSearchPort(t *testing.T, factory Factory, opt *Options) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			for _, problem := range c.problems(func(docs []Doc) exhibit.KnowledgeSearchPort { return factory(t, docs) }, opt) {
				t.Error(problem)
			}
		})
	}
}

// Problem is one breach of the contract that the suite found.
type Problem struct {
	Check string // the rule, as the subtest of TestSearchPort is named
	What  string
}

// Problems runs the suite without a testing.T and returns what it found, in a fixed order of rules.
func Problems(build func(docs []Doc) exhibit.KnowledgeSearchPort, opt *Options) []Problem {
	var list []Problem
	for _, c := range checks() {
		for _, what := range c.problems(build, opt) {
			list = append(list, Problem{Check: c.name, What: what})
		}
	}
	return list
}

// Rules returns the names of the rules, in the order in which they run.
func Rules() []string {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// check is one rule of the contract.
type check struct {
	name string
	run  func(s *suite)
}

func (c check) problems(build func([]Doc) exhibit.KnowledgeSearchPort, opt *Options) []string {
	s := &suite{build: build, opt: opt.orDefaults(), docs: Corpus()}
	c.run(s)
	return s.problems
}

// checks lists the rules. A rule that others build on comes first.
func checks() []check {
	return []check{
		{"answers questions", (*suite).answers},
		{"scores are finite and descend", (*suite).scores},
		{"higher score is better", (*suite).relevance},
		{"at most K hits", (*suite).width},
		{"K above the collection", (*suite).wide},
		{"empty collection", (*suite).empty},
		{"hits carry text and identity", (*suite).identity},
		{"no hit twice", (*suite).unique},
		{"filter", (*suite).filter},
		{"access rule", (*suite).access},
		{"access rule hides statistics", (*suite).statistics},
		{"ended context", (*suite).ended},
		{"equal input, equal output", (*suite).repeat},
		{"concurrent use", (*suite).concurrent},
		{"fewer are a prefix of more", (*suite).prefix},
		{"scorer agrees with search", (*suite).scorer},
		{"coverage", (*suite).coverage},
	}
}

// suite is one run of one rule.
type suite struct {
	build    func([]Doc) exhibit.KnowledgeSearchPort
	opt      Options
	docs     []Doc
	problems []string
}

const maxProblems = 10

func (s *suite) errorf(format string, args ...any) {
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, fmt.Sprintf(format, args...))
	}
}

func (s *suite) request(query string, k int) exhibit.SearchRequest {
	return exhibit.SearchRequest{Collection: s.opt.Collection, Query: query, K: k}
}

type answer struct {
	hits []exhibit.Hit
	err  error
}

// ask calls Search and waits a while beyond the end of ctx, so that a port that hangs fails and does not hang the test.
func (s *suite) ask(ctx context.Context, port exhibit.KnowledgeSearchPort, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	done := make(chan answer, 1)
	go func() {
		hits, err := port.Search(ctx, req)
		done <- answer{hits, err}
	}()
	select {
	case a := <-done:
		return a.hits, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-done:
		return a.hits, a.err
	case <-time.After(s.opt.Patience):
		return nil, errHung
	}
}

var errHung = errors.New("no answer after ctx ended")

// search asks within a generous deadline and reports an error.
func (s *suite) search(port exhibit.KnowledgeSearchPort, req exhibit.SearchRequest) []exhibit.Hit {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	hits, err := s.ask(ctx, port, req)
	if err != nil {
		s.errorf("%s: %v", describe(req), err)
	}
	return hits
}

func describe(req exhibit.SearchRequest) string {
	text := fmt.Sprintf("K %d, %q", req.K, req.Query)
	if req.Filter != nil {
		text += ", filter " + req.Filter.Type + " " + req.Filter.Key
	}
	if req.Access != nil {
		text += ", access " + req.Access.Type + " " + req.Access.Key
	}
	return text
}

// doc returns the document that a hit says it is from.
func (s *suite) doc(h *exhibit.Hit) (*Doc, bool) {
	v, ok := firstOf(h.Metadata, "docId", "doc_id")
	if !ok {
		return nil, false
	}
	i := slices.IndexFunc(s.docs, func(d Doc) bool { return d.DocID == v.Text() })
	if i < 0 {
		return nil, false
	}
	return &s.docs[i], true
}

// printHits writes hits so that equal answers print alike. Ids are left out where the comparison is over two stores.
func printHits(hits []exhibit.Hit, ids bool) string {
	var b strings.Builder
	for i := range hits {
		h := &hits[i]
		id := ""
		if ids {
			id = h.ID
		}
		m, _ := h.Metadata.MarshalJSON()
		fmt.Fprintf(&b, "%q %q %016x %q %q %s\n", id, identityOf(h), math.Float64bits(h.Score), h.Text, h.Source, m)
	}
	return b.String()
}

// firstDifference shows the first line in which two printed answers differ.
func firstDifference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return fmt.Sprintf("hit %d: %s\n   then %s", i+1, left[i], right[i])
		}
	}
	return fmt.Sprintf("%d hits, then %d", len(left)-1, len(right)-1)
}
