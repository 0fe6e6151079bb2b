package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/term"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/wire"
	"github.com/exhibit-rag/exhibit/local"
)

type listCmd struct {
	Prefix string `placeholder:"P" help:"Only docIds that begin with P."`
	State  string `placeholder:"STATE" help:"current, stale, failed or gone. Default: all but the gone."`
	Limit  int    `placeholder:"N" help:"At most N documents. Default: all."`
	Cursor string `placeholder:"C" help:"Go on after an earlier list."`
}

// Run lists documents.
func (c *listCmd) Run(ctx context.Context, a *app) error {
	format, env, err := a.begin()
	if err != nil {
		return err
	}
	after, err := base64.RawURLEncoding.DecodeString(c.Cursor)
	if err != nil {
		return &exhibit.Error{Op: "cursor", Kind: exhibit.ErrMalformed, Err: errors.New("it cannot be read"), Hint: "pass next_cursor as the earlier list gave it"}
	}
	if c.Limit < 0 {
		return &exhibit.Error{Source: "--limit", Kind: exhibit.ErrInvalid, Err: fmt.Errorf("must be 0 or more, not %d", c.Limit), Hint: "leave it out to list all"}
	}
	store, _, err := a.open(ctx, env, false)
	if err != nil {
		return err
	}
	defer store.Close()
	limit := c.Limit
	if limit > 0 {
		limit++
	}
	rows, err := store.Documents(ctx, local.ListRequest{Collection: a.cli.Collection, Prefix: c.Prefix, State: c.State, After: string(after), Limit: limit})
	if err != nil {
		return err
	}
	next := ""
	if c.Limit > 0 && len(rows) > c.Limit {
		rows = rows[:c.Limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(rows[len(rows)-1].DocID))
	}
	return printDocuments(a, format, rows, next)
}

func printDocuments(a *app, format string, rows []local.DocumentRow, next string) error {
	switch format {
	case "json":
		out := wire.Documents{NextCursor: next}
		for _, d := range rows {
			out.Documents = append(out.Documents, wireDocument(d))
		}
		return a.printJSON(out)
	case "jsonl":
		for _, d := range rows {
			if err := a.printLine("document", wireDocument(d)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, d := range rows {
		fmt.Fprintf(a.out, "%-8s %4d chunks  %s", d.State, d.Chunks, oneLine(d.DocID))
		if d.Title != "" {
			fmt.Fprintf(a.out, "  %s", oneLine(d.Title))
		}
		if d.Reason != "" {
			fmt.Fprintf(a.out, "\n         %s", oneLine(d.Reason))
		}
		a.out.WriteByte('\n')
	}
	if next != "" {
		fmt.Fprintf(a.out, "more: --cursor %s\n", next)
	}
	return nil
}

func wireDocument(d local.DocumentRow) wire.Document {
	return wire.Document{DocID: d.DocID, Source: d.Source, Title: d.Title, MediaType: d.MediaType, ContentHash: d.ContentHash, Chunks: d.Chunks,
		State: d.State, Reason: d.Reason, Hint: d.Hint, SyncedAt: wire.Time(d.SyncedAt), Metadata: d.Metadata}
}

type deleteCmd struct {
	DocIDs []string `arg:"" name:"doc-id" help:"docIds of the documents; - reads one a line."`
	Yes    bool     `help:"Do not ask; needed where there is no terminal."`
}

// Run removes documents, asking first.
func (c *deleteCmd) Run(ctx context.Context, a *app) error {
	format, env, err := a.begin()
	if err != nil {
		return err
	}
	ids, err := a.names(c.DocIDs, "docIds")
	if err != nil {
		return err
	}
	if !c.Yes {
		if err := a.confirm(fmt.Sprintf("delete %s from %s?", someOf(ids, false), a.cli.Collection)); err != nil {
			return err
		}
	}
	if !env.exists {
		_, _, err := a.open(ctx, env, false)
		return err
	}
	store, _, err := a.open(ctx, env, true)
	if err != nil {
		return err
	}
	defer store.Close()
	report, err := store.Delete(ctx, a.cli.Collection, ids)
	if err != nil {
		return err
	}
	return a.printReport(format, report, false)
}

func (a *app) confirm(question string) error {
	if !term.IsTerminal(int(a.in.Fd())) {
		return &exhibit.Error{Op: "delete", Kind: exhibit.ErrInvalid, Err: errors.New("there is no terminal to ask on"), Hint: "pass --yes"}
	}
	fmt.Fprintf(a.err, "%s [y/N] ", oneLine(question))
	answer, _ := bufio.NewReader(a.in).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return &exhibit.Error{Op: "delete", Kind: exhibit.ErrConflict, Err: errors.New("not confirmed; nothing was deleted"), Hint: "answer y, or pass --yes"}
	}
	return nil
}

type statusCmd struct{}

// Run prints the state of a collection.
func (c *statusCmd) Run(ctx context.Context, a *app) error {
	format, env, err := a.begin()
	if err != nil {
		return err
	}
	store, _, err := a.open(ctx, env, false)
	if err != nil {
		return err
	}
	defer store.Close()
	st, err := store.Status(ctx, a.cli.Collection)
	if err != nil {
		return err
	}
	switch format {
	case "json":
		return a.printJSON(wireStatus(st))
	case "jsonl":
		return a.printLine("collection", wireStatus(st))
	}
	model := "no vectors"
	if st.Model != "" {
		model = fmt.Sprintf("%s, %d dimensions", st.Model, st.Dimension)
	}
	fmt.Fprintf(a.out, "collection  %s\nrevision    %s\ndocuments   %d (%d stale, %d failed)\nchunks      %d (%d without a vector)\nmodel       %s\nchunker     %s\nanalyser    %s\nformat      %d\nsize        %s\nstore       %s\n",
		st.Collection, st.Revision, st.Documents, st.Stale, st.Failed, st.Chunks, st.WithoutVector, model, st.Chunker, st.Analyser, st.Format, size(st.SizeBytes), oneLine(env.folder))
	return a.printTroubles(ctx, store)
}

// printTroubles names stale and failed documents.
func (a *app) printTroubles(ctx context.Context, store *local.Store) error {
	for _, state := range []string{local.StateStale, local.StateFailed} {
		rows, err := store.Documents(ctx, local.ListRequest{Collection: a.cli.Collection, State: state})
		if err != nil {
			return err
		}
		var ids []string
		for _, d := range rows {
			ids = append(ids, d.DocID)
		}
		if len(ids) > 0 {
			fmt.Fprintf(a.out, "%-11s %s\n", state, someOf(ids, a.cli.Verbose))
		}
	}
	return nil
}

func wireStatus(st local.Status) wire.Collection {
	return wire.Collection{Name: st.Collection, Revision: st.Revision, Documents: st.Documents, Chunks: st.Chunks, ChunksWithoutVector: st.WithoutVector,
		StaleDocuments: st.Stale, FailedDocuments: st.Failed, SizeBytes: &st.SizeBytes,
		Stamps: wire.Stamps{Format: fmt.Sprint(st.Format), Chunker: st.Chunker, Analyser: st.Analyser, Model: st.Model, Dimension: st.Dimension}}
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
