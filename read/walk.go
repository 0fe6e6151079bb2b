package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/read/internal/ignore"
)

// DefaultMaxSize is the size in bytes above which a file is not read.
const DefaultMaxSize = 64 << 20

// WalkOptions says which files of a folder are listed. Nil and the zero value mean the defaults.
type WalkOptions struct {
	// IDRoot is the folder that docIds are relative to; default the folder that is walked, or that of the single file. What is walked
	// must lie in it.
	IDRoot string
	// Include lists globs of which a file must match one; default all files. Exclude lists globs of files and folders to leave out.
	// In a glob * and ? match within a folder and ** across folders; it is matched against the path relative to the root, or, without a
	// slash in it, against the name alone.
	Include, Exclude []string
	// MaxSize is the most bytes of a file; default DefaultMaxSize. A larger file is an Entry with an error.
	MaxSize int64
	// Hidden lists hidden files and folders too, those whose names begin with a dot. The folders .git and .exhibit are never entered.
	Hidden bool
	// Skip is the path of one folder to leave out without a word, that of the store; default none.
	Skip string
}

// Entry is a file to be read, or a file or folder that is not.
type Entry struct {
	// DocID is the slash path relative to the id root. In one with Err or Skip, bytes that are not UTF-8 stand as \xNN.
	DocID   string
	Path    string // what to open: the root as it was given, and the path below it
	Size    int64  // bytes
	ModTime time.Time
	// Dir says that the entry is a folder: of documents below its DocID the walk knows nothing.
	Dir bool
	// Skip says why the file or folder is passed over, which is no failure: one of the Skip constants; "" for all else.
	Skip string
	// Err says why the entry cannot be read: it wraps exhibit.ErrUnreadable, ErrTooLarge or ErrInvalid (the name).
	Err error
}

// Why a file or folder is passed over.
const (
	SkipIgnored  = "ignored by .gitignore or .exhibitignore"
	SkipExcluded = "excluded by the settings"
	SkipHidden   = "hidden"
	SkipInternal = "internal to git or exhibit"
	SkipLink     = "a link to a folder, to a file that is read itself, out of the folder, or to nothing"
	SkipSpecial  = "a pipe, socket or device"
)

// Walk lists the files below root, or root itself if it is a file, in byte order of their docIds; and in their places the files and
// folders that are passed over or cannot be read. It opens none but ignore files.
//
// A file or folder is ignored as git would: by the .gitignore of its folder, of those above it up to the root, and, if the root lies in a
// working tree of git, of those up to the top of that tree, and by that tree's info/exclude. Files .exhibitignore have the same syntax and
// win over all of these. A root given by name is never ignored.
//
// Links: one to a file inside the root is an entry unless its target is one; all other links are skipped. So a walk enters no folder twice.
//
// The error wraps exhibit.ErrUnreadable where root is missing or unreadable, and exhibit.ErrInvalid where options are wrong.
func Walk(ctx context.Context, root string, opt *WalkOptions) ([]Entry, error) {
	w, err := newWalker(root, opt)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, rootError(root, err)
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return nil, rootError(root, errors.New("neither a file nor a folder"))
		}
		w.entry(filepath.Base(root), root, info)
		return w.out, nil
	}
	dir, err := os.ReadDir(root)
	if err != nil {
		return nil, rootError(root, err)
	}
	if err := w.folder(ctx, "", dir, w.above()); err != nil {
		return nil, err
	}
	w.followLinks()
	slices.SortFunc(w.out, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.DocID, b.DocID), strings.Compare(a.Path, b.Path))
	})
	return w.out, nil
}

type walker struct {
	root   string // as given
	prefix string // of docIds: from the id root to the root, with a final slash if not empty
	base   string // the same from the top of git's working tree, for ignore files
	opt    WalkOptions
	out    []Entry
	links  []string // slash paths of links
	store  string   // absolute path of WalkOptions.Skip
}

func newWalker(root string, opt *WalkOptions) (*walker, error) {
	w := &walker{root: root}
	if opt != nil {
		w.opt = *opt
	}
	if w.opt.MaxSize == 0 {
		w.opt.MaxSize = DefaultMaxSize
	}
	if w.opt.MaxSize < 0 {
		return nil, &exhibit.Error{Source: "sync.max-file-size", Kind: exhibit.ErrInvalid, Err: fmt.Errorf("%d is below 0", w.opt.MaxSize), Hint: "leave it out for 64MiB"}
	}
	if w.opt.Skip != "" {
		abs, err := filepath.Abs(w.opt.Skip)
		if err != nil {
			return nil, err
		}
		w.store = abs
	}
	if w.opt.IDRoot == "" {
		return w, nil
	}
	folder := root
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		folder = filepath.Dir(root)
	}
	rel, err := relative(w.opt.IDRoot, folder)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, &exhibit.Error{Source: root, Kind: exhibit.ErrInvalid, Err: fmt.Errorf("it does not lie in the id root %s", w.opt.IDRoot), Hint: "give a folder above it as --id-root"}
	}
	if rel != "." {
		w.prefix = rel + "/"
	}
	return w, nil
}

// relative returns the slash path from one folder to another, both absolute and free of links where that can be had.
func relative(from, to string) (string, error) {
	clean := func(p string) (string, error) {
		abs, err := filepath.Abs(p)
		if err != nil {
			return "", err
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			return real, nil
		}
		return abs, nil
	}
	from, err := clean(from)
	if err != nil {
		return "", err
	}
	if to, err = clean(to); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(from, to)
	return filepath.ToSlash(rel), err
}

func rootError(root string, err error) error {
	e := &exhibit.Error{Op: "read", Source: root, Kind: exhibit.ErrUnreadable, Err: cause(err), Hint: "check its permissions"}
	if errors.Is(err, fs.ErrNotExist) {
		e.Hint = "check the path; what was synced from it earlier is kept"
	}
	return e
}

// cause strips the path that file errors repeat.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// folder lists what is in the folder with the given slash path, "" for the root.
func (w *walker) folder(ctx context.Context, folder string, dir []os.DirEntry, above *ignore.Stack) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stack := w.push(above, folder, dir)
	for _, d := range dir {
		rel := d.Name()
		if folder != "" {
			rel = folder + "/" + d.Name()
		}
		path := filepath.Join(w.root, filepath.FromSlash(folder), d.Name())
		if reason := w.skips(rel, d, stack); reason != "" {
			w.out = append(w.out, Entry{DocID: w.prefix + printable(rel), Path: path, Dir: d.IsDir(), Skip: reason})
			continue
		}
		switch {
		case d.IsDir() && w.store != "" && w.isStore(path):
		case !utf8.ValidString(d.Name()):
			w.fail(rel, path, d.IsDir(), &exhibit.Error{Op: "read", Source: fmt.Sprintf("%q", rel), Kind: exhibit.ErrInvalid,
				Err: errors.New("its name is not valid UTF-8"), Hint: "rename it, or exclude it"})
		case d.IsDir():
			inner, err := os.ReadDir(path)
			if err != nil {
				w.fail(rel, path, true, unreadable(path, err))
				continue
			}
			if err := w.folder(ctx, rel, inner, stack); err != nil {
				return err
			}
		case d.Type()&fs.ModeSymlink != 0:
			w.links = append(w.links, rel)
		default:
			info, err := d.Info()
			if err != nil {
				w.fail(rel, path, false, unreadable(path, err))
				continue
			}
			w.entry(rel, path, info)
		}
	}
	return nil
}

// skips returns why a file or folder is not to be listed, or "".
func (w *walker) skips(rel string, d os.DirEntry, stack *ignore.Stack) string {
	name := d.Name()
	switch {
	case d.IsDir() && (name == ".git" || name == ".exhibit"):
		return SkipInternal
	case strings.HasPrefix(name, ".") && !w.opt.Hidden:
		return SkipHidden
	case d.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice|fs.ModeCharDevice|fs.ModeIrregular) != 0:
		return SkipSpecial
	case stack.Ignored(w.base+rel, d.IsDir()):
		return SkipIgnored
	case matchAny(w.opt.Exclude, rel) || !d.IsDir() && len(w.opt.Include) > 0 && !matchAny(w.opt.Include, rel):
		return SkipExcluded
	}
	return ""
}

func matchAny(globs []string, rel string) bool {
	for _, g := range globs {
		if ignore.Glob(strings.TrimSuffix(g, "/"), rel) {
			return true
		}
	}
	return false
}

// isStore tells whether a folder is the one to leave out.
func (w *walker) isStore(path string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && abs == w.store
}

// printable writes bytes that are not UTF-8 as \xNN.
func printable(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, name[i])
		} else {
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

func (w *walker) fail(rel, path string, dir bool, err error) {
	w.out = append(w.out, Entry{DocID: w.prefix + printable(rel), Path: path, Dir: dir, Err: err})
}

func (w *walker) entry(rel, path string, info fs.FileInfo) {
	if !utf8.ValidString(rel) {
		w.fail(rel, path, false, &exhibit.Error{Op: "read", Source: fmt.Sprintf("%q", rel), Kind: exhibit.ErrInvalid,
			Err: errors.New("its name is not valid UTF-8"), Hint: "rename it, or exclude it"})
		return
	}
	e := Entry{DocID: w.prefix + rel, Path: path, Size: info.Size(), ModTime: info.ModTime()}
	if e.Size > w.opt.MaxSize {
		e.Err = tooLarge(path, e.Size, w.opt.MaxSize)
	}
	w.out = append(w.out, e)
}

func tooLarge(path string, size, limit int64) error {
	return &exhibit.Error{Op: "read", Source: path, Kind: exhibit.ErrTooLarge,
		Err: fmt.Errorf("%d bytes are more than the %d of sync.max-file-size", size, limit), Hint: "split it, exclude it, or raise sync.max-file-size"}
}

func unreadable(path string, err error) error {
	return &exhibit.Error{Op: "read", Source: path, Kind: exhibit.ErrUnreadable, Err: cause(err), Hint: "check its permissions, or exclude it"}
}

// followLinks lists the links to files inside the root that are not listed themselves, as when the files stand in a hidden folder.
func (w *walker) followLinks() {
	if len(w.links) == 0 {
		return
	}
	real, err := filepath.EvalSymlinks(w.root)
	if err != nil {
		real = w.root
	}
	listed := map[string]bool{}
	for _, e := range w.out {
		if e.Skip != "" || e.Err != nil {
			continue
		}
		if rel, err := filepath.Rel(w.root, e.Path); err == nil {
			listed[filepath.Join(real, rel)] = true
		}
	}
	slices.Sort(w.links)
	for _, rel := range w.links {
		path := filepath.Join(w.root, filepath.FromSlash(rel))
		target, err := filepath.EvalSymlinks(path)
		if err == nil {
			var info fs.FileInfo
			if info, err = os.Stat(target); err == nil && info.Mode().IsRegular() && inside(real, target) && !listed[target] {
				listed[target] = true
				w.entry(rel, path, info)
				continue
			}
		}
		w.out = append(w.out, Entry{DocID: w.prefix + rel, Path: path, Skip: SkipLink})
	}
}

func inside(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
