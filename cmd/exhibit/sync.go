package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/wire"
	"github.com/exhibit-rag/exhibit/local"
)

type syncCmd struct {
	Sources     []string `arg:"" optional:"" help:"Files and folders; - reads one document from standard input. None: every source synced before."`
	JSONLines   []string `name:"jsonl" placeholder:"FILE" sep:"none" help:"JSON lines, one document each: doc_id or _id, text, title?, source?, metadata?. - is standard input."`
	IDRoot      string   `name:"id-root" placeholder:"DIR" help:"docIds are paths relative to DIR. Default: the source."`
	Include     []string `placeholder:"GLOB" sep:"none" help:"Read only these files; may be repeated."`
	Exclude     []string `placeholder:"GLOB" sep:"none" help:"Leave these files out; may be repeated."`
	DocID       string   `name:"doc-id" placeholder:"ID" help:"docId of the document on standard input."`
	MediaType   string   `name:"media-type" placeholder:"TYPE" help:"Type of the document on standard input, such as text/markdown."`
	Title       string   `placeholder:"T" help:"Title of the document on standard input. Default: what is found in it."`
	KeepMissing bool     `name:"keep-missing" help:"Keep documents whose source disappeared."`
	AllowEmpty  bool     `name:"allow-empty" help:"A source without a readable file is meant, and empties it."`
	DryRun      bool     `name:"dry-run" help:"Tell what would be done, and change nothing."`
	Rebuild     []string `placeholder:"WHAT" help:"chunks, vectors or index, or several with commas: make them again."`
	Jobs        int      `placeholder:"N" help:"Files read at once. Default: one a core."`
}

// Run syncs and prints the report. It exits 1 where a source failed.
func (c *syncCmd) Run(ctx context.Context, a *app) error {
	format, err := a.format()
	if err != nil {
		return err
	}
	env, err := a.environment(func(s settings, p *problems) {
		for _, f := range []struct {
			flag, key string
			values    []string
		}{{"include", "sync.include", c.Include}, {"exclude", "sync.exclude", c.Exclude}} {
			if row, ok := find(f.key); ok && len(f.values) > 0 {
				s.put(row, value{list: f.values, from: exhibit.FromFlag, place: "--" + f.flag}, p)
			}
		}
	})
	if err != nil {
		return err
	}
	if err := c.checkFlags(); err != nil {
		return err
	}
	req, err := c.request(a, env)
	if err != nil {
		return err
	}
	if err := c.checkSources(req.Collection, env.exists); err != nil {
		return err
	}
	if c.DryRun && !env.exists {
		scratch, err := os.MkdirTemp("", "exhibit-dry-run")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		env.folder = filepath.Join(scratch, storeName)
	}
	a.jobs = c.Jobs
	report, err := a.sync(ctx, env, req)
	if err != nil {
		return err
	}
	return a.printReport(format, report, c.DryRun)
}

// checkFlags refuses flags that would go without effect.
func (c *syncCmd) checkFlags() error {
	stdin := 0
	for _, s := range append(append([]string{}, c.Sources...), c.JSONLines...) {
		if s == "-" {
			stdin++
		}
	}
	wrong := func(flag, what, hint string) error {
		return &exhibit.Error{Source: flag, Kind: exhibit.ErrInvalid, Err: errors.New(what), Hint: hint}
	}
	document := slices.Contains(c.Sources, "-")
	switch {
	case stdin > 1:
		return wrong("-", "standard input can be read once only", "sync one of them from a file")
	case c.DocID != "" && !document:
		return wrong("--doc-id "+c.DocID, "it names the document on standard input, and none is read", "exhibit sync - --doc-id ID; docIds of files are their paths")
	case c.MediaType != "" && !document:
		return wrong("--media-type "+c.MediaType, "it is the type of the document on standard input, and none is read", "exhibit sync - --doc-id ID --media-type TYPE")
	case c.Title != "" && !document:
		return wrong("--title", "it is the title of the document on standard input, and none is read", "exhibit sync - --doc-id ID --title T")
	case c.Jobs < 0:
		return wrong(fmt.Sprintf("--jobs=%d", c.Jobs), "must be 1 or more", "leave it out for one a core")
	case len(c.Sources)+len(c.JSONLines) == 0 && (c.IDRoot != "" || len(c.Include)+len(c.Exclude) > 0):
		return wrong("--id-root, --include, --exclude", "they go with a source, and none is named", "name the folder again: exhibit sync FOLDER --exclude GLOB")
	}
	return nil
}

// checkSources looks at the sources before anything is opened, so that a misspelled or forgotten path leaves no folder
// behind, which lookups from below it would take for their store.
func (c *syncCmd) checkSources(collection string, exists bool) error {
	if len(c.Sources)+len(c.JSONLines) == 0 && !exists {
		return noSource(collection)
	}
	for _, s := range append(append([]string{}, c.Sources...), c.JSONLines...) {
		if s == "-" {
			continue
		}
		if _, err := os.Stat(s); err != nil {
			return noSuchSource(s, err)
		}
	}
	return nil
}

// noSource is what the store itself says of a sync without sources.
func noSource(collection string) error {
	return &exhibit.Error{Op: "sync", Source: collection, Kind: exhibit.ErrInvalid, Err: errors.New("no source is named, and none was synced before"), Hint: "exhibit sync FOLDER"}
}

func noSuchSource(path string, err error) error {
	return &exhibit.Error{Op: "sync", Source: path, Kind: exhibit.ErrUnreadable, Err: errors.New(plainPathError(err)), Hint: "name a folder or file that is there"}
}

// plainPathError is the cause of a file error without the path, which stands before it already.
func plainPathError(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (c *syncCmd) request(a *app, env *environment) (local.SyncRequest, error) {
	req := local.SyncRequest{Collection: a.cli.Collection, KeepMissing: c.KeepMissing, AllowEmpty: c.AllowEmpty, DryRun: c.DryRun,
		Include: env.set.strings("sync.include"), Exclude: env.set.strings("sync.exclude")}
	for _, list := range c.Rebuild {
		switch list {
		case "chunks":
			req.Rebuild.Chunks = true
		case "vectors":
			req.Rebuild.Vectors = true
		case "index":
			req.Rebuild.Index = true
		default:
			return req, &exhibit.Error{Source: "--rebuild " + list, Kind: exhibit.ErrInvalid, Err: errors.New("there is nothing of this name to rebuild"), Hint: "chunks, vectors or index"}
		}
	}
	for _, s := range c.Sources {
		if s != "-" {
			req.Roots = append(req.Roots, local.Root{Path: s, IDRoot: c.IDRoot, Include: env.set.strings("sync.include"), Exclude: env.set.strings("sync.exclude")})
			continue
		}
		if c.DocID == "" {
			return req, &exhibit.Error{Source: "-", Kind: exhibit.ErrInvalid, Err: errors.New("a document on standard input needs a docId"), Hint: "--doc-id ID"}
		}
		data, err := a.readArgument("-", "the document", env.set.bytes("sync.max-file-size"))
		if err != nil {
			return req, err
		}
		if title := strings.Join(strings.Fields(c.Title), " "); title != "" {
			req.Titles = map[string]string{c.DocID: title}
		}
		req.Documents = append(req.Documents, exhibit.Source{DocID: c.DocID, Path: c.DocID, MediaType: c.MediaType, Data: []byte(data)})
	}
	for _, f := range c.JSONLines {
		if f != "-" {
			req.Roots = append(req.Roots, local.Root{Path: f, JSONLines: true})
			continue
		}
		if term.IsTerminal(int(a.in.Fd())) {
			return req, &exhibit.Error{Source: "--jsonl -", Kind: exhibit.ErrInvalid, Err: errors.New("standard input is a terminal"), Hint: "pipe JSON lines in"}
		}
		req.Lines, req.LinesName = a.in, "standard input"
	}
	return req, nil
}

func (a *app) printReport(format string, r *local.SyncReport, dry bool) error {
	w := wireReport(r)
	var err error
	switch format {
	case "json":
		err = a.printJSON(w)
	case "jsonl":
		err = a.printLine("report", w)
	default:
		a.printReportText(r, dry)
	}
	if err == nil && r.Documents.Failed > 0 {
		err = errJudged
	}
	return err
}

func wireReport(r *local.SyncReport) wire.SyncReport {
	w := wire.SyncReport{Collection: r.Collection, Revision: r.Revision, Documents: wire.DocumentCounts(r.Documents),
		Chunks: wire.ChunkCounts(r.Chunks), Removed: r.Removed, Warnings: r.Warnings}
	for _, f := range r.Failures {
		w.Failures = append(w.Failures, wire.Failure{DocID: f.DocID, Source: f.Source, Code: string(f.Code), Reason: f.Reason, Hint: f.Hint})
	}
	for _, s := range r.Skipped {
		w.Skipped = append(w.Skipped, wire.Skipped{Reason: s.Reason, DocIDs: s.Files})
	}
	return w
}

func (a *app) printReportText(r *local.SyncReport, dry bool) {
	d, c := r.Documents, r.Chunks
	if dry {
		fmt.Fprint(a.out, "nothing was changed; a sync would do this\n")
	}
	fmt.Fprintf(a.out, "%s: %d added, %d changed, %d unchanged, %d removed, %d failed\n", r.Collection, d.Added, d.Changed, d.Unchanged, d.Removed, d.Failed)
	if !dry {
		fmt.Fprintf(a.out, "chunks: %d kept, %d changed, %d new, %d removed, %d embedded\n", c.Kept, c.Changed, c.New, c.Removed, c.Embedded)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(a.out, "failed: %s: %s\n", oneLine(f.DocID), oneLine(f.Reason))
		if f.Hint != "" {
			fmt.Fprintf(a.out, "        %s\n", oneLine(f.Hint))
		}
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(a.out, "skipped: %d for %s: %s\n", len(s.Files), oneLine(s.Reason), someOf(s.Files, a.cli.Verbose))
	}
	if a.cli.Verbose || dry {
		for _, id := range r.Removed {
			fmt.Fprintf(a.out, "removed: %s\n", oneLine(id))
		}
	}
	for _, w := range r.Warnings {
		a.warn("%s", w)
	}
}

// someOf lists a few names, or all of them.
func someOf(names []string, all bool) string {
	const few = 3
	shown := names
	if !all && len(names) > few {
		shown = names[:few]
	}
	lines := make([]string, len(shown))
	for i, n := range shown {
		lines[i] = oneLine(n)
	}
	s := strings.Join(lines, ", ")
	if len(shown) < len(names) {
		s += fmt.Sprintf(" and %d more (-v lists them)", len(names)-len(shown))
	}
	return s
}
