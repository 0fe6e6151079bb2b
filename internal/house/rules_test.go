package house

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reporter takes one breach of a rule.
type reporter func(format string, args ...any)

// rule is one house rule over the files of the repository.
type rule struct {
	name  string
	check func(r *tree, errorf reporter)
}

func rules() []rule {
	return []rule{
		{"ImportsGoDown", importsGoDown},
		{"RootLinksNoOtherModule", rootLinksNoOtherModule},
		{"WeightsAreImportedByFew", weightsAreImportedByFew},
		{"ParsersHaveOneImporter", parsersHaveOneImporter},
		{"PackageNames", packageNames},
		{"NoInit", noInit},
		{"NoPackageState", noPackageState},
		{"OnlyCommandsReadFlagsAndExit", onlyCommandsReadFlagsAndExit},
		{"EmbeddedFiles", embeddedFiles},
		{"PackageComments", packageComments},
		{"DocComments", docComments},
		{"NoUntypedMaps", noUntypedMaps},
		{"NoForeignTypesInSignatures", noForeignTypesInSignatures},
		{"DependenciesAreNamed", dependenciesAreNamed},
		{"NoMachinePaths", noMachinePaths},
		{"CommandsOfTheGuidesExist", commandsOfTheGuidesExist},
		{"LinksOfTheGuides", linksOfTheGuides},
	}
}

func TestRules(t *testing.T) {
	r := repository(t)
	for _, rule := range rules() {
		t.Run(rule.name, func(t *testing.T) { rule.check(r, t.Errorf) })
	}
}

// TestRulesCatch holds that each rule can fail: a file that breaks it, and the rule that must say so.
func TestRulesCatch(t *testing.T) {
	const root = "github.com/exhibit-rag/exhibit"
	caught := map[string]bool{}
	for _, c := range []struct{ rule, path, code string }{
		{"ImportsGoDown", "internal/chunk/a.go", `import _ "` + root + `"`},
		{"ImportsGoDown", "a.go", `import _ "` + root + `/embed"`},
		{"ImportsGoDown", "read/a.go", `import _ "` + root + `/local"`},
		{"ImportsGoDown", "local/a.go", `import _ "` + root + `/internal/httpd"`},
		{"ImportsGoDown", "novel/a.go", ``},
		{"RootLinksNoOtherModule", "a.go", `import _ "golang.org/x/text/cases"`},
		{"WeightsAreImportedByFew", "embed/a.go", `import _ "` + root + `/models/e5small"`},
		{"ParsersHaveOneImporter", "read/html/a.go", `import _ "github.com/yuin/goldmark/ast"`},
		{"ParsersHaveOneImporter", "eval/a.go", `import _ "github.com/stretchr/testify/assert"`},
		{"PackageNames", "internal/helpers/a.go", ``},
		{"NoInit", "embed/a.go", `func init() {}`},
		{"NoPackageState", "embed/a.go", `var cache = map[string]int{}`},
		{"NoPackageState", "embed/a.go", `var count int`},
		{"NoPackageState", "embed/a.go", `var list = []int{1}`},
		{"NoPackageState", "embed/a.go", "var table = [2]int{1, 2}\n\nfunc f() { table[0] = 3 }"},
		{"NoPackageState", "embed/a.go", "var table = [2]int{1, 2}\n\nfunc f() *int { return &table[0] }"},
		{"NoPackageState", "embed/a.go", "import \"regexp\"\n\nvar word = regexp.MustCompile(`a`)"},
		{"OnlyCommandsReadFlagsAndExit", "embed/a.go", `import _ "flag"`},
		{"OnlyCommandsReadFlagsAndExit", "embed/a.go", "import \"os\"\n\nfunc f() { os.Exit(1) }"},
		{"OnlyCommandsReadFlagsAndExit", "embed/a.go", "import \"os\"\n\nfunc f() string { return os.Getenv(\"A\") }"},
		{"EmbeddedFiles", "embed/a.go", "//go:embed a.txt\nvar text string"},
		{"PackageComments", "verify/a.go", ``},
		{"DocComments", "embed/a.go", `func Exported() {}`},
		{"DocComments", "embed/a.go", "// T is a type.\ntype T struct{}\n\nfunc (T) Method() {}"},
		{"DocComments", "embed/a.go", `const Limit = 3`},
		{"NoUntypedMaps", "embed/a.go", `type T struct{ M map[string]any }`},
		{"NoUntypedMaps", "embed/a.go", `func F() []map[string]interface{} { return nil }`},
		{"NoForeignTypesInSignatures", "embed/a.go", "import \"golang.org/x/text/language\"\n\nfunc F(language.Tag) {}"},
		{"NoForeignTypesInSignatures", "read/a.go", "import \"github.com/clipperhouse/uax29/v2\"\n\ntype T struct{ S *uax29.S }"},
		{"DependenciesAreNamed", "embed/a.go", `import _ "example.com/unheard/of"`},
	} {
		fset := token.NewFileSet()
		code := "package " + path.Base(path.Dir("exhibit/"+c.path)) + "\n\n" + c.code
		file, err := parser.ParseFile(fset, c.path, code, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		whole := repository(t)
		r := &tree{root: whole.root, files: whole.files, sources: []*source{{path: c.path, dir: path.Dir(c.path), ast: file, fset: fset}}}
		i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == c.rule })
		var said []string
		rules()[i].check(r, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, c.path) || strings.Contains(s, path.Dir(c.path)) }) {
			t.Errorf("%s does not see %q in %s; it says %q", c.rule, c.code, c.path, said)
		}
		caught[c.rule] = true
	}
	for _, r := range rules() {
		text := []string{"NoMachinePaths", "CommandsOfTheGuidesExist", "LinksOfTheGuides"} // over text: see TestTextRulesCatch
		if !caught[r.name] && !slices.Contains(text, r.name) {
			t.Errorf("no file is there for %s to refuse", r.name)
		}
	}
}

// TestTextRulesCatch does the same for the rules over text, in a folder of its own.
func TestTextRulesCatch(t *testing.T) {
	for name, c := range map[string]struct{ rule, path, content string }{
		"a path of work":   {"NoMachinePaths", "docs/a.md", "see " + "/wo" + "rk/main/x.go"},
		"a path of a home": {"NoMachinePaths", "a.go", "// as in " + "/ho" + "me/me/x"},
		"a temporary path": {"NoMachinePaths", "a.sh", "cp a " + "/tm" + "p/b"},
		"work in a test":   {"NoMachinePaths", "a_test.go", "// " + "/wo" + "rk/main"},
		"an unknown verb":  {"CommandsOfTheGuidesExist", "README.md", "    exhibit frobnicate x\n"},
		"an absent target": {"CommandsOfTheGuidesExist", "README.md", "    go run ./cmd/absent\n"},
		"a dead link":      {"LinksOfTheGuides", "docs/a.md", "[a](b.md)"},
	} {
		dir := t.TempDir()
		write := func(p, content string) {
			full := filepath.Join(dir, p)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		const cli = "package main\n\ntype cli struct {\n\tLookup int `cmd:\"\" help:\"x\"`\n}\n"
		write(c.path, c.content)
		write("cmd/exhibit/cli.go", cli)
		file, err := parser.ParseFile(token.NewFileSet(), "cli.go", cli, 0)
		if err != nil {
			t.Fatal(err)
		}
		r := &tree{root: dir, files: []string{c.path}, sources: []*source{{path: "cmd/exhibit/cli.go", dir: "cmd/exhibit", ast: file}}}
		i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == c.rule })
		said := 0
		rules()[i].check(r, func(string, ...any) { said++ })
		if said != 1 {
			t.Errorf("%s: %s says it %d times", name, c.rule, said)
		}
	}
}
