package exhibit

import (
	"fmt"
	"strings"
)

// State is where a candidate ended.
type State string

// The two states.
const (
	Returned State = "returned"
	Dropped  State = "dropped"
)

// Reason says why a candidate was dropped.
type Reason string

// The reasons, in the order of the stages that give them. The list is closed.
const (
	Unusable       Reason = "unusable"         // neither id nor text
	BelowThreshold Reason = "below-threshold"  // under rag.min-score.dense or rag.min-score.rerank
	BelowRetrieveK Reason = "below-retrieve-k" // ranked after rag.retrieve-k in the fused list
	DuplicateOf    Reason = "duplicate-of"     // a higher-ranked candidate has the same evidence key
	DocumentCap    Reason = "document-cap"     // enough higher-ranked chunks of its document
	BelowReturnN   Reason = "below-return-n"   // ranked after rag.return-n
	EarlierPage    Reason = "earlier-page"     // answered for on the pages before the cursor: delivered, or too large for the budget even alone
	OverBudgetDrop Reason = "over-budget"      // did not fit the projection's budget
)

// Reasons returns all reasons in the order of the stages.
func Reasons() []Reason {
	return []Reason{Unusable, BelowThreshold, BelowRetrieveK, DuplicateOf, DocumentCap, BelowReturnN, EarlierPage, OverBudgetDrop}
}

// LegReport is the account of one leg.
type LegReport struct {
	Leg           string
	Asked         int  // at most this many hits
	Hits          int  // this many came
	WithoutVector *int // chunks that this leg cannot find yet, where it says so
	Error         string
}

// Entry is the account of one candidate.
type Entry struct {
	Key      Key    // zero for an unusable hit
	HitID    string // where one leg gave the same key twice: the store's id of this hit
	State    State
	Reason   Reason
	Of       []Key // the candidates that it lost against
	Weak     bool  // its key was made from the text alone
	Conflict bool  // another candidate of the same key holds other text
	Rank     int   // from 1 in the order that the last scoring stage gave; 0 where it was dropped before
	Scores   Scores
	Notes    []string // what was odd about its identity

	contentHash string
	over        OverBudget
}

// Citation returns the durable citation of the candidate in a collection.
func (e *Entry) Citation(collection string) Citation { return Cite(collection, e.Key, e.contentHash) }

// Over returns by how much the candidate would have overrun the budget; zero unless it was dropped as over-budget.
func (e *Entry) Over() (tokens, characters int) { return e.over.Tokens, e.over.Characters }

// Count is how many candidates were dropped for one reason.
type Count struct {
	Reason Reason
	N      int
}

// Ledger is the account of one lookup: what became of every candidate.
type Ledger struct {
	Legs      []LegReport
	Retrieved int
	Returned  int
	Dropped   []Count // reasons that occur, in the order of the stages
	Entries   []Entry // in rank order, what was dropped before ranking last
}

// DroppedTotal returns how many candidates were dropped.
func (l *Ledger) DroppedTotal() int {
	n := 0
	for _, c := range l.Dropped {
		n += c.N
	}
	return n
}

// Check reports an account that does not add up: every candidate ends in exactly one state with one reason, and
// retrieved = returned + dropped.
func (l *Ledger) Check() error {
	count := map[Reason]int{}
	returned := 0
	for _, e := range l.Entries {
		switch {
		case e.State == Returned && e.Reason == "":
			returned++
		case e.State == Dropped && e.Reason != "":
			count[e.Reason]++
		default:
			return fmt.Errorf("candidate %s is %q for %q", e.Key, e.State, e.Reason)
		}
	}
	if returned != l.Returned || len(l.Entries) != l.Retrieved {
		return fmt.Errorf("%d entries of which %d returned, account says %d and %d", len(l.Entries), returned, l.Retrieved, l.Returned)
	}
	for _, c := range l.Dropped {
		if count[c.Reason] != c.N || c.N == 0 {
			return fmt.Errorf("%d entries dropped as %s, account says %d", count[c.Reason], c.Reason, c.N)
		}
		delete(count, c.Reason)
	}
	if len(count) > 0 {
		return fmt.Errorf("reasons missing from the account: %v", count)
	}
	if l.Retrieved != l.Returned+l.DroppedTotal() {
		return fmt.Errorf("%d retrieved is not %d returned + %d dropped", l.Retrieved, l.Returned, l.DroppedTotal())
	}
	return nil
}

// String prints the account as one line: "3 retrieved = 2 returned + 1 dropped (document-cap 1)".
func (l *Ledger) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d retrieved = %d returned + %d dropped", l.Retrieved, l.Returned, l.DroppedTotal())
	for i, c := range l.Dropped {
		if i == 0 {
			b.WriteString(" (")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", c.Reason, c.N)
	}
	if len(l.Dropped) > 0 {
		b.WriteByte(')')
	}
	return b.String()
}

// close fills the counts from the entries.
func (l *Ledger) close() {
	count := map[Reason]int{}
	l.Retrieved = len(l.Entries)
	l.Returned = 0
	for _, e := range l.Entries {
		if e.State == Returned {
			l.Returned++
		} else {
			count[e.Reason]++
		}
	}
	l.Dropped = nil
	for _, r := range Reasons() {
		if count[r] > 0 {
			l.Dropped = append(l.Dropped, Count{r, count[r]})
		}
	}
}
