package exhibit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// deduplicate keeps, of candidates with one evidence key, the one ranked highest with its content, and merges the
// reasons for which they were hit.
func (run *lookup) deduplicate() {
	first := map[string]*candidate{}
	for _, c := range run.ranked {
		kept, ok := first[c.printed]
		if !ok {
			first[c.printed] = c
			continue
		}
		kept.reasons = mergeStrings(kept.reasons, c.reasons)
		kept.notes = mergeStrings(kept.notes, c.notes)
		if kept.hit.Text != c.hit.Text {
			kept.conflict, c.conflict = true, true
		}
		c.drop(DuplicateOf, kept.key)
	}
}

// capDocuments lets at most max-chunks-per-document candidates of one docId through, by rank. Candidates without a
// docId share no bucket. In soft mode what was capped follows after, round by round: a round gives each document one
// chunk more.
func (run *lookup) capDocuments() {
	limit := run.set.MaxChunksPerDocument.Value
	taken := map[string][]*candidate{}
	var rounds [][]*candidate
	for _, c := range run.ranked {
		if c.reason != "" {
			continue
		}
		if c.docID == "" {
			run.survived = append(run.survived, c)
			continue
		}
		before := taken[c.docID]
		taken[c.docID] = append(before, c)
		if len(before) < limit {
			run.survived = append(run.survived, c)
			continue
		}
		c.drop(DocumentCap, keysOf(before[:limit])...)
		round := len(before) - limit
		if round == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[round] = append(rounds[round], c)
	}
	run.strict = len(run.survived)
	if run.set.CapMode.Value == CapSoft {
		for _, round := range rounds {
			run.survived = append(run.survived, round...)
		}
	}
}

func keysOf(list []*candidate) []Key {
	keys := make([]Key, len(list))
	for i, c := range list {
		keys[i] = c.key
	}
	return keys
}

// page takes the first return-n survivors that no earlier page is done with. Only a first page is refilled from what
// the cap took: a cursor yields what was left over, never what a cap took, and so marks the refills that the first page
// did not reach as done with too.
func (run *lookup) page() error {
	if run.earlier.order != nil && !bytes.Equal(run.earlier.order, run.orderSum()) {
		return cursorError(ErrConflict, "the candidates stand in another order than on the page before", "ask again without the cursor")
	}
	for i, c := range run.survived {
		switch {
		case i >= run.strict && run.earlier.done[i]:
		case run.earlier.done[i]:
			c.drop(EarlierPage)
		case len(run.paged) < run.set.ReturnN.Value:
			c.reason, c.of = "", nil
			run.paged = append(run.paged, c)
		case c.reason == "":
			c.drop(BelowReturnN)
		}
	}
	return nil
}

// finish writes the account and what follows from it: the cursor, and why the answer is short.
func (run *lookup) finish() *LookupResult {
	res := run.res
	for _, c := range inRankOrder(append(slices.Clone(run.ranked), run.gone...)) {
		res.Ledger.Entries = append(res.Ledger.Entries, c.entry(run.legs))
	}
	res.Ledger.close()
	res.NextCursor = run.nextCursor()
	run.tellShort()
	return res
}

// inRankOrder puts candidates in the order of the account: by rank, then what was dropped before it had one, by key
// and store's id.
func inRankOrder(list []*candidate) []*candidate {
	slices.SortStableFunc(list, func(a, b *candidate) int {
		if (a.rank > 0) != (b.rank > 0) {
			if a.rank > 0 {
				return -1
			}
			return 1
		}
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.printed+"\x00"+a.hit.ID, b.printed+"\x00"+b.hit.ID)
	})
	return list
}

func (run *lookup) tellShort() {
	res, wanted := run.res, run.set.ReturnN.Value
	if res.Ledger.Returned >= wanted {
		return
	}
	s := &Short{Wanted: wanted, Returned: res.Ledger.Returned}
	parts := []string{fmt.Sprintf("%d candidates in all", res.Ledger.Retrieved)}
	if res.Ledger.Retrieved == 1 {
		parts[0] = "1 candidate in all"
	}
	count := map[Reason]int{}
	for _, d := range res.Ledger.Dropped {
		count[d.Reason] = d.N
		parts = append(parts, fmt.Sprintf("%d dropped by %s", d.N, d.Reason))
	}
	s.Because = strings.Join(parts, ", ")
	s.Hint = run.shortHint(count)
	res.Short = s
}

// floors names the thresholds that are set.
func (run *lookup) floors() []string {
	var keys []string
	if run.set.MinDense.IsSet() {
		keys = append(keys, KeyMinDense)
	}
	if run.set.MinRerank.IsSet() {
		keys = append(keys, KeyMinRerank)
	}
	return keys
}

// crowding says how few documents hold all candidates, where every candidate names one.
func (run *lookup) crowding() string {
	docs := map[string]bool{}
	for _, c := range run.ranked {
		docs[c.docID] = true
	}
	switch {
	case docs[""]:
		return ""
	case len(docs) == 1:
		return "1 document holds all candidates; "
	}
	return fmt.Sprintf("%d documents hold all candidates; ", len(docs))
}

// budgetHint names the budget that is set and, where nothing is cut yet, the policy.
func (run *lookup) budgetHint() string {
	hint := "raise " + KeyMaxCharacters
	if run.set.MaxTokens.IsSet() {
		hint = "raise " + KeyMaxTokens
	}
	if run.set.Overflow.Value != string(OverflowCut) {
		hint += ", or set " + KeyOverflow + ": cut"
	}
	return hint
}

// shortHint names the setting that would fill the answer.
func (run *lookup) shortHint(count map[Reason]int) string {
	full := false
	for _, l := range run.res.Ledger.Legs {
		full = full || l.Hits >= l.Asked
	}
	switch {
	case count[OverBudgetDrop] > 0:
		return run.budgetHint()
	case count[DocumentCap] > 0:
		if full {
			return run.crowding() + fmt.Sprintf("raise %s to reach further documents, raise %s, or set %s: soft", KeyRetrieveK, KeyMaxChunks, KeyCapMode)
		}
		return run.crowding() + fmt.Sprintf("raise %s or set %s: soft", KeyMaxChunks, KeyCapMode)
	case count[DuplicateOf] > 0 && full:
		return "raise " + KeyRetrieveK
	case count[BelowThreshold] > 0:
		return "lower " + strings.Join(run.floors(), " or ")
	case run.req.Filter != nil:
		return "nothing more passes the filter and answers the question; loosen the filter"
	}
	return ""
}
