package house

import (
	"path"
	"slices"
	"strings"
)

// layers is the order of the house, lowest first. A package belongs to the longest prefix that fits; imports go to the
// same layer or down.
func layers() []struct {
	name     string
	prefixes []string
} {
	return []struct {
		name     string
		prefixes []string
	}{
		{"leaf", []string{"internal/", "models/e5small"}},
		{"root", []string{"."}},
		{"wire", []string{"internal/wire"}},
		{"adapter", []string{"read", "embed", "engine", "rerank", "project", "verify", "eval", "exhibittest"}},
		{"assembly", []string{"local"}},
		{"server", []string{"internal/httpd", "internal/mcpd", "internal/web"}},
		{"command", []string{"cmd", "models/e5small/convert", "internal/bert/asmgen", "examples"}},
	}
}

// upward are the imports that go up all the same, each with its reason.
func upward() map[[2]string]string {
	return map[[2]string]string{}
}

func layerOf(dir string) (level int, name string) {
	best := -1
	level = -1
	for i, l := range layers() {
		for _, p := range l.prefixes {
			fits := dir == p || strings.HasPrefix(dir, strings.TrimSuffix(p, "/")+"/")
			if p == "." {
				fits = dir == "."
			}
			if fits && len(p) > best {
				best, level, name = len(p), i, l.name
			}
		}
	}
	return level, name
}

func dirOf(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// Rule 1: imports go down only. Tests may reach what they test with.
func importsGoDown(r *tree, errorf reporter) {
	used := map[[2]string]bool{}
	for _, s := range r.sources {
		from, name := layerOf(s.dir)
		if from < 0 {
			errorf("%s: the package has no layer: put %s into the table", s.path, s.dir)
			continue
		}
		for _, p := range s.imports() {
			if s.test || external(p) || p != module && !strings.HasPrefix(p, module+"/") {
				continue
			}
			to, target := layerOf(dirOf(p))
			pair := [2]string{s.dir, dirOf(p)}
			if to > from && upward()[pair] == "" {
				errorf("%s: %s package imports %s package %s", s.path, name, target, dirOf(p))
			}
			used[pair] = true
		}
	}
	for pair := range upward() {
		if !used[pair] {
			errorf("the exception %v is used no longer", pair)
		}
	}
}

// Rule 4: the root links nothing but the standard library and leaves.
func rootLinksNoOtherModule(r *tree, errorf reporter) {
	for _, s := range r.sources {
		for _, p := range s.imports() {
			if s.dir == "." && !s.test && external(p) {
				errorf("%s imports %s", s.path, p)
			}
		}
	}
}

// The weights are 70 MB in every binary that links them.
func weightsAreImportedByFew(r *tree, errorf reporter) {
	allowed := []string{"local", "cmd", "models/e5small"}
	for _, s := range r.sources {
		if !slices.Contains(s.imports(), module+"/models/e5small") {
			continue
		}
		if !slices.ContainsFunc(allowed, func(dir string) bool { return s.dir == dir || strings.HasPrefix(s.dir, dir+"/") }) {
			errorf("%s imports models/e5small, which only %q may", s.path, allowed)
		}
	}
}

// A parser of a format, and what else belongs to one part of the house, has one importer, with the folders below it; a
// library without one is for tests, or was weighed and left out.
func parsersHaveOneImporter(r *tree, errorf reporter) {
	owners := map[string][]string{
		"github.com/yuin/goldmark":                     {"read/markdown"},
		"codeberg.org/readeck/go-readability":          {"read/html"},
		"github.com/JohannesKaufmann/html-to-markdown": {"read/html"},
		"github.com/saintfish/chardet":                 {"read/internal/charset"},
		"github.com/sabhiram/go-gitignore":             {"read/internal/ignore", "read"},
		"modernc.org/sqlite":                           {"internal/store"},
		"github.com/alecthomas/kong":                   {"cmd"},
		"github.com/tiktoken-go/tokenizer":             {"internal/tokens"},
		"github.com/blevesearch/snowballstem":          {"internal/analysis"},
		"github.com/gabriel-vasile/mimetype":           {"read"},
		"golang.org/x/term":                            {"cmd"},
		"github.com/edsrzf/mmap-go":                    {"internal/store", "internal/lexical", "internal/vector", "internal/weights"},
		"golang.org/x/text/encoding":                   {"read/internal/charset"},
		"github.com/rogpeppe/go-internal/testscript":   {},
		"github.com/google/go-cmp":                     {},
		"pgregory.net/rapid":                           {},
		"github.com/stretchr/testify":                  {},
		"github.com/golang/mock":                       {},
		"github.com/pkoukk/tiktoken-go":                {},
		"github.com/mattn/go-sqlite3":                  {},
	}
	for _, s := range r.sources {
		for _, p := range s.imports() {
			for parser, dirs := range owners {
				mine := slices.ContainsFunc(dirs, func(dir string) bool { return s.dir == dir || strings.HasPrefix(s.dir, dir+"/") })
				if (p == parser || strings.HasPrefix(p, parser+"/")) && !s.test && !mine {
					errorf("%s imports %s; %q may", s.path, p, dirs)
				}
			}
		}
	}
}

// Rule 7: no package is a drawer for what has no place.
func packageNames(r *tree, errorf reporter) {
	banned := []string{"util", "utils", "common", "helper", "helpers", "model", "models", "types", "misc", "shared", "base", "lib", "tools"}
	for _, s := range r.sources {
		name := strings.TrimSuffix(s.ast.Name.Name, "_test")
		if slices.Contains(banned, name) {
			errorf("%s: package %s", s.path, name)
		}
		if name != "main" && s.dir != "." && name != path.Base(s.dir) {
			errorf("%s: package %s in the folder %s", s.path, name, s.dir)
		}
	}
}
