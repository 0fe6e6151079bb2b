package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/wire"
	"github.com/exhibit-rag/exhibit/local"
)

type lookupCmd struct {
	Query     string   `arg:"" optional:"" help:"The question; - reads it from standard input."`
	In        []string `placeholder:"SOURCE" sep:"none" help:"Sync this folder or file first, into a store of its own in the user's cache folder; may be repeated."`
	Queries   string   `placeholder:"FILE" help:"Ask every question of a BEIR queries.jsonl; prints jsonl."`
	RetrieveK *string  `name:"retrieve-k" placeholder:"N" help:"Candidates asked of each leg. Default 20."`
	ReturnN   *string  `name:"return-n" placeholder:"N" help:"Most evidence blocks. Default 5."`
	MaxChunks *string  `name:"max-chunks-per-document" placeholder:"N" help:"Most blocks of one document. Default 2."`
	CapMode   *string  `name:"cap-mode" placeholder:"MODE" help:"strict or soft."`
	Mode      *string  `name:"search-mode" placeholder:"MODE" help:"hybrid, lexical or dense."`
	Fusion    *string  `name:"fusion" placeholder:"HOW" help:"score or rrf."`
	Filter    []string `placeholder:"KEY=VALUE" sep:"none" help:"Only documents with this metadata; also != > >= < <= ~ (contains) ^= (starts with); repeated = and."`
	FilterRaw string   `name:"filter-json" placeholder:"JSON" help:"A filter in its JSON form."`
	MinScore  []string `name:"min-score" placeholder:"STAGE=X" sep:"none" help:"Floor of dense or rerank scores."`
	MaxTokens *string  `name:"max-tokens" placeholder:"N" help:"Budget of the rendered answer in tokens."`
	MaxChars  *string  `name:"max-characters" placeholder:"N" help:"Budget of the rendered answer in characters."`
	Overflow  *string  `placeholder:"HOW" help:"skip, cut or strict."`
	Cursor    string   `placeholder:"C" help:"Go on with what an earlier answer left out."`
	Ledger    bool     `help:"Print what became of every candidate."`
}

// Run answers one question, or a file of them.
func (c *lookupCmd) Run(ctx context.Context, a *app) error {
	format, err := a.format("markdown", "xml")
	if err != nil {
		return err
	}
	if len(c.In) > 0 && !a.storeNamed() {
		if a.cli.Store, err = a.cacheStore(c.In); err != nil {
			return err
		}
	}
	env, err := a.environment(c.flags)
	if err != nil {
		return err
	}
	requests, err := c.requests(a, env, format)
	if err != nil {
		return err
	}
	if len(c.In) > 0 {
		if err := c.syncFirst(ctx, a, env); err != nil {
			return err
		}
	}
	store, _, err := a.open(ctx, env, false)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, r := range requests {
		res, err := store.Lookup(ctx, r.req)
		if err != nil {
			return err
		}
		if err := c.print(a, format, r.id, res); err != nil {
			return err
		}
	}
	return nil
}

func (c *lookupCmd) flags(s settings, p *problems) {
	for _, f := range []struct {
		flag, key string
		raw       *string
	}{
		{"retrieve-k", exhibit.KeyRetrieveK, c.RetrieveK}, {"return-n", exhibit.KeyReturnN, c.ReturnN},
		{"max-chunks-per-document", exhibit.KeyMaxChunks, c.MaxChunks}, {"cap-mode", exhibit.KeyCapMode, c.CapMode},
		{"search-mode", exhibit.KeySearchMode, c.Mode}, {"fusion", exhibit.KeyFusion, c.Fusion},
		{"max-tokens", exhibit.KeyMaxTokens, c.MaxTokens}, {"max-characters", exhibit.KeyMaxCharacters, c.MaxChars},
		{"overflow", exhibit.KeyOverflow, c.Overflow},
	} {
		s.loadFlag(f.flag, f.key, f.raw, p)
	}
	for _, m := range c.MinScore {
		stage, raw, ok := strings.Cut(m, "=")
		if !ok || stage != "dense" && stage != "rerank" {
			p.add("--min-score "+m, exhibit.ErrInvalid, "it takes dense=X or rerank=X", "a floor on a fused score has no meaning")
			continue
		}
		s.loadFlag("min-score "+stage, "rag.min-score."+stage, &raw, p)
	}
}

// asked is one question and its id in a file of questions.
type asked struct {
	id  string
	req exhibit.LookupRequest
}

func (c *lookupCmd) requests(a *app, env *environment, format string) ([]asked, error) {
	filter, err := parseFilters(c.Filter, c.FilterRaw)
	if err != nil {
		return nil, err
	}
	base := exhibit.LookupRequest{Collection: a.cli.Collection, Settings: env.set.lookup(), Filter: filter, Cursor: c.Cursor}
	switch format {
	case "text":
		base.Format = "terminal"
		if a.out.terminal {
			base.Format = "terminal-escaped"
		}
	case "markdown", "xml":
		base.Format = format
	default:
		if base.Settings.MaxTokens.IsSet() || base.Settings.MaxCharacters.IsSet() {
			base.Format = "json"
		}
	}
	if c.Queries != "" {
		if c.Query != "" || c.Cursor != "" {
			return nil, &exhibit.Error{Op: "questions", Kind: exhibit.ErrInvalid, Err: errors.New("--queries and a question or a cursor were given"), Hint: "give the file alone, or one question"}
		}
		return c.fromFile(base)
	}
	from, why := c.Query, "it is empty"
	if from == "" {
		why = "there is none"
		if a.piped() {
			from = "-"
		}
	}
	if base.Query, err = a.readArgument(from, "question", 1<<20); err != nil {
		return nil, err
	}
	if from == "-" {
		base.Query = strings.TrimRight(strings.TrimPrefix(base.Query, "\ufeff"), "\r\n")
	}
	if strings.TrimSpace(base.Query) == "" {
		return nil, &exhibit.Error{Op: "question", Kind: exhibit.ErrInvalid, Err: errors.New(why), Hint: `exhibit lookup "your question", or pipe it in with -`}
	}
	return []asked{{req: base}}, nil
}

// fromFile reads BEIR's queries.jsonl.
func (c *lookupCmd) fromFile(base exhibit.LookupRequest) ([]asked, error) {
	f, err := os.Open(c.Queries)
	if err != nil {
		return nil, &exhibit.Error{Op: "questions", Source: c.Queries, Kind: exhibit.ErrUnreadable, Err: errors.New(plainPathError(err)), Hint: "name a readable file of JSON lines"}
	}
	defer f.Close()
	var out []asked
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var q struct {
			ID   string `json:"_id"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil || q.ID == "" {
			return nil, &exhibit.Error{Op: "questions", Source: fmt.Sprintf("%s:%d", c.Queries, n), Kind: exhibit.ErrMalformed, Err: errors.New("not a question"), Hint: `a line looks like {"_id":"q1","text":"how long is parental leave?"}`}
		}
		one := base
		one.Query = q.Text
		out = append(out, asked{q.ID, one})
	}
	if err := lines.Err(); err != nil {
		return nil, &exhibit.Error{Op: "questions", Source: c.Queries, Kind: exhibit.ErrUnreadable, Err: err, Hint: "one question a line, each of less than a MiB"}
	}
	return out, nil
}

// syncFirst brings the sources of --in into step. Under another writer it leaves the store as it is and says so.
func (c *lookupCmd) syncFirst(ctx context.Context, a *app, env *environment) error {
	for _, s := range c.In {
		if _, err := os.Stat(s); err != nil {
			return noSuchSource(s, err)
		}
	}
	var roots []local.Root
	for _, s := range c.In {
		roots = append(roots, local.Root{Path: s, Include: env.set.strings("sync.include"), Exclude: env.set.strings("sync.exclude")})
	}
	// Where there is an answer already, another writer is waited for only as long as a sync without changes takes.
	full := env.set.duration("store.lock-timeout")
	for _, wait := range []time.Duration{min(full, lookupLockTimeout), full} {
		env.lockTimeout = &wait
		err := a.syncFirst(ctx, env, roots)
		if !errors.Is(err, exhibit.ErrUnavailable) {
			return err
		}
		if a.hasCollection(ctx, env) {
			a.warn("%v; answering from the last revision", err)
			return nil
		}
		if wait == full {
			return err
		}
	}
	return nil
}

// lookupLockTimeout is how long a lookup that could answer already waits for another writer.
const lookupLockTimeout = time.Second

// hasCollection reports whether the store can be asked already.
func (a *app) hasCollection(ctx context.Context, env *environment) bool {
	store, _, err := a.open(ctx, env, false)
	if err != nil {
		return false
	}
	defer store.Close()
	_, err = store.Status(ctx, a.cli.Collection)
	return err == nil
}

func (c *lookupCmd) print(a *app, format, id string, res *exhibit.LookupResult) error {
	mode := wire.LedgerFull
	switch {
	case c.Queries != "" || format == "jsonl":
		return c.printLines(a, id, res)
	case format == "json":
		return a.printJSON(wire.FromLookup(res, mode))
	}
	if res.Projection != nil {
		if err := a.printRendered(res.Projection.Text); err != nil {
			return err
		}
	}
	c.printAccount(a, format, res)
	return nil
}

func (c *lookupCmd) printLines(a *app, id string, res *exhibit.LookupResult) error {
	w := wire.FromLookup(res, wire.LedgerFull)
	if c.Queries != "" {
		return a.printLine("lookup", struct {
			QueryID string `json:"query_id"`
			wire.LookupResult
		}{id, w})
	}
	for _, e := range w.Evidence {
		if err := a.printLine("evidence", e); err != nil {
			return err
		}
	}
	c.printWarnings(a, res)
	if err := a.printLine("ledger", w.Ledger); err != nil {
		return err
	}
	return a.printLine("answer", answerLine{w.LookupID, w.Collection, w.Revision, w.Query, w.Settings, w.Omitted, w.NextCursor, w.Short, w.Degraded, w.Warnings})
}

// answerLine is what an answer says beside its evidence and its ledger, the last line of jsonl.
type answerLine struct {
	LookupID   string                   `json:"lookup_id"`
	Collection string                   `json:"collection"`
	Revision   string                   `json:"revision"`
	Query      string                   `json:"query"`
	Settings   wire.Settings            `json:"settings"`
	Omitted    wire.List[wire.Omitted]  `json:"omitted"`
	NextCursor string                   `json:"next_cursor,omitempty"`
	Short      *wire.Short              `json:"short,omitempty"`
	Degraded   wire.List[wire.Degraded] `json:"degraded"`
	Warnings   wire.List[string]        `json:"warnings"`
}

// printAccount prints, after the evidence, the ledger line, what was left out, and what to know. For people it stands
// on standard output; beside a rendered projection it goes to standard error, so that the output is the projection
// alone.
func (c *lookupCmd) printAccount(a *app, format string, res *exhibit.LookupResult) {
	var b strings.Builder
	b.WriteString(res.Ledger.String())
	if s := res.Short; s != nil {
		fmt.Fprintf(&b, "; short of %d: %s", s.Wanted, s.Because)
	}
	b.WriteByte('\n')
	if s := res.Short; s != nil && s.Hint != "" {
		fmt.Fprintf(&b, "hint: %s\n", s.Hint)
	}
	if c.Ledger {
		writeLedger(&b, &res.Ledger)
	} else {
		writeOmitted(&b, &res.Ledger)
	}
	if res.NextCursor != "" {
		fmt.Fprintf(&b, "more: --cursor %s\n", res.NextCursor)
	}
	text := b.String()
	if format == "text" {
		if len(res.Evidence) > 0 {
			a.out.WriteByte('\n')
		}
		a.out.WriteString(a.paint("2", strings.TrimSuffix(text, "\n")) + "\n")
	} else if !a.cli.Quiet {
		a.out.Flush()
		fmt.Fprint(a.err, text)
	}
	c.printWarnings(a, res)
}

func (c *lookupCmd) printWarnings(a *app, res *exhibit.LookupResult) {
	for _, d := range res.Degraded {
		a.warn("degraded: %s %s: %s; %s", d.Stage, d.Port, d.Cause, d.Effect)
	}
	for _, w := range res.Warnings {
		a.warn("%s", w)
	}
}

// writeOmitted names what was left out, by reason.
func writeOmitted(b *strings.Builder, l *exhibit.Ledger) {
	for _, count := range l.Dropped {
		var keys []string
		for _, e := range l.Entries {
			if e.Reason == count.Reason && !e.Key.IsZero() {
				keys = append(keys, oneLine(e.Key.String()))
			}
		}
		if len(keys) > 0 {
			fmt.Fprintf(b, "left out: %s (%s)\n", strings.Join(keys, ", "), count.Reason)
		}
	}
}

// writeLedger prints one line a candidate.
func writeLedger(b *strings.Builder, l *exhibit.Ledger) {
	for _, leg := range l.Legs {
		fmt.Fprintf(b, "leg %s: asked %d, %d hits", leg.Leg, leg.Asked, leg.Hits)
		if leg.WithoutVector != nil && *leg.WithoutVector > 0 {
			fmt.Fprintf(b, ", %d chunks without a vector", *leg.WithoutVector)
		}
		if leg.Error != "" {
			fmt.Fprintf(b, ", failed: %s", oneLine(leg.Error))
		}
		b.WriteByte('\n')
	}
	for _, e := range l.Entries {
		rank := "-"
		if e.Rank > 0 {
			rank = strconv.Itoa(e.Rank)
		}
		fmt.Fprintf(b, "%4s  %-18s %s", rank, stateOf(e), oneLine(e.Key.String()))
		if e.Scores.Fused != nil {
			fmt.Fprintf(b, "  fused %.3f", *e.Scores.Fused)
		}
		for _, s := range e.Scores.Legs {
			fmt.Fprintf(b, "  %s %.3f", s.Leg, s.Score)
			if s.Rank > 0 {
				fmt.Fprintf(b, " #%d", s.Rank)
			}
		}
		for _, of := range e.Of {
			fmt.Fprintf(b, "  of %s", oneLine(of.String()))
		}
		for _, note := range e.Notes {
			fmt.Fprintf(b, "  (%s)", oneLine(note))
		}
		b.WriteByte('\n')
	}
}

func stateOf(e exhibit.Entry) string {
	if e.State == exhibit.Returned {
		return string(exhibit.Returned)
	}
	return string(e.Reason)
}
