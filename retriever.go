package exhibit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// DefaultRerankTimeout bounds one call of a reranker.
const DefaultRerankTimeout = 2 * time.Second

// RetrieverOptions are the parts of a Retriever besides its port. The zero value works.
type RetrieverOptions struct {
	Reranker      Reranker      // default: none
	RerankTimeout time.Duration // default 2 s
	Projector     Projector     // default: none; a request with a format is then invalid
	Aliases       Aliases       // further names of docId and chunk index in the hits' metadata; default none
	Revision      string        // the revision of the data that the port answers over; default ""
	Secret        []byte        // keys fences and cursors; default: random, so cursors end with the process
	Warnings      []string      // said in every answer, before the lookup's own; default none
}

// Retriever runs lookups over a KnowledgeSearchPort: it identifies, fuses, reranks, deduplicates, caps and projects
// what the port finds, and accounts for every candidate. It is safe for concurrent use if its port is.
type Retriever struct {
	legs []Leg
	opt  RetrieverOptions
}

// NewRetriever returns a Retriever over a port. A port that is a LegSource is asked leg by leg; any other port is one
// leg, named by Named or else "dense". Options may be nil.
func NewRetriever(port KnowledgeSearchPort, opt *RetrieverOptions) *Retriever {
	r := &Retriever{legs: legsOf(port)}
	if opt != nil {
		r.opt = *opt
	}
	if r.opt.RerankTimeout <= 0 {
		r.opt.RerankTimeout = DefaultRerankTimeout
	}
	if len(r.opt.Secret) == 0 {
		r.opt.Secret = make([]byte, 32)
		rand.Read(r.opt.Secret)
	}
	return r
}

func legsOf(port KnowledgeSearchPort) []Leg {
	if s, ok := port.(LegSource); ok {
		return s.Legs()
	}
	if n, ok := port.(Named); ok {
		return []Leg{{Name: n.LegName(), Port: port}}
	}
	return []Leg{{Name: LegDense, Port: port}}
}

// LookupRequest is one question.
type LookupRequest struct {
	Collection string // default "default"
	Query      string // 1 to MaxQueryBytes bytes of UTF-8
	Settings   LookupSettings
	Filter     *Filter
	Access     *Filter // what the caller may see; nil is everything
	Caller     string  // goes into the lookup's id, so that two callers never share one
	Format     string  // of the projection; "" renders nothing
	Cursor     string  // from an earlier answer: go on with what it left out
}

// Short says that an answer has fewer blocks than rag.return-n, and why.
type Short struct {
	Wanted   int
	Returned int
	Because  string
	Hint     string
}

// Degraded says that a part failed and the lookup went on without it.
type Degraded struct {
	Stage  string
	Port   string
	Cause  string
	Effect string
}

// LookupResult is the answer to one question. Nothing in it is shared with later answers.
type LookupResult struct {
	LookupID   string // 12 hex digits; the same question on the same data has the same id
	Collection string
	Revision   string
	Query      string
	Settings   []Effective
	Evidence   []Evidence // in rank order; what was rendered, where a format was asked for
	Projection *Projection
	NextCursor string // fetches what return-n and the budget left out; "" where that is nothing
	Ledger     Ledger
	Short      *Short
	Degraded   []Degraded
	Warnings   []string
}

// Lookup answers one question. The error wraps ErrInvalid, ErrMalformed, ErrConflict or ErrTooLarge where the request
// is at fault and ErrUnavailable where every leg failed; one failing leg of several, and a failing reranker, are told
// in Degraded instead.
func (r *Retriever) Lookup(ctx context.Context, req LookupRequest) (*LookupResult, error) {
	run, err := r.prepare(req)
	if err != nil {
		return nil, err
	}
	if err := run.recall(ctx); err != nil {
		return nil, err
	}
	if err := run.fuse(ctx); err != nil {
		return nil, err
	}
	run.rerank(ctx, r.opt.Reranker, r.opt.RerankTimeout)
	run.deduplicate()
	run.capDocuments()
	if err := run.page(); err != nil {
		return nil, err
	}
	if err := run.project(ctx, r.opt.Projector); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return run.finish(), nil
}

// lookup is one lookup in progress.
type lookup struct {
	req      LookupRequest
	set      LookupSettings
	opt      *RetrieverOptions
	legs     []Leg
	res      *LookupResult
	base     string // id of the question without its cursor
	earlier  opened
	main     []*candidate // one a key, in no order before fuse
	extra    []*candidate // duplicates inside one leg
	under    []*candidate // hits under the floor of their leg, before their end is known
	gone     []*candidate // dropped before ranking
	ranked   []*candidate // kept at retrieve-k, in rank order
	survived []*candidate // after deduplication and cap: strict ones, then soft refills
	strict   int          // how many of them the cap let through
	paged    []*candidate // chosen for this answer
}

func (r *Retriever) prepare(req LookupRequest) (*lookup, error) {
	if req.Collection == "" {
		req.Collection = DefaultCollection
	}
	if err := errors.Join(CheckCollection(req.Collection), checkQuery(req.Query), req.Filter.Validate(), req.Access.Validate()); err != nil {
		return nil, err
	}
	set, warnings, err := req.Settings.resolve()
	if err != nil {
		return nil, err
	}
	legs, err := r.chooseLegs(set)
	if err != nil {
		return nil, err
	}
	if err := r.checkStages(req, set, legs); err != nil {
		return nil, err
	}
	run := &lookup{req: req, set: set, opt: &r.opt, legs: legs}
	run.res = &LookupResult{
		Collection: req.Collection, Revision: r.opt.Revision, Query: req.Query, Settings: set.effective(),
		Warnings: append(append([]string{}, r.opt.Warnings...), warnings...),
	}
	run.base = run.hash("", "")
	run.res.LookupID = run.hash(r.opt.Revision, req.Cursor)
	run.earlier, err = openCursor(req.Cursor, run.base, r.opt.Revision, r.opt.Secret)
	return run, err
}

func checkQuery(q string) error {
	switch {
	case strings.TrimSpace(q) == "":
		return &Error{Op: "question", Kind: ErrInvalid, Err: errors.New("it is empty"), Hint: "ask with at least one word"}
	case len(q) > MaxQueryBytes:
		return &Error{Op: "question", Kind: ErrTooLarge, Err: fmt.Errorf("%d bytes, the limit is %d", len(q), MaxQueryBytes),
			Hint: "ask one question at a time; a passage to look for can be shortened to its first sentences"}
	case !utf8.ValidString(q):
		return &Error{Op: "question", Kind: ErrInvalid, Err: errors.New("it is not valid UTF-8"), Hint: "convert it to UTF-8"}
	}
	return nil
}

// chooseLegs picks the legs that the search mode names.
func (r *Retriever) chooseLegs(set LookupSettings) ([]Leg, error) {
	if len(r.legs) == 0 {
		return nil, errNoLegs()
	}
	mode := set.SearchMode.Value
	if mode == ModeHybrid {
		return r.legs, nil
	}
	var names []string
	for _, l := range r.legs {
		if l.Name == mode {
			return []Leg{l}, nil
		}
		names = append(names, l.Name)
	}
	return nil, &Error{Source: KeySearchMode, Kind: ErrInvalid,
		Err: fmt.Errorf("%s does not run here; the legs are %q", mode, names), Hint: "leave it out to search with what there is"}
}

// checkStages refuses settings of stages that do not run.
func (r *Retriever) checkStages(req LookupRequest, set LookupSettings, legs []Leg) error {
	if set.MinDense.IsSet() && !hasLeg(legs, LegDense) {
		return invalidSetting(KeyMinDense, "the dense leg does not run", "leave it out, or set rag.search-mode to hybrid or dense")
	}
	if set.MinRerank.IsSet() && (r.opt.Reranker == nil || set.NoRerank) {
		return invalidSetting(KeyMinRerank, "no reranker runs", "leave it out, or configure a reranker")
	}
	budget := set.MaxTokens.IsSet() || set.MaxCharacters.IsSet()
	if req.Format == "" && budget {
		return &Error{Source: KeyMaxTokens, Kind: ErrInvalid, Err: errors.New("a budget of tokens or characters needs a format to be measured on"),
			Hint: "ask for a format: markdown, xml, text or json"}
	}
	if req.Format != "" && r.opt.Projector == nil {
		return &Error{Op: "format " + req.Format, Kind: ErrInvalid, Err: errors.New("nothing renders here"), Hint: "leave the format out, or give the retriever a Projector"}
	}
	return nil
}

func hasLeg(legs []Leg, name string) bool {
	for _, l := range legs {
		if l.Name == name {
			return true
		}
	}
	return false
}

// hash returns 12 hex digits over everything that an answer depends on.
func (run *lookup) hash(revision, cursor string) string {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	put("exhibit lookup 1")
	put(run.req.Caller)
	put(run.req.Collection)
	put(run.req.Query)
	for _, e := range run.res.Settings {
		v, _ := e.Value.MarshalJSON()
		put(e.Key)
		put(string(v))
	}
	put(fmt.Sprint(run.set.NoRerank))
	put(run.req.Format)
	put(run.req.Filter.canonical())
	put(run.req.Access.canonical())
	put(revision)
	put(cursor)
	return hex.EncodeToString(h.Sum(nil))[:12]
}
