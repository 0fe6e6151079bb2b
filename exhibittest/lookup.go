package exhibittest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/exhibit-rag/exhibit"
)

// TB is the part of testing.TB that the helpers need; a property test's T is one too.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Lookuper answers questions: an exhibit.Retriever, or a store that has one inside.
type Lookuper interface {
	Lookup(ctx context.Context, req exhibit.LookupRequest) (*exhibit.LookupResult, error)
}

// Lookup makes a lookup within a minute, fails the test where it is an error, and holds the answer against all that
// CheckResult knows.
func Lookup(t TB, r Lookuper, req exhibit.LookupRequest) *exhibit.LookupResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := r.Lookup(ctx, req)
	if err != nil {
		t.Fatalf("lookup %q: %v", req.Query, err)
	}
	if err := CheckResult(req, res); err != nil {
		t.Errorf("lookup %q: %v", req.Query, err)
	}
	return res
}

// CheckResult reports everything in an answer that cannot be right, whatever the port found: an account that does not
// add up, an order that is not total, a block without its entry, handles, keys, citations or hashes that do not belong
// together, a selection that differs from the one that ranks, cap and return-n give.
func CheckResult(req exhibit.LookupRequest, res *exhibit.LookupResult) error {
	c := &resultCheck{req: req, res: res, soft: setting(res, exhibit.KeyCapMode) == exhibit.CapSoft,
		limit: number(res, exhibit.KeyMaxChunks), wanted: number(res, exhibit.KeyReturnN), k: number(res, exhibit.KeyRetrieveK)}
	if err := res.Ledger.Check(); err != nil {
		c.errorf("ledger: %v", err)
	}
	c.frame()
	c.entries()
	c.order()
	c.evidence()
	c.selection()
	return errors.Join(c.problems...)
}

type resultCheck struct {
	req              exhibit.LookupRequest
	res              *exhibit.LookupResult
	soft             bool
	limit, wanted, k int
	problems         []error
}

func (c *resultCheck) errorf(format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Errorf(format, args...))
	}
}

func setting(res *exhibit.LookupResult, key string) string {
	for _, e := range res.Settings {
		if e.Key == key {
			return e.Value.Text()
		}
	}
	return ""
}

func number(res *exhibit.LookupResult, key string) int {
	n := 0
	if _, err := fmt.Sscan(setting(res, key), &n); err != nil {
		return -1
	}
	return n
}

func (c *resultCheck) frame() {
	res := c.res
	if len(res.LookupID) != 12 || strings.Trim(res.LookupID, "0123456789abcdef") != "" {
		c.errorf("lookup id %q is not 12 hex digits", res.LookupID)
	}
	seen := map[string]bool{}
	for _, e := range res.Settings {
		if seen[e.Key] || e.From == "" {
			c.errorf("setting %s: twice, or from nowhere", e.Key)
		}
		seen[e.Key] = true
	}
	if c.k < c.wanted || c.wanted < 1 || c.limit < 1 {
		c.errorf("effective retrieve-k %d, return-n %d, cap %d", c.k, c.wanted, c.limit)
	}
	if got := len(res.Evidence); got > c.wanted || got != res.Ledger.Returned {
		c.errorf("%d blocks for return-n %d, account says %d", got, c.wanted, res.Ledger.Returned)
	}
	if short := res.Ledger.Returned < c.wanted; short != (res.Short != nil) {
		c.errorf("%d of %d returned, short is %v", res.Ledger.Returned, c.wanted, res.Short)
	} else if short && (res.Short.Wanted != c.wanted || res.Short.Returned != res.Ledger.Returned || res.Short.Because == "") {
		c.errorf("short says %+v of %d returned for %d", *res.Short, res.Ledger.Returned, c.wanted)
	}
	hits, overrun := 0, false
	for _, l := range res.Ledger.Legs {
		hits += l.Hits
		overrun = overrun || l.Hits > l.Asked
		if l.Asked != c.k {
			c.errorf("leg %s was asked for %d, retrieve-k is %d", l.Leg, l.Asked, c.k)
		}
		if l.Error != "" && !slices.ContainsFunc(res.Degraded, func(d exhibit.Degraded) bool { return d.Port == l.Leg }) {
			c.errorf("leg %s failed and the answer is not degraded", l.Leg)
		}
	}
	if res.Ledger.Retrieved > hits {
		c.errorf("%d candidates out of %d hits", res.Ledger.Retrieved, hits)
	}
	if overrun && len(res.Degraded) == 0 {
		c.errorf("a leg gave more hits than asked for, and the answer is not degraded")
	}
}

// entries holds each entry of the ledger against itself, and that past deduplication a key stands once.
func (c *resultCheck) entries() {
	live := map[exhibit.Key]bool{}
	for i := range c.res.Ledger.Entries {
		e := &c.res.Ledger.Entries[i]
		if e.Reason == exhibit.Unusable {
			if !e.Key.IsZero() {
				c.errorf("%s is unusable and has a key", e.Key)
			}
			continue
		}
		if back, err := exhibit.ParseKey(e.Key.String()); err != nil || back != e.Key {
			c.errorf("key %q reads back as %q, %v", e.Key, back, err)
		}
		if e.Weak != (e.Key.Kind() == exhibit.KeyContent) {
			c.errorf("%s: weak is %v", e.Key, e.Weak)
		}
		switch e.Reason {
		case exhibit.BelowThreshold, exhibit.BelowRetrieveK, exhibit.DuplicateOf: // stages at which a key may still stand twice
		default:
			if live[e.Key] {
				c.errorf("%s ends in two ways", e.Key)
			}
			live[e.Key] = true
		}
		c.losers(e)
		c.scoreFields(e)
	}
}

// losers holds that what a candidate lost against is named, and is there.
func (c *resultCheck) losers(e *exhibit.Entry) {
	switch e.Reason {
	case exhibit.DuplicateOf:
		if len(e.Of) != 1 || e.Of[0] != e.Key {
			c.errorf("%s is a duplicate of %v", e.Key, e.Of)
		}
	case exhibit.DocumentCap:
		if len(e.Of) != c.limit {
			c.errorf("%s lost to %d chunks under a cap of %d", e.Key, len(e.Of), c.limit)
		}
		for _, of := range e.Of {
			if e.Key.DocID() != "" && of.DocID() != "" && of.DocID() != e.Key.DocID() {
				c.errorf("%s lost its place to %s of another document", e.Key, of)
			}
		}
	default:
		if len(e.Of) > 0 {
			c.errorf("%s is %s for %q and lost to %v", e.Key, e.State, e.Reason, e.Of)
		}
	}
}

func (c *resultCheck) scoreFields(e *exhibit.Entry) {
	finite := func(what string, x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			c.errorf("%s: %s score %v", e.Key, what, x)
		}
	}
	found := false
	for _, l := range e.Scores.Legs {
		finite(l.Leg, l.Score)
		found = found || l.Rank > 0
	}
	if !found {
		c.errorf("%s was found by no leg", e.Key)
	}
	if e.Scores.Fused != nil {
		finite("fused", *e.Scores.Fused)
	} else if len(c.res.Ledger.Legs) > 1 && e.Rank > 0 {
		c.errorf("%s has no fused score", e.Key)
	}
	if e.Scores.Rerank != nil {
		finite("rerank", *e.Scores.Rerank)
	}
}

// order holds that ranks run from 1 without a gap and that the scores descend with them: reranked ones by rerank score
// before all others, then by fused or only score; equal ones by key.
func (c *resultCheck) order() {
	var last *exhibit.Entry
	unranked := false
	for i := range c.res.Ledger.Entries {
		e := &c.res.Ledger.Entries[i]
		if e.Rank == 0 {
			unranked = true
			continue
		}
		if unranked {
			c.errorf("%s with rank %d stands after an entry without rank", e.Key, e.Rank)
		}
		if e.Rank > c.k && e.Reason != exhibit.BelowRetrieveK || e.Rank <= c.k && e.Reason == exhibit.BelowRetrieveK {
			c.errorf("%s has rank %d and reason %q under retrieve-k %d", e.Key, e.Rank, e.Reason, c.k)
		}
		want := 1
		if last != nil {
			want = last.Rank + 1
		}
		if e.Rank != want {
			c.errorf("%s has rank %d in place %d", e.Key, e.Rank, want)
		}
		if last != nil && e.Reason != exhibit.BelowRetrieveK && !c.before(last, e) {
			c.errorf("%s stands before %s: scores %v, then %v", last.Key, e.Key, c.describe(last), c.describe(e))
		}
		last = e
	}
}

func (c *resultCheck) describe(e *exhibit.Entry) string {
	text := fmt.Sprint(c.score(e))
	if e.Scores.Rerank != nil {
		text += fmt.Sprintf(" rerank %v", *e.Scores.Rerank)
	}
	return text
}

func (c *resultCheck) before(a, b *exhibit.Entry) bool {
	ra, rb := a.Scores.Rerank, b.Scores.Rerank
	switch {
	case ra != nil && rb != nil && *ra != *rb:
		return *ra > *rb
	case (ra != nil) != (rb != nil):
		return ra != nil
	}
	if x, y := c.score(a), c.score(b); x != y {
		return x > y
	}
	return a.Key.String() <= b.Key.String()
}

// score is what orders an entry where no reranker does.
func (c *resultCheck) score(e *exhibit.Entry) float64 {
	if e.Scores.Fused != nil {
		return *e.Scores.Fused
	}
	if len(e.Scores.Legs) == 0 {
		return math.NaN()
	}
	return e.Scores.Legs[0].Score
}

// evidence holds each block against its entry and its own text.
func (c *resultCheck) evidence() {
	returned := map[exhibit.Key]*exhibit.Entry{}
	for i := range c.res.Ledger.Entries {
		if e := &c.res.Ledger.Entries[i]; e.State == exhibit.Returned {
			returned[e.Key] = e
		}
	}
	handles := map[string]bool{}
	for i := range c.res.Evidence {
		e := &c.res.Evidence[i]
		entry := returned[e.Key]
		if entry == nil {
			c.errorf("%s is in the answer and not returned in the ledger", e.Key)
			continue
		}
		delete(returned, e.Key)
		if e.Handle == "" || handles[e.Handle] {
			c.errorf("%s has the handle %q, which is none or not its own", e.Key, e.Handle)
		}
		handles[e.Handle] = true
		c.block(e, entry)
	}
	for key := range returned {
		c.errorf("%s is returned in the ledger and not in the answer", key)
	}
}

func (c *resultCheck) block(e *exhibit.Evidence, entry *exhibit.Entry) {
	if e.Key.Kind() == exhibit.KeyChunk && (e.DocID != e.Key.DocID() || e.ChunkIndex != e.Key.Index()) {
		c.errorf("%s says docId %q and chunk %d", e.Key, e.DocID, e.ChunkIndex)
	}
	if hash := exhibit.ContentHash(e.Text); !e.Cut && e.ContentHash != hash {
		c.errorf("%s: content hash %s of a text whose hash is %s", e.Key, e.ContentHash, hash)
	}
	cite := e.Citation()
	if back, err := exhibit.ParseCitation(cite.String()); err != nil || back != cite || back.Key != e.Key {
		c.errorf("%s: citation %s reads back as %v, %v", e.Key, cite, back, err)
	}
	if cite != entry.Citation(c.res.Collection) {
		c.errorf("%s: cited as %s, in the ledger as %s", e.Key, cite, entry.Citation(c.res.Collection))
	}
	if len(e.HitReasons) == 0 {
		c.errorf("%s has no hit reason", e.Key)
	}
	for i, r := range e.HitReasons {
		if slices.Contains(e.HitReasons[:i], r) {
			c.errorf("%s has the hit reason %s twice", e.Key, r)
		}
	}
	want, kind := c.score(entry), exhibit.ScoreFused
	if len(c.res.Ledger.Legs) == 1 {
		kind = c.res.Ledger.Legs[0].Leg
	}
	if r := e.Scores.Rerank; r != nil {
		want, kind = *r, exhibit.ScoreRerank
	}
	if e.Score != want || e.ScoreKind != kind {
		c.errorf("%s: score %v of kind %q, expected %v of %q", e.Key, e.Score, e.ScoreKind, want, kind)
	}
}

// selection chooses again, from ranks alone, and compares. It leaves out answers with candidates that have a docId
// which their key does not show.
func (c *resultCheck) selection() {
	var survivors, refills [][]int // rounds of indices into the entries
	count := map[string]int{}
	put := func(list *[][]int, round, i int) {
		for len(*list) <= round {
			*list = append(*list, nil)
		}
		(*list)[round] = append((*list)[round], i)
	}
	for i, e := range c.res.Ledger.Entries {
		switch e.Reason {
		case exhibit.Unusable, exhibit.BelowThreshold, exhibit.BelowRetrieveK, exhibit.DuplicateOf:
			continue
		}
		if e.Key.Kind() != exhibit.KeyChunk {
			return
		}
		doc := e.Key.DocID()
		if count[doc]++; count[doc] <= c.limit {
			put(&survivors, 0, i)
		} else if c.soft {
			put(&refills, count[doc]-c.limit-1, i)
		} else if e.Reason != exhibit.DocumentCap {
			c.errorf("%s is number %d of its document under a cap of %d, and %s for %q", e.Key, count[doc], c.limit, e.State, e.Reason)
		}
	}
	var chosen []exhibit.Key
	places := 0
	for _, i := range slices.Concat(append(survivors, refills...)...) {
		switch e := c.res.Ledger.Entries[i]; {
		case e.Reason == exhibit.EarlierPage, e.Reason == exhibit.DocumentCap && c.req.Cursor != "":
			continue // a cursor refills nothing
		case places == c.wanted:
			if e.State == exhibit.Returned {
				c.errorf("%s is returned though return-n was reached before it", e.Key)
			}
			continue
		case e.State == exhibit.Returned:
			chosen = append(chosen, e.Key)
		case e.Reason != exhibit.OverBudgetDrop:
			c.errorf("%s is dropped for %q though there was room for it", e.Key, e.Reason)
		}
		places++
	}
	for i, e := range c.res.Evidence {
		if i < len(chosen) && e.Key != chosen[i] {
			c.errorf("block %d is %s, ranks and cap give %s", i+1, e.Key, chosen[i])
		}
	}
}
