package read

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
)

// tree writes files below a new folder: names with a final slash are folders, contents that begin with -> are links.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		target, link := strings.CutPrefix(content, "->")
		switch {
		case link:
			err = os.Symlink(filepath.FromSlash(target), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Skip("this file system cannot hold the test's files: ", err)
		}
	}
	return root
}

// walked returns a line for each entry: its docId, with why it is passed over or fails.
func walked(t *testing.T, root string, opt *WalkOptions) []string {
	t.Helper()
	entries, err := Walk(context.Background(), root, opt)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		line := e.DocID
		if e.Dir {
			line += "/"
		}
		if e.Skip != "" {
			first, _, _ := strings.Cut(e.Skip, " ")
			if e.Skip == SkipLink {
				first = "link"
			}
			line += " " + first
		}
		if e.Err != nil {
			line += " " + string(exhibit.CodeOf(e.Err))
			if exhibit.HintOf(e.Err) == "" {
				t.Errorf("%s: no hint", e.DocID)
			}
		}
		out = append(out, line)
	}
	return out
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		opt   *WalkOptions
		want  []string
	}{
		{"byte order of slash paths", map[string]string{"b": "", "a/x": "", "a.b": "", "B": "", "é": "", "a/sub/y": ""}, nil,
			[]string{"B", "a.b", "a/sub/y", "a/x", "b", "é"}},
		{"hidden and internal", map[string]string{".x": "", ".d/y": "", ".git/config": "", ".exhibit/store": "", "a/.git": "gitdir", "z": ""}, nil,
			[]string{".d/ hidden", ".exhibit/ internal", ".git/ internal", ".x hidden", "a/.git hidden", "z"}},
		{"hidden on request", map[string]string{".x": "", ".d/y": "", ".git/config": "", ".exhibit/store": ""}, &WalkOptions{Hidden: true},
			[]string{".d/y", ".exhibit/ internal", ".git/ internal", ".x"}},
		{"ignore files", map[string]string{".gitignore": "*.log\n!keep.log\nbuild/\n/top\n", "a.log": "", "keep.log": "", "build/x": "", "top": "", "sub/top": "",
			"sub/.gitignore": "!b.log\nx", "sub/b.log": "", "sub/c.log": "", "sub/x": "", "sub/.exhibitignore": "!c.log\nb.log"}, nil,
			[]string{".gitignore hidden", "a.log ignored", "build/ ignored", "keep.log", "sub/.exhibitignore hidden", "sub/.gitignore hidden", "sub/b.log ignored", "sub/c.log", "sub/top",
				"sub/x ignored", "top ignored"}},
		{"include and exclude", map[string]string{"a.md": "", "b.txt": "", "d/c.md": "", "d/node_modules/x.md": "", "d/e/f.md": ""},
			&WalkOptions{Include: []string{"*.md"}, Exclude: []string{"node_modules/", "d/e/**"}},
			[]string{"a.md", "b.txt excluded", "d/c.md", "d/e/f.md excluded", "d/node_modules/ excluded"}},
		{"size", map[string]string{"big": "12345", "small": "1234"}, &WalkOptions{MaxSize: 4}, []string{"big too-large", "small"}},
		{"odd names", map[string]string{"a\nb": "", "#": "", "vector:x#chunk-3": "", "a b": "", "'\"": "", "content%": ""}, nil,
			[]string{"#", "'\"", "a\nb", "a b", "content%", "vector:x#chunk-3"}},
		{"name that is not UTF-8", map[string]string{"a\xff": "", "a\xfe": "", "b": "", "d\xff/x": ""}, nil,
			[]string{`a\xfe invalid`, `a\xff invalid`, "b", `d\xff/ invalid`}},
		{"links", map[string]string{"a/f": "", "a/up": "->..", "a/self": "->self", "g": "->a/f", "dir": "->a", "gone": "->nowhere", "out": "->/etc/hosts"}, nil,
			[]string{"a/f", "a/self link", "a/up link", "dir link", "g link", "gone link", "out link"}},
		{"links into a hidden folder", map[string]string{"..data": "->..v1", "..v1/conf": "x", "conf": "->..data/conf", "more": "->conf"}, nil,
			[]string{"..data hidden", "..v1/ hidden", "conf", "more link"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "odd names" && runtime.GOOS == "windows" {
				t.Skip("names that Windows does not allow")
			}
			if d := cmp.Diff(c.want, walked(t, tree(t, c.files), c.opt)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWalkBelowWorkingTree(t *testing.T) {
	root := tree(t, map[string]string{".git/info/exclude": "private*", ".gitignore": "docs/gen\n*.tmp", "docs/.exhibitignore": "!b.tmp", "docs/gen/x": "", "docs/a.tmp": "", "docs/b.tmp": "",
		"docs/private1": "", "docs/c": "", "docs/in/gen": ""})
	want := []string{".exhibitignore hidden", "a.tmp ignored", "b.tmp", "c", "gen/ ignored", "in/gen", "private1 ignored"}
	if d := cmp.Diff(want, walked(t, filepath.Join(root, "docs"), nil)); d != "" {
		t.Error(d)
	}
	// What is named is read, although the tree above ignores it.
	if d := cmp.Diff([]string{"x"}, walked(t, filepath.Join(root, "docs", "gen"), nil)); d != "" {
		t.Error(d)
	}
}

func TestWalkIDRoot(t *testing.T) {
	root := tree(t, map[string]string{"handbook/leave.md": "x", "handbook/a/b.md": "x", "store/f": ""})
	handbook := filepath.Join(root, "handbook")
	for _, c := range []struct {
		root string
		opt  *WalkOptions
		want []string
	}{
		{handbook, nil, []string{"a/b.md", "leave.md"}},
		{handbook, &WalkOptions{IDRoot: root}, []string{"handbook/a/b.md", "handbook/leave.md"}},
		{filepath.Join(handbook, "leave.md"), nil, []string{"leave.md"}},
		{filepath.Join(handbook, "leave.md"), &WalkOptions{IDRoot: root}, []string{"handbook/leave.md"}},
		{handbook, &WalkOptions{IDRoot: handbook}, []string{"a/b.md", "leave.md"}},
		{root, &WalkOptions{Skip: filepath.Join(root, "store")}, []string{"handbook/a/b.md", "handbook/leave.md"}},
	} {
		if d := cmp.Diff(c.want, walked(t, c.root, c.opt)); d != "" {
			t.Error(c.root, d)
		}
	}
	if _, err := Walk(context.Background(), root, &WalkOptions{IDRoot: handbook}); !errors.Is(err, exhibit.ErrInvalid) {
		t.Error(err)
	}
}

func TestWalkErrors(t *testing.T) {
	root := tree(t, map[string]string{"d/x": "", "f": ""})
	if _, err := Walk(context.Background(), filepath.Join(root, "nowhere"), nil); !errors.Is(err, exhibit.ErrUnreadable) || !strings.Contains(err.Error(), "nowhere") || exhibit.HintOf(err) == "" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Walk(ctx, root, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		return // who may read everything cannot test the rest
	}
	if err := os.Chmod(filepath.Join(root, "d"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(root, "d"), 0o755)
	if d := cmp.Diff([]string{"d/ unreadable", "f"}, walked(t, root, nil)); d != "" {
		t.Error(d)
	}
}

func TestFile(t *testing.T) {
	root := tree(t, map[string]string{"f": "content", "d/": ""})
	e := Entry{DocID: "f", Path: filepath.Join(root, "f")}
	if data, err := File(e, 0); err != nil || string(data) != "content" {
		t.Error(string(data), err)
	}
	if data, err := File(e, 7); err != nil || string(data) != "content" {
		t.Error(string(data), err)
	}
	if _, err := File(e, 6); !errors.Is(err, exhibit.ErrTooLarge) {
		t.Error(err)
	}
	for _, name := range []string{"d", "gone"} {
		if _, err := File(Entry{DocID: name, Path: filepath.Join(root, name)}, 0); !errors.Is(err, exhibit.ErrUnreadable) || exhibit.HintOf(err) == "" {
			t.Error(name, err)
		}
	}
	if _, err := File(Entry{Err: exhibit.ErrInvalid}, 0); !errors.Is(err, exhibit.ErrInvalid) {
		t.Error(err)
	}
}

// restless is a file whose facts differ each time it is asked.
type restless struct {
	strings.Reader
	sizes []int64
	times []time.Time
}

type facts struct {
	fs.FileInfo
	size int64
	time time.Time
}

func (f facts) Size() int64        { return f.size }
func (f facts) ModTime() time.Time { return f.time }

func (r *restless) Stat() (fs.FileInfo, error) {
	f := facts{size: r.sizes[0], time: r.times[0]}
	r.sizes, r.times = r.sizes[1:], r.times[1:]
	return f, nil
}

func TestFileThatChangesWhileRead(t *testing.T) {
	now, later := time.Unix(1, 0), time.Unix(2, 0)
	for _, c := range []struct {
		name, content string
		sizes         []int64
		times         []time.Time
		fails         bool
	}{
		{"steady", "12345", []int64{5, 5}, []time.Time{now, now}, false},
		{"shrinks before it is read", "123", []int64{5, 3}, []time.Time{now, later}, true},
		{"shrinks, time kept", "123", []int64{5, 3}, []time.Time{now, now}, true},
		{"grows", "1234567", []int64{5, 7}, []time.Time{now, now}, true},
		{"is written again", "54321", []int64{5, 5}, []time.Time{now, later}, true},
	} {
		_, err := readSteady(&restless{*strings.NewReader(c.content), c.sizes, c.times}, "f", 100)
		if errors.Is(err, exhibit.ErrUnreadable) != c.fails || c.fails && exhibit.HintOf(err) == "" {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
