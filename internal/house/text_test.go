package house

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Every module that the code imports is in the list of dependencies, by its path.
func dependenciesAreNamed(r *tree, errorf reporter) {
	awaited := map[string]string{
		"github.com/dlclark/regexp2/v2": "an oracle of tests; the tokenizer, which is named, brings it",
	}
	page := r.read("docs/dependencies.md")
	if page == "" {
		errorf("docs/dependencies.md is not there")
		return
	}
	var modules []string
	for line := range strings.Lines(r.read("go.mod")) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(f) >= 2 && strings.HasPrefix(f[1], "v") && strings.Contains(f[0], ".") {
			modules = append(modules, f[0])
			if !strings.Contains(line, "// indirect") && !names(page, f[0]) && awaited[f[0]] == "" {
				errorf("go.mod requires %s, which docs/dependencies.md does not name", f[0])
			}
		}
	}
	seen := map[string]bool{}
	for _, s := range r.sources {
		for _, p := range s.imports() {
			if !external(p) {
				continue
			}
			m := ""
			for _, candidate := range modules {
				if (p == candidate || strings.HasPrefix(p, candidate+"/")) && len(candidate) > len(m) {
					m = candidate
				}
			}
			if m == "" {
				errorf("%s imports %s, which is of no module in go.mod", s.path, p)
			} else if !seen[m] && !names(page, m) && awaited[m] == "" {
				errorf("%s imports %s, whose module %s docs/dependencies.md does not name", s.path, p, m)
			}
			seen[m] = true
		}
	}
}

// names reports whether a page names a module by its whole path.
func names(page, module string) bool {
	return regexp.MustCompile(`(^|[^\w./-])` + regexp.QuoteMeta(module) + `($|[^\w./-]|\.\s)`).MatchString(page)
}

// text calls visit with every tracked text file that is short enough to be written by hand.
func text(r *tree, errorf reporter, visit func(p, content string)) {
	for _, p := range r.files {
		info, err := os.Stat(filepath.Join(r.root, p))
		if err != nil || info.Size() > 4<<20 {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.root, p))
		if err != nil {
			errorf("%v", err)
			continue
		}
		if !bytes.Contains(data[:min(len(data), 8000)], []byte{0}) {
			visit(p, string(data))
		}
	}
}

// No file says where it stood on the machine of whoever wrote it.
func noMachinePaths(r *tree, errorf reporter) {
	machine := regexp.MustCompile(`(^|[^\w./~-])/(work|tmp|home|root|Users|var/folders)/\w[\w./-]*`)
	exceptions := map[string]string{
		"internal/house/text_test.go": "holds the expression",
	}
	text(r, errorf, func(p, content string) {
		testing := strings.HasSuffix(p, "_test.go") || strings.Contains("/"+p, "/testdata/")
		if exceptions[p] != "" {
			return
		}
		for i, line := range strings.Split(content, "\n") {
			for _, m := range machine.FindAllStringSubmatch(line, -1) {
				if testing && m[2] != "work" {
					continue // a test may make up a path
				}
				errorf("%s:%d: %s", p, i+1, strings.TrimSpace(m[0]))
			}
		}
	})
}

// verbs returns the verbs of the command line: the fields of its struct that kong reads as commands.
func verbs(r *tree) []string {
	var list []string
	field := regexp.MustCompile("(?m)^\\s+(\\w+)\\s+\\S+\\s+`[^`]*\\bcmd:\"[^`]*`")
	named := regexp.MustCompile(`\bname:"([^"]+)"`)
	for _, s := range r.sources {
		if s.dir != "cmd/exhibit" || s.test {
			continue
		}
		for _, m := range field.FindAllStringSubmatch(r.read(s.path), -1) {
			name := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(m[1], "$1-$2")
			if n := named.FindStringSubmatch(m[0]); n != nil {
				name = n[1]
			}
			list = append(list, strings.ToLower(name))
		}
	}
	return list
}

// The commands that the guides show are there: verbs of exhibit, and packages that go is told to run, build or test.
func commandsOfTheGuidesExist(r *tree, errorf reporter) {
	have := verbs(r)
	if len(have) == 0 {
		return
	}
	verb := regexp.MustCompile("(?m)(?:^ {4,}|^\\$ |`|; |go run \\./cmd/)exhibit ([a-z][a-z-]+)\\b")
	target := regexp.MustCompile(`\bgo (?:run|build|install|test|vet|generate)[^\n` + "`" + `]*?\s(\./[\w./-]+)`)
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs/dependencies.md"} {
		content := r.read(page)
		for _, m := range verb.FindAllStringSubmatch(content, -1) {
			if !slices.Contains(have, m[1]) {
				errorf("%s shows exhibit %s; the verbs are %q", page, m[1], have)
			}
		}
		for _, m := range target.FindAllStringSubmatch(content, -1) {
			dir := strings.TrimSuffix(strings.TrimSuffix(m[1], "..."), "/")
			if info, err := os.Stat(filepath.Join(r.root, dir)); err != nil || !info.IsDir() {
				errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
}

// Links between the pages of the repository lead somewhere.
func linksOfTheGuides(r *tree, errorf reporter) {
	pending := map[string]string{
		"docs/measurements.md":                "written only by the command that measures",
		"docs/decisions/0003-store-format.md": "comes with the store",
	}
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	for _, p := range r.files {
		if path.Ext(p) != ".md" || strings.HasPrefix(p, "examples/") || strings.Contains("/"+p, "/testdata/") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(r.read(p), -1) {
			to := path.Join(path.Dir(p), m[1])
			if _, err := os.Stat(filepath.Join(r.root, to)); err != nil && pending[to] == "" {
				errorf("%s links to %s, which is not there", p, to)
			}
		}
	}
}
