package ignore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		dir, want     bool
	}{
		{"*.log", "a/b.log", false, true}, {"*.log", "a/b.logs", false, false},
		{"/a.txt", "a.txt", false, true}, {"/a.txt", "b/a.txt", false, false},
		{"build/", "build", true, true}, {"build/", "build", false, false}, {"build/", "x/build", true, true},
		{"doc/*.txt", "doc/a.txt", false, true}, {"doc/*.txt", "doc/x/a.txt", false, false}, {"doc/*.txt", "x/doc/a.txt", false, false},
		{"**/foo", "a/b/foo", false, true}, {"**/foo", "foo", false, true}, {"a/**", "a/b/c", false, true}, {"a/**", "a", true, false},
		{"a/**/b", "a/b", false, true}, {"a/**/b", "a/x/y/b", false, true}, {"a/**/b", "a/x/y/c", false, false},
		{"?.txt", "é.txt", false, true}, {"[a-c].txt", "b.txt", false, true}, {"[!a-c].txt", "b.txt", false, false}, {"[!a-c].txt", "d.txt", false, true},
		{`\#x`, "#x", false, true}, {"# x", "# x", false, false}, {`\!x`, "!x", false, true}, {"x  ", "x", false, true}, {`x\ `, "x ", false, true},
		{"[[:digit:]]", "7", false, true}, {"[]]", "]", false, true}, {"[a", "[a", false, false}, {"a*b*c", "aXbYc", false, true}, {"*", ".x", false, true},
		{"foo*", "foo", false, true}, {"***", "abc", false, true},
		{"a**/b", "ab", false, true}, {"a**/b", "ax/y/b", false, true}, {"x/a**/b", "x/a/q/b", false, true}, {"-***/**", "-", false, true}, {"a/***/b", "a/x/y/b", false, true},
	} {
		if got, _ := Parse(c.pattern).Match(c.path, c.dir); got != c.want {
			t.Errorf("%q on %q (folder %v): %v", c.pattern, c.path, c.dir, got)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"*.md", "a/b.md", true}, {"docs/**", "docs/a/b", true}, {"docs/**/*.md", "docs/b.md", true}, {"docs/*.md", "docs/a/b.md", false},
		{"**/test/**", "a/test/b", true}, {"**/test/**", "a/tests/b", false},
	} {
		if got := Glob(c.glob, c.path); got != c.want {
			t.Errorf("%q on %q: %v", c.glob, c.path, got)
		}
	}
}

func TestStack(t *testing.T) {
	var none *Stack
	root := none.Push("", Parse("*.tmp\n!keep.tmp\n/only-here"), Parse("secret*"))
	sub := root.Push("sub", Parse("!a.tmp\nx"), Parse("!secret-no"))
	for _, c := range []struct {
		s    *Stack
		path string
		want bool
	}{
		{root, "a.tmp", true}, {root, "keep.tmp", false}, {root, "only-here", true}, {sub, "sub/only-here", false},
		{sub, "sub/a.tmp", false}, {sub, "sub/b.tmp", true}, {sub, "sub/x", true}, {sub, "sub/secret", true}, {sub, "sub/secret-no", false}, {none, "a", false},
	} {
		if got := c.s.Ignored(c.path, false); got != c.want {
			t.Errorf("%s: %v", c.path, got)
		}
	}
}

// Patterns and names of few characters are held against git itself.
func TestMatchesGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git")
	}
	dir := t.TempDir()
	run := func(in string, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, _ := cmd.Output()
		return string(out)
	}
	run("", "init", "-q")
	var paths []string
	for _, a := range []string{"a", "b", "ab", "a.b", "-"} {
		paths = append(paths, a)
		for _, b := range []string{"a", "b", "aab"} {
			paths = append(paths, a+"/"+b, a+"/x/"+b)
		}
	}
	element := rapid.SampledFrom([]string{"a", "b", "x", "ab", "*", "**", "?", "[ab]", "[!a]", ".", "/", "/", "**/", "/**", `\a`, "[a-b]", "-"})
	checks := 0
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > 200 {
			return
		}
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			p := strings.Join(rapid.SliceOfN(element, 1, 5).Draw(t, "pattern"), "")
			return rapid.SampledFrom([]string{"", "", "!"}).Draw(t, "not") + p
		}), 1, 3).Draw(t, "lines")
		text := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list := Parse(text)
		ignored := map[string]bool{}
		for p := range strings.Lines(run(strings.Join(paths, "\n")+"\n", "check-ignore", "--no-index", "--stdin")) {
			ignored[strings.TrimSpace(p)] = true
		}
		var none *Stack
		stack := none.Push("", list)
		for _, p := range paths {
			got := false
			for i := 0; i <= len(p) && !got; i++ { // a folder that is ignored ignores all inside
				if i == len(p) || p[i] == '/' {
					got = stack.Ignored(p[:i], i < len(p))
				}
			}
			if got != ignored[p] {
				t.Fatalf("%s", fmt.Sprintf("%q on %q: %v, git says %v", text, p, got, ignored[p]))
			}
		}
	})
}

func FuzzPart(f *testing.F) {
	f.Add("[a-\\", "x")
	f.Add("*a*[", "aa")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		Part(pattern, name)
		Glob(pattern, name)
		Parse(pattern).Match(name, true)
	})
}
