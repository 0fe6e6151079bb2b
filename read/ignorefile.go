package read

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/exhibit-rag/exhibit/read/internal/ignore"
)

// maxIgnoreFile is the most bytes of an ignore file that are read.
const maxIgnoreFile = 1 << 20

// above returns the stack of the ignore files above the root, up to the top of git's working tree, and sets w.base. Without a working
// tree there are none.
func (w *walker) above() *ignore.Stack {
	abs, err := filepath.Abs(w.root)
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	top := abs
	for {
		if info, err := os.Stat(filepath.Join(top, ".git")); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			break
		}
		up := filepath.Dir(top)
		if up == top {
			return nil
		}
		top = up
	}
	var stack *ignore.Stack
	stack = stack.Push("", list(filepath.Join(top, ".git", "info", "exclude")))
	rel, err := filepath.Rel(top, abs)
	if err != nil || rel == "." {
		return stack
	}
	folder := ""
	for _, part := range strings.Split(filepath.ToSlash(rel), "/") {
		dir := filepath.Join(top, filepath.FromSlash(folder))
		stack = stack.Push(folder, list(filepath.Join(dir, ".gitignore")), list(filepath.Join(dir, ".exhibitignore")))
		folder = strings.TrimPrefix(folder+"/"+part, "/")
	}
	w.base = filepath.ToSlash(rel) + "/"
	return stack
}

// push returns the stack of a folder, that of the folder above if it holds no ignore file.
func (w *walker) push(above *ignore.Stack, folder string, dir []os.DirEntry) *ignore.Stack {
	var git, own ignore.List
	found := false
	for _, d := range dir {
		if d.IsDir() {
			continue
		}
		path := filepath.Join(w.root, filepath.FromSlash(folder), d.Name())
		switch d.Name() {
		case ".gitignore":
			git, found = list(path), true
		case ".exhibitignore":
			own, found = list(path), true
		}
	}
	if !found {
		return above
	}
	return above.Push(strings.TrimSuffix(w.base+folder, "/"), git, own)
}

// list reads an ignore file; one that is missing, no regular file, unreadable or too large ignores nothing.
func list(path string) ignore.List {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return ignore.List{}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ignore.List{}
	}
	return ignore.Parse(string(data))
}
