package wire

import "github.com/exhibit-rag/exhibit"

// LedgerMode says how much of the account is written.
type LedgerMode string

// How much of the account is written.
const (
	LedgerFull   LedgerMode = "full"   // with one entry a candidate
	LedgerCounts LedgerMode = "counts" // the counts alone
)

// LookupResult is the answer to one question.
type LookupResult struct {
	LookupID   string         `json:"lookup_id"`
	Collection string         `json:"collection"`
	Revision   string         `json:"revision"`
	Query      string         `json:"query"`
	Settings   Settings       `json:"settings"`
	Evidence   List[Evidence] `json:"evidence"`
	Projection *Projection    `json:"projection,omitempty"`
	Omitted    List[Omitted]  `json:"omitted"`
	NextCursor string         `json:"next_cursor,omitempty"`
	Ledger     Ledger         `json:"ledger"`
	Short      *Short         `json:"short,omitempty"`
	Degraded   List[Degraded] `json:"degraded"`
	Warnings   List[string]   `json:"warnings"`
}

// Setting is the effective value of one setting and where it came from.
type Setting struct {
	Key   string        `json:"-"`
	Value exhibit.Value `json:"value"`
	From  string        `json:"from"`
}

// Settings is written as an object by key, in the order given.
type Settings []Setting

// MarshalJSON writes the settings as one object.
func (s Settings) MarshalJSON() ([]byte, error) {
	members := make([]member, len(s))
	for i, one := range s {
		members[i] = member{one.Key, one}
	}
	return marshalMembers(members)
}

// Projection is the evidence as rendered. Tokens and Tokenizer are absent where nothing was counted.
type Projection struct {
	Format     string `json:"format"`
	Text       string `json:"text"`
	BlockCount int    `json:"block_count"`
	Tokens     *int   `json:"tokens,omitempty"`
	Tokenizer  string `json:"tokenizer,omitempty"`
	Characters int    `json:"characters"`
	Nonce      string `json:"nonce,omitempty"`
}

// Omitted names a candidate that is not in the answer.
type Omitted struct {
	EvidenceKey string  `json:"evidence_key"`
	Citation    string  `json:"citation"`
	Reason      string  `json:"reason"`
	OverBy      *OverBy `json:"over_by,omitempty"`
}

// OverBy is by how much a candidate overran a budget; what it did not overrun is absent.
type OverBy struct {
	Tokens     int `json:"tokens,omitempty"`
	Characters int `json:"characters,omitempty"`
	Blocks     int `json:"blocks,omitempty"`
}

// Ledger is the account of one lookup.
type Ledger struct {
	Legs      List[Leg]     `json:"legs"`
	Retrieved int           `json:"retrieved"`
	Returned  int           `json:"returned"`
	Dropped   Dropped       `json:"dropped"`
	Entries   []LedgerEntry `json:"entries,omitzero"`
}

// Leg is the account of one leg.
type Leg struct {
	Leg           string `json:"leg"`
	Asked         int    `json:"asked"`
	Hits          int    `json:"hits"`
	WithoutVector *int   `json:"without_vector,omitempty"`
	Error         string `json:"error,omitempty"`
}

// Dropped is written as an object from reason to count, in the order of the stages.
type Dropped []exhibit.Count

// MarshalJSON writes the counts as one object.
func (d Dropped) MarshalJSON() ([]byte, error) {
	members := make([]member, len(d))
	for i, c := range d {
		members[i] = member{string(c.Reason), c.N}
	}
	return marshalMembers(members)
}

// LedgerEntry is the account of one candidate.
type LedgerEntry struct {
	EvidenceKey string   `json:"evidence_key,omitempty"`
	HitID       string   `json:"hit_id,omitempty"`
	State       string   `json:"state"`
	Reason      string   `json:"reason,omitempty"`
	Of          []string `json:"of,omitempty"`
	Weak        bool     `json:"weak,omitempty"`
	Conflict    bool     `json:"conflict,omitempty"`
	Rank        int      `json:"rank,omitempty"`
	Scores      Scores   `json:"scores,omitzero"`
	Notes       []string `json:"notes,omitempty"`
}

// Short says that an answer has fewer blocks than were asked for, and why.
type Short struct {
	Wanted   int    `json:"wanted"`
	Returned int    `json:"returned"`
	Because  string `json:"because"`
	Hint     string `json:"hint,omitempty"`
}

// Degraded says that a part failed and the lookup went on without it.
type Degraded struct {
	Stage  string `json:"stage"`
	Port   string `json:"port"`
	Cause  string `json:"cause"`
	Effect string `json:"effect"`
}

// FromLookup converts an answer. The ledger has its entries in every mode but LedgerCounts.
func FromLookup(r *exhibit.LookupResult, mode LedgerMode) LookupResult {
	w := LookupResult{
		LookupID: r.LookupID, Collection: r.Collection, Revision: r.Revision, Query: r.Query,
		Settings: FromSettings(r.Settings), Evidence: FromEvidences(r.Evidence), Projection: fromProjection(r.Projection),
		Omitted: omitted(r), NextCursor: r.NextCursor, Ledger: FromLedger(&r.Ledger, mode), Warnings: r.Warnings,
	}
	if r.Short != nil {
		short := Short(*r.Short)
		w.Short = &short
	}
	for _, d := range r.Degraded {
		w.Degraded = append(w.Degraded, Degraded(d))
	}
	return w
}

// FromSettings converts effective settings, keeping their order.
func FromSettings(list []exhibit.Effective) Settings {
	out := make(Settings, len(list))
	for i, e := range list {
		out[i] = Setting{e.Key, e.Value, string(e.From)}
	}
	return out
}

func fromProjection(p *exhibit.Projection) *Projection {
	if p == nil {
		return nil
	}
	w := &Projection{Format: p.Format, Text: p.Text, BlockCount: len(p.Kept), Tokenizer: p.Tokenizer, Characters: p.Characters, Nonce: p.Nonce}
	if p.Tokenizer != "" {
		tokens := p.Tokens
		w.Tokens = &tokens
	}
	return w
}

// omitted lists what was found and is not in the answer, in the ledger's order. A second hit of a key whose text is
// the same is not left out: it is in the answer, or listed, under that key.
func omitted(r *exhibit.LookupResult) List[Omitted] {
	var out List[Omitted]
	beyond, ranked := 0, !refilled(r.Settings)
	for i := range r.Ledger.Entries {
		e := &r.Ledger.Entries[i]
		if e.State != exhibit.Dropped || e.Key.IsZero() || e.Reason == exhibit.DuplicateOf && !e.Conflict {
			continue
		}
		o := Omitted{EvidenceKey: e.Key.String(), Citation: e.Citation(r.Collection).String(), Reason: string(e.Reason)}
		var by OverBy
		switch e.Reason {
		case exhibit.OverBudgetDrop:
			by.Tokens, by.Characters = e.Over()
		case exhibit.BelowReturnN:
			if beyond++; ranked {
				by.Blocks = beyond
			}
		}
		if by != (OverBy{}) {
			o.OverBy = &by
		}
		out = append(out, o)
	}
	return out
}

// refilled reports whether capped chunks may follow, so that the order of what return-n left out is not that of rank.
func refilled(settings []exhibit.Effective) bool {
	for _, s := range settings {
		if s.Key == exhibit.KeyCapMode {
			return s.Value.Text() == exhibit.CapSoft
		}
	}
	return false
}

// FromLedger converts an account.
func FromLedger(l *exhibit.Ledger, mode LedgerMode) Ledger {
	w := Ledger{Retrieved: l.Retrieved, Returned: l.Returned, Dropped: Dropped(l.Dropped)}
	for _, leg := range l.Legs {
		w.Legs = append(w.Legs, Leg(leg))
	}
	if mode == LedgerCounts {
		return w
	}
	w.Entries = make([]LedgerEntry, len(l.Entries))
	for i, e := range l.Entries {
		w.Entries[i] = LedgerEntry{
			EvidenceKey: e.Key.String(), HitID: e.HitID, State: string(e.State), Reason: string(e.Reason),
			Weak: e.Weak, Conflict: e.Conflict, Rank: e.Rank, Scores: FromScores(e.Scores), Notes: e.Notes,
		}
		for _, of := range e.Of {
			w.Entries[i].Of = append(w.Entries[i].Of, of.String())
		}
	}
	return w
}
