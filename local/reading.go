package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/store"
	"github.com/exhibit-rag/exhibit/read"
	"github.com/exhibit-rag/exhibit/read/jsonl"
)

// plan is one root and what a sync will read of it.
type plan struct {
	root     Root
	name     string   // how the store knows the root; "" for single documents
	complete bool     // everything under the root is here: what is missing is gone
	unknown  []string // docId prefixes of folders that could not be read: nothing below them counts as missing
	first    error    // of the first file that could not be read
	entries  []entry
}

// entry is one source of a plan, not read yet.
type entry struct {
	docID string
	path  string // what a person opens
	bad   bool   // it cannot be read, and docID is only how it is shown
	load  func(ctx context.Context) readResult
}

// readResult is what became of one source.
type readResult struct {
	docID, source, root string
	skip                string // why it was passed over
	err                 error
	unchanged           bool
	version             store.Version
	warnings            []string
	nameless            bool // a failure of no document that could be named again
}

// roots returns the roots of this sync: those asked for, or all that were synced before.
func (run *syncRun) roots(ctx context.Context) ([]Root, error) {
	if len(run.req.Roots)+len(run.req.Documents) > 0 || run.req.Lines != nil {
		return run.req.Roots, nil
	}
	stored, err := run.s.disk.Roots(ctx, run.collection)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, storeError("roots", run.collection, err)
	}
	var out []Root
	for _, r := range stored {
		var root Root
		if err := json.Unmarshal([]byte(r.Options), &root); err != nil {
			return nil, &exhibit.Error{Op: "roots", Source: r.Path, Kind: exhibit.ErrCorruptStore, Err: err, Hint: "name the source again: exhibit sync FOLDER"}
		}
		root.Path = run.s.rootPath(r.Path)
		if root.IDRoot != "" {
			root.IDRoot = run.s.rootPath(root.IDRoot)
		}
		if !root.JSONLines && run.req.Include != nil {
			root.Include = run.req.Include
		}
		if !root.JSONLines && run.req.Exclude != nil {
			root.Exclude = run.req.Exclude
		}
		out = append(out, root)
	}
	if len(out) == 0 {
		return nil, &exhibit.Error{Op: "sync", Source: run.collection, Kind: exhibit.ErrInvalid, Err: errors.New("no source is named, and none was synced before"), Hint: "exhibit sync FOLDER"}
	}
	return out, nil
}

// rootName is how the store knows a root: relative to the folder that holds the store where it lies below it, so that
// both can move together; absolute otherwise.
func (s *Store) rootName(path string) string {
	home := filepath.Dir(s.disk.Folder())
	if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func (s *Store) rootPath(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(s.disk.Folder()), filepath.FromSlash(name))
}

// plan lists every source of the roots, before anything is changed. A root that cannot be read, or that has no
// readable file left, is an error, as are two sources of one docId.
func (run *syncRun) plan(ctx context.Context, roots []Root) ([]*plan, error) {
	var plans []*plan
	for _, root := range roots {
		abs, err := filepath.Abs(root.Path)
		if err != nil {
			return nil, err
		}
		root.Path = abs
		p := &plan{root: root, name: run.s.rootName(abs), complete: true}
		if root.JSONLines {
			err = run.planLines(ctx, p, abs, nil)
		} else {
			err = run.planFolder(ctx, p)
		}
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	if run.req.Lines != nil {
		p := &plan{}
		if err := run.planLines(ctx, p, run.req.LinesName, run.req.Lines); err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	if len(run.req.Documents) > 0 {
		plans = append(plans, run.planDocuments())
	}
	return plans, run.claimAll(plans)
}

// planFolder walks a folder or takes a single file.
func (run *syncRun) planFolder(ctx context.Context, p *plan) error {
	files, err := read.Walk(ctx, p.root.Path, &read.WalkOptions{
		IDRoot: p.root.IDRoot, Include: p.root.Include, Exclude: p.root.Exclude, MaxSize: run.s.opt.MaxFileSize, Skip: run.s.disk.Folder(),
	})
	if err != nil {
		return err
	}
	for _, f := range files {
		switch {
		case f.Skip != "":
			run.skip(f.Skip, folderSlash(f))
		case f.Err != nil && f.Dir:
			p.unknown = append(p.unknown, f.DocID+"/")
			fallthrough
		default:
			p.entries = append(p.entries, run.fileEntry(p, f))
		}
	}
	readable, err := run.anyReadable(ctx, p, files)
	if err != nil || readable || run.req.AllowEmpty {
		return err
	}
	return run.noFile(p, files)
}

func folderSlash(f read.Entry) string {
	if f.Dir {
		return f.DocID + "/"
	}
	return f.DocID
}

// anyReadable reports whether at least one file of a root can be read as a document, so that an emptied or wrong
// folder is told apart from a changed one before anything is removed.
func (run *syncRun) anyReadable(ctx context.Context, p *plan, files []read.Entry) (bool, error) {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if f.Skip != "" {
			continue
		}
		if _, had := run.prints[f.DocID]; had && f.Err == nil {
			return true, nil
		}
		data, err := read.File(f, run.s.opt.MaxFileSize)
		if err != nil {
			p.first = firstError(p.first, err)
			continue
		}
		if _, err := run.s.reader.Read(ctx, exhibit.Source{DocID: f.DocID, Path: f.DocID, Data: data}); err != nil {
			p.first = firstError(p.first, err)
			continue
		}
		return true, nil
	}
	return false, nil
}

func firstError(first, err error) error {
	if first != nil {
		return first
	}
	return err
}

// noFile says why a root gives nothing.
func (run *syncRun) noFile(p *plan, files []read.Entry) error {
	what := "there is no file in it"
	switch n := len(p.entries); {
	case n == 1:
		what = "its one file cannot be read: " + p.first.Error()
	case n > 1:
		what = fmt.Sprintf("none of its %d files can be read; the first: %v", n, p.first)
	case len(files) > 0:
		what = fmt.Sprintf("everything in it is passed over; the first is %s: %s", folderSlash(files[0]), files[0].Skip)
	}
	hint := exhibit.HintOf(p.first)
	if hint == "" {
		hint = "name another folder"
	}
	return &exhibit.Error{Op: "sync", Source: p.root.Path, Kind: exhibit.ErrUnreadable, Err: errors.New(what + "; nothing was removed"),
		Hint: hint + "; --allow-empty says that it is meant"}
}

func (run *syncRun) fileEntry(p *plan, f read.Entry) entry {
	return entry{docID: f.DocID, path: f.Path, bad: f.Err != nil, load: func(ctx context.Context) readResult {
		r := readResult{docID: f.DocID, source: f.DocID, root: p.name, err: f.Err}
		if r.err != nil {
			return r
		}
		data, err := read.File(f, run.s.opt.MaxFileSize)
		if err != nil {
			r.err = err
			return r
		}
		run.load(ctx, &r, exhibit.Source{DocID: f.DocID, Path: f.DocID, Data: data})
		return r
	}}
}

func (run *syncRun) planDocuments() *plan {
	p := &plan{}
	for _, src := range run.req.Documents {
		p.entries = append(p.entries, entry{docID: src.DocID, path: src.Path, load: func(ctx context.Context) readResult {
			r := readResult{docID: src.DocID, source: src.Path}
			if r.source == "" {
				r.source = src.DocID
			}
			run.load(ctx, &r, src)
			return r
		}})
	}
	return p
}

// planLines lists the documents of a file of JSON lines. The file is held in memory once, as its documents are.
func (run *syncRun) planLines(ctx context.Context, p *plan, name string, from io.Reader) error {
	if from == nil {
		f, err := os.Open(name)
		if err != nil {
			return &exhibit.Error{Op: "sync", Source: name, Kind: exhibit.ErrUnreadable, Err: err, Hint: "name a file of JSON lines, one document each"}
		}
		defer f.Close()
		from = f
	}
	for doc, err := range jsonl.Documents(ctx, name, from) {
		if ctxErr := ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		id := doc.DocID
		nameless := id == ""
		if nameless {
			// The line may be that of a stored document, so none that is missing now counts as gone.
			id, p.complete = sourceOf(err, name), false
		}
		p.entries = append(p.entries, entry{docID: id, path: name, bad: nameless, load: func(ctx context.Context) readResult {
			r := readResult{docID: id, source: doc.Source, root: p.name, err: err, nameless: nameless && p.name == ""}
			if err == nil {
				run.finish(&r, doc, recordHash(doc), jsonl.Version)
			}
			return r
		}})
	}
	if len(p.entries) == 0 && !run.req.AllowEmpty {
		return &exhibit.Error{Op: "sync", Source: name, Kind: exhibit.ErrUnreadable, Err: errors.New("no document in it; nothing was removed"), Hint: "one JSON object a line, with doc_id and text"}
	}
	return nil
}

// sourceOf is the place that an error names, such as a line of a file.
func sourceOf(err error, otherwise string) string {
	var e *exhibit.Error
	if errors.As(err, &e) && e.Source != "" {
		return e.Source
	}
	return otherwise
}

func recordHash(d exhibit.Document) store.Hash {
	meta, _ := encodeMetadata(d.Metadata)
	fields, _ := json.Marshal([]string{d.Title, d.Source, d.MediaType, meta, d.Text})
	return store.HashText(string(fields))
}

// load reads a source unless its bytes are those that were read before.
func (run *syncRun) load(ctx context.Context, r *readResult, src exhibit.Source) {
	title := ""
	if r.root == "" {
		title = run.req.Titles[src.DocID]
	}
	hash := store.HashText(string(src.Data))
	if title != "" {
		hash = store.HashText(title + "\x00" + string(src.Data))
	}
	if run.same(r, hash, read.Version) {
		return
	}
	doc, err := run.s.reader.Read(ctx, src)
	switch {
	case errors.Is(err, exhibit.ErrUnsupportedMedia) && r.root != "":
		if _, had := run.prints[r.docID]; !had {
			r.skip = reasonOf(err)
			return
		}
		r.err = err
	case err != nil:
		r.err = err
	default:
		if title != "" {
			doc.Title = title
		}
		run.finish(r, doc, hash, read.Version)
	}
}

// same reports whether the stored version of a document was read from the same bytes by the same reader, so that
// nothing need be done.
func (run *syncRun) same(r *readResult, hash store.Hash, reader string) bool {
	old, had := run.prints[r.docID]
	if !had || run.req.Rebuild.Chunks || old.SourceHash != hash || old.Reader != reader {
		return false
	}
	if run.req.Rebuild.Stale && old.ConfigHash != run.s.chunker.Hash() {
		return false
	}
	r.unchanged = true
	if old.Root != r.root || old.Source != r.source {
		r.unchanged = false
	}
	return r.unchanged
}

// finish cuts a document and makes it a version to store.
func (run *syncRun) finish(r *readResult, doc exhibit.Document, hash store.Hash, reader string) {
	if run.same(r, hash, reader) {
		return
	}
	doc.DocID = r.docID
	if doc.Source == "" {
		doc.Source = r.source
	}
	if strings.TrimSpace(doc.Text) == "" {
		r.err = &exhibit.Error{Source: r.docID, Kind: exhibit.ErrNoText, Err: errors.New("no text in it"), Hint: "the version synced earlier, if any, is still served"}
		return
	}
	r.warnings = doc.Warnings
	r.version, r.err = run.s.version(doc, r.root, hash, reader, run.count)
}

// readPlan loads the entries of a plan on several cores and takes the results in order.
func (run *syncRun) readPlan(ctx context.Context, p *plan) error {
	jobs := run.s.opt.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	for e, r := range inOrder(ctx, jobs, slices.Values(p.entries)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !exhibit.ValidDocID(e.docID) && r.err == nil && r.skip == "" {
			r.err = &exhibit.Error{Source: e.path, Kind: exhibit.ErrInvalid, Err: errors.New("the docId is not valid UTF-8 or is empty"), Hint: "give it another docId"}
		}
		if err := run.take(ctx, &r); err != nil {
			return err
		}
	}
	return ctx.Err()
}
