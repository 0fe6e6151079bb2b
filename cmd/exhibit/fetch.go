package main

import (
	"bufio"
	"context"
	"errors"
	"strings"

	"golang.org/x/term"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/wire"
	"github.com/exhibit-rag/exhibit/local"
)

type fetchCmd struct {
	Names    []string `arg:"" optional:"" name:"name" help:"Evidence keys, citations or docIds; - reads one a line."`
	Document bool     `help:"Print whole documents in their text form; a key then names its document."`
	Raw      bool     `help:"Print the exact bytes of the text and nothing else."`
}

// Run prints chunks or documents.
func (c *fetchCmd) Run(ctx context.Context, a *app) error {
	format, err := a.format("markdown", "xml")
	if err != nil {
		return err
	}
	names, err := a.names(c.Names, "keys")
	if err != nil {
		return err
	}
	env, err := a.environment(nil)
	if err != nil {
		return err
	}
	if c.Document {
		names = documentNames(names)
	}
	store, _, err := a.open(ctx, env, false)
	if err != nil {
		return err
	}
	defer store.Close()
	fetched, err := store.Fetch(ctx, local.FetchRequest{Collection: a.cli.Collection, Names: names})
	if err != nil {
		return err
	}
	return c.print(ctx, a, store, names, format, fetched)
}

// names returns the arguments, or for "-" the lines of standard input.
func (a *app) names(args []string, what string) ([]string, error) {
	if len(args) == 0 {
		return nil, &exhibit.Error{Op: what, Kind: exhibit.ErrInvalid, Err: errors.New("none is named"), Hint: "name one or more, or pipe them in with -, one a line"}
	}
	var out []string
	for _, arg := range args {
		if arg != "-" {
			out = append(out, arg)
			continue
		}
		if term.IsTerminal(int(a.in.Fd())) {
			return nil, &exhibit.Error{Source: "-", Kind: exhibit.ErrInvalid, Err: errors.New("standard input is a terminal"), Hint: "pipe " + what + " in, one a line"}
		}
		lines := bufio.NewScanner(a.in)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if line := strings.TrimRight(lines.Text(), "\r"); line != "" {
				out = append(out, line)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, &exhibit.Error{Source: "standard input", Kind: exhibit.ErrUnreadable, Err: err, Hint: "one key a line, each of less than a MiB"}
		}
	}
	return out, nil
}

// documentNames turns keys and citations into the docIds of their documents.
func documentNames(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n
		if cite, err := exhibit.ParseCitation(n); err == nil && !cite.Key.IsZero() {
			out[i] = exhibit.Citation{Collection: cite.Collection, DocID: cite.Key.DocID()}.String()
		} else if key, err := exhibit.ParseKey(n); err == nil && key.DocID() != "" {
			out[i] = key.DocID()
		}
	}
	return out
}

func (c *fetchCmd) print(ctx context.Context, a *app, store *local.Store, names []string, format string, fetched []local.Fetched) error {
	switch {
	case c.Raw || c.Document && format == "text":
		for _, f := range fetched {
			a.out.WriteString(f.Text)
			if f.Document == nil {
				a.out.WriteString(f.Evidence[0].Text)
			}
		}
		return nil
	case c.Document:
		return c.printDocuments(a, format, fetched)
	}
	var list []exhibit.Evidence
	for _, f := range fetched {
		list = append(list, f.Evidence...)
	}
	switch format {
	case "json":
		return a.printJSON(wire.EvidenceList{Evidence: wire.FromEvidences(list)})
	case "jsonl":
		for _, e := range list {
			if err := a.printLine("evidence", wire.FromEvidence(e)); err != nil {
				return err
			}
		}
		return nil
	case "text":
		format = "terminal"
		if a.out.terminal {
			format = "terminal-escaped"
		}
	}
	p, err := store.Render(ctx, format, names, list)
	if err != nil {
		return err
	}
	return a.printRendered(p.Text)
}

// fetchedDocument is a document with its text form.
type fetchedDocument struct {
	wire.Document
	Text string `json:"text"`
}

func (c *fetchCmd) printDocuments(a *app, format string, fetched []local.Fetched) error {
	var list wire.List[fetchedDocument]
	for _, f := range fetched {
		if f.Document != nil {
			list = append(list, fetchedDocument{wireDocument(*f.Document), f.Text})
		}
	}
	switch format {
	case "json":
		return a.printJSON(struct {
			Documents wire.List[fetchedDocument] `json:"documents"`
		}{list})
	case "jsonl":
		for _, d := range list {
			if err := a.printLine("document", d); err != nil {
				return err
			}
		}
		return nil
	}
	return &exhibit.Error{Source: "-o " + format, Kind: exhibit.ErrInvalid, Err: errors.New("whole documents are not printed as that"), Hint: "with --document formats are text, json, jsonl"}
}
