// Package project renders evidence as people and language models read it, inside budgets of tokens and characters.
//
// # Formats
//
// "markdown" and "text" give each block a header line with its handle, key, headings and place, a line with its
// citation, and the text inside a fence. "xml" says the same in attributes. "json" is an array of the evidence objects
// of the other interfaces. "terminal" and "terminal-escaped" are for people and have no fence.
//
// # The fence
//
// Retrieved text is data, and whoever wrote it may want it to look like more. In the fenced formats it therefore stands
// between the lines
//
//	<<evidence NONCE>>
//	<</evidence NONCE>>
//
// whose nonce no writer of a document can know. What looks like such a line inside the text gets a backslash between
// its angle brackets; [Unfence] takes it away again and returns the exact texts. JSON needs no fence: its strings are
// one. Headings, titles, sources and docIds come from documents too; each is shown on one line, without control
// characters, and shortened to 120 characters. The citation always holds the whole docId, percent-encoded.
//
// # Budgets
//
// A budget is measured on the whole of what is rendered, framing and markers included, and is never exceeded, at any
// budget. Blocks are taken in the order given. Which ones are taken depends on what becomes of one that does not fit:
//
//   - skip: it is left out, and later smaller ones still get in. What a smaller budget keeps need not be a prefix of
//     what a larger one keeps.
//   - cut: the first that does not fit is cut and ends the answer. One of which not even a beginning fits is left out,
//     and the next is tried.
//   - strict: it ends the answer. What a smaller budget keeps is always a prefix of what a larger one keeps, up to the
//     few tokens by which nonces differ.
//
// A block is cut after a sentence, a row of a table or a line of code; if no first one fits, after a line; and if no
// line fits, between two grapheme clusters, at a space where one is near. A table is never cut inside or directly after
// its header. A block that was cut says so in its framing.
package project

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/tokens"
)

// The formats. The two for a terminal are for people, the others for language models and programs. TerminalEscaped
// shows control characters of retrieved text other than newline and tab as \x1b and the like, so that a document cannot
// steer the terminal; Terminal has the exact bytes.
const (
	Markdown = "markdown"
	Text     = "text"
	XML      = "xml"
	JSON     = "json"
	Terminal = "terminal"

	TerminalEscaped = "terminal-escaped"
)

// Projector renders evidence. It is safe for concurrent use. It loads a tokenizer when it first
// counts tokens, which takes some 20 to 40 ms; the forms for people count them only under a budget of tokens.
type Projector struct {
	counters tokens.Counters
}

var _ exhibit.Projector = (*Projector)(nil)

// New returns a Projector.
func New() *Projector { return &Projector{} }

// Formats returns the names of all formats.
func Formats() []string { return []string{Markdown, XML, Text, JSON, Terminal, TerminalEscaped} }

// Project renders evidence. Every block given is either in Kept or named in Over. A second block of one key is never
// rendered twice: it is in Over with neither tokens nor characters. Blocks that share a source, or even their text, and
// differ in key are all rendered. Nothing of what is given is changed.
//
// Where nothing fits, the text is the form of an empty answer, or "" where even that does not fit. Errors wrap
// ErrInvalid.
func (p *Projector) Project(ctx context.Context, req exhibit.ProjectionRequest, evidence []exhibit.Evidence) (exhibit.Projection, error) {
	f, err := p.fitter(req)
	if err != nil {
		return exhibit.Projection{}, err
	}
	seen := map[string]bool{}
	for i := range evidence {
		if err := ctx.Err(); err != nil {
			return exhibit.Projection{}, err
		}
		if key := evidence[i].Collection + "/" + evidence[i].Key.String(); !evidence[i].Key.IsZero() {
			if seen[key] {
				f.over = append(f.over, exhibit.OverBudget{Index: i, Alone: true})
				continue
			}
			seen[key] = true
		}
		if err := f.add(i, evidence[i]); err != nil {
			return exhibit.Projection{}, err
		}
	}
	return f.finish()
}

func (p *Projector) fitter(req exhibit.ProjectionRequest) (*fitter, error) {
	form, ok := formOf(req.Format)
	switch {
	case !ok:
		return nil, invalid("format", fmt.Sprintf("%q is none of %q", req.Format, Formats()), "use markdown")
	case !slices.Contains([]exhibit.Overflow{"", exhibit.OverflowSkip, exhibit.OverflowCut, exhibit.OverflowStrict}, req.Overflow):
		return nil, invalid(exhibit.KeyOverflow, fmt.Sprintf("%q is none of skip, cut and strict", req.Overflow), "leave it out for skip")
	case !tokens.Known(req.Tokenizer):
		return nil, invalid(exhibit.KeyTokenizer, fmt.Sprintf("%q is none of %q", req.Tokenizer, tokens.Names()), "leave it out for o200k_base")
	case req.MaxTokens < 0:
		return nil, invalid(exhibit.KeyMaxTokens, fmt.Sprintf("%d is not 1 or more", req.MaxTokens), "leave it out for no budget")
	case req.MaxCharacters < 0:
		return nil, invalid(exhibit.KeyMaxCharacters, fmt.Sprintf("%d is not 1 or more", req.MaxCharacters), "leave it out for no budget")
	case form.fenced && len(req.Secret) == 0:
		return nil, invalid("secret", "a fence without one could be forged", "give the request a secret")
	}
	f := &fitter{req: req, form: form}
	if form.counted || req.MaxTokens > 0 {
		counter, err := p.counters.Get(req.Tokenizer)
		if err != nil {
			return nil, err
		}
		f.reported = counter
		if req.MaxTokens > 0 {
			f.counter = counter
		}
	}
	var err error
	if f.frame, err = f.measure(form.open); err != nil {
		return nil, err
	}
	f.zeroNonce, err = f.nonceTokens(zeroNonce)
	return f, err
}

func invalid(source, what, hint string) error {
	return &exhibit.Error{Source: source, Kind: exhibit.ErrInvalid, Err: errors.New(what), Hint: hint}
}

// finish renders what was kept and measures it. The blocks were chosen by sums that are exact as long as no token
// crosses from one into the next; should one ever do, the last block gives way.
func (f *fitter) finish() (exhibit.Projection, error) {
	for {
		text, nonce, err := f.render()
		if err != nil {
			return exhibit.Projection{}, err
		}
		size, err := measure(f.reported, text)
		if err != nil {
			return exhibit.Projection{}, err
		}
		if n := len(f.kept); n > 0 && !f.within(size) {
			over := f.overrun(size)
			over.Index, over.Alone = f.kept[n-1].index, n == 1
			f.over, f.kept = append(f.over, over), f.kept[:n-1]
			continue
		}
		if !f.within(size) {
			text, size = "", size0
		}
		out := exhibit.Projection{Format: f.req.Format, Text: text, Tokens: size.tokens, Characters: size.characters, Nonce: nonce}
		if f.reported != nil {
			out.Tokenizer = f.reported.Name()
		}
		for _, k := range f.kept {
			out.Kept = append(out.Kept, k.evidence)
		}
		slices.SortFunc(f.over, func(a, b exhibit.OverBudget) int { return a.Index - b.Index })
		out.Over = f.over
		return out, nil
	}
}

// render writes all blocks that were kept, under the nonce of exactly these.
func (f *fitter) render() (text, nonce string, err error) {
	if f.form.fenced && len(f.kept) > 0 {
		hashes := make([]string, len(f.kept))
		for i, k := range f.kept {
			hashes[i] = k.evidence.ContentHash
		}
		nonce = Nonce(f.req.Secret, f.req.LookupID, hashes)
	}
	if len(f.kept) == 0 {
		return f.form.empty, "", nil
	}
	var b strings.Builder
	b.WriteString(f.form.open)
	for i, k := range f.kept {
		if i > 0 {
			b.WriteString(f.form.between)
		}
		one, err := f.form.render(&k.block, nonce)
		if err != nil {
			return "", "", err
		}
		b.WriteString(one)
	}
	b.WriteString(f.form.close)
	return b.String(), nonce, nil
}

func characters(s string) int { return utf8.RuneCountInString(s) }
