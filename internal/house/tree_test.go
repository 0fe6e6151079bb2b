package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/exhibit-rag/exhibit"

// source is one Go file of the module.
type source struct {
	path string // from the repository's root, with slashes
	dir  string // "." for the root package
	test bool
	ast  *ast.File
	fset *token.FileSet
}

// main reports whether the file belongs to a command.
func (s *source) main() bool { return s.ast.Name.Name == "main" }

// at prints where a node stands.
func (s *source) at(n ast.Node) string {
	p := s.fset.Position(n.Pos())
	return s.path + ":" + strconv.Itoa(p.Line)
}

// tree is the repository as the rules read it.
type tree struct {
	root    string
	files   []string // everything that is tracked, with slashes
	sources []*source
}

// load reads the repository once for all tests.
var load = sync.OnceValues(readTree)

func repository(t *testing.T) *tree {
	t.Helper()
	r, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readTree() (*tree, error) {
	_, file, _, _ := runtime.Caller(0)
	r := &tree{root: filepath.Join(filepath.Dir(file), "..", "..")}
	var err error
	if r.files, err = listFiles(r.root); err != nil {
		return nil, err
	}
	for _, p := range r.files {
		if path.Ext(p) != ".go" || slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return part == "testdata" || part[0] == '.' || part[0] == '_' }) {
			continue
		}
		s := &source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), fset: token.NewFileSet()}
		if s.ast, err = parser.ParseFile(s.fset, filepath.Join(r.root, p), nil, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		r.sources = append(r.sources, s)
	}
	return r, nil
}

// listFiles lists what git tracks and has not lost, or, outside a checkout, every file that is not hidden. Nested
// modules are left out: they have rules of their own.
func listFiles(root string) ([]string, error) {
	var list []string
	os.Stat(filepath.Join(root, ".git", "index")) // go test then knows that a cached pass ends with the next commit
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err == nil && len(out) > 0 {
		list = strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	} else {
		err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != root {
				return filepath.SkipDir
			}
			if rel, relErr := filepath.Rel(root, p); err == nil && relErr == nil && d.Type().IsRegular() {
				list = append(list, filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var nested []string
	for _, p := range list {
		if path.Base(p) == "go.mod" && p != "go.mod" {
			nested = append(nested, path.Dir(p)+"/")
		}
	}
	return slices.DeleteFunc(list, func(p string) bool {
		if slices.ContainsFunc(nested, func(dir string) bool { return strings.HasPrefix(p, dir) }) {
			return true
		}
		info, err := os.Lstat(filepath.Join(root, p))
		return err != nil || !info.Mode().IsRegular()
	}), nil
}

// read returns the text of a file of the repository, and "" where it is not there.
func (r *tree) read(p string) string {
	data, err := os.ReadFile(filepath.Join(r.root, p))
	if err != nil {
		return ""
	}
	return string(data)
}

// imports returns the paths that a file imports.
func (s *source) imports() []string {
	var list []string
	for _, i := range s.ast.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			list = append(list, p)
		}
	}
	return list
}

// external reports whether an import path is of another module.
func external(p string) bool {
	return strings.Contains(strings.SplitN(p, "/", 2)[0], ".") && p != module && !strings.HasPrefix(p, module+"/")
}
