package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/exhibit-rag/exhibit/internal/lockfile"
	"github.com/exhibit-rag/exhibit/internal/store"
)

// TestMain makes the test binary the program itself where it is called by the name of one of these commands.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"exhibit":      func() { os.Exit(run()) },
		"holdlock":     holdLock,
		"unprivileged": unprivileged,
		"filelimit":    fileLimit,
	})
}

// holdLock holds the writer's lock of a store until it is killed.
func holdLock() {
	if _, err := lockfile.Acquire(context.Background(), filepath.Join(os.Args[1], store.LockName), time.Second); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "holding", os.Getpid())
	if err := os.WriteFile("holder", []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		os.Exit(1)
	}
	time.Sleep(time.Minute)
}

// TestScript runs every script of testdata/script. In them, beside what testscript brings:
//
//	exits N exhibit …      the program exits with N
//	file NAME CONTENT      writes a file; both are in the syntax of Go strings
//	fill NAME BYTES        writes a file of one long line
//	isjson, isjsonl        standard output of the last command is one JSON value, or one object a line with a type
//	embedder NAME FAULT    starts an embedding server and sets NAME_URL
//	holds                  waits until holdlock holds
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Condition:           condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": cmdExits, "file": cmdFile, "fill": cmdFill, "isjson": cmdIsJSON, "isjsonl": cmdIsJSONL,
			"embedder": cmdEmbedder, "holds": cmdHolds, "foreign": cmdForeign, "newer": cmdNewer, "same": cmdSame,
		},
	})
}

func setup(env *testscript.Env) error {
	for _, dir := range []string{"home", "cache", "config"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o755); err != nil {
			return err
		}
	}
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("USERPROFILE", filepath.Join(env.WorkDir, "home"))
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
	env.Setenv("LocalAppData", filepath.Join(env.WorkDir, "cache"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
	env.Setenv("AppData", filepath.Join(env.WorkDir, "config"))
	env.Setenv("EXHIBIT_EMBED_PROVIDER", "none")
	return nil
}

func condition(name string) (bool, error) {
	switch name {
	case "slow":
		return os.Getenv("EXHIBIT_SLOW") != "", nil
	case "droppable": // the rights of root can be laid down, or there are none
		return os.Geteuid() > 0 || runtime.GOOS == "linux" && canDrop(), nil
	case "rawnames": // file names are bytes
		return runtime.GOOS == "linux", nil
	case "oddnames": // file names may hold anything but a slash
		return runtime.GOOS != "windows", nil
	}
	return false, fmt.Errorf("no condition %q", name)
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND …")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s\n%s", code, args[0], ts.ReadFile("stderr"))
	}
	// Every error says how to mend it.
	errs := strings.Split(ts.ReadFile("stderr"), "\n")
	for i, line := range errs {
		if strings.HasPrefix(line, "exhibit: error: ") && !strings.HasPrefix(errs[i+1], "exhibit: hint: ") {
			ts.Fatalf("no hint: %s", line)
		}
	}
}

func unquote(ts *testscript.TestScript, s string) string {
	out, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		ts.Fatalf("%q: %v", s, err)
	}
	return out
}

func cmdFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: file NAME CONTENT")
	}
	path := ts.MkAbs(unquote(ts, args[0]))
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, []byte(unquote(ts, args[1])), 0o644))
}

// cmdFill writes one line of words without an end.
func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill NAME BYTES")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	part := []byte(strings.Repeat("The longest line of all lines goes on and on. ", 1<<14))
	for size > 0 {
		n, err := f.Write(part[:min(size, len(part))])
		ts.Check(err)
		size -= n
	}
	ts.Check(f.Close())
}

func cmdIsJSON(ts *testscript.TestScript, neg bool, _ []string) {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var v any
	ts.Check(dec.Decode(&v))
	if _, err := dec.Token(); neg || !errors.Is(err, io.EOF) {
		ts.Fatalf("more than one value")
	}
	if path := nullAt(v, ""); path != "" {
		ts.Fatalf("null at %s", path)
	}
}

// nullAt finds a null, which no answer of this program may have.
func nullAt(v any, at string) string {
	switch v := v.(type) {
	case nil:
		return at + "."
	case map[string]any:
		for k, member := range v {
			if p := nullAt(member, at+"."+k); p != "" {
				return p
			}
		}
	case []any:
		for i, member := range v {
			if p := nullAt(member, fmt.Sprintf("%s[%d]", at, i)); p != "" {
				return p
			}
		}
	}
	return ""
}

func cmdIsJSONL(ts *testscript.TestScript, neg bool, args []string) {
	out := ts.ReadFile("stdout")
	if neg || !strings.HasSuffix(out, "\n") {
		ts.Fatalf("no line, or no end of line")
	}
	found := map[string]bool{}
	for line := range strings.Lines(out) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			ts.Fatalf("%q: %v", line, err)
		}
		kind, ok := v["type"].(string)
		if !ok {
			ts.Fatalf("%q has no type", line)
		}
		found[kind] = true
	}
	for _, kind := range args {
		if !found[kind] {
			ts.Fatalf("no line of type %s", kind)
		}
	}
}

func cmdHolds(ts *testscript.TestScript, _ bool, _ []string) {
	for range 1000 {
		if pid, err := os.ReadFile(ts.MkAbs("holder")); err == nil && len(pid) > 0 {
			ts.Setenv("HOLDER", string(pid))
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("nobody took the lock")
}

// cmdNewer marks a store file as of the next format.
func cmdNewer(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	data[63] = byte(store.Format + 1)
	ts.Check(os.WriteFile(path, data, 0o644))
}

// cmdForeign overwrites bytes of a file: foreign FILE OFFSET CONTENT.
func cmdForeign(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	data, err := os.ReadFile(path)
	ts.Check(err)
	copy(data[at:], unquote(ts, args[2]))
	ts.Check(os.WriteFile(path, data, 0o644))
}

// cmdSame compares two files or outputs byte for byte: same stdout before.
func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	a, b := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if bytes.Equal([]byte(a), []byte(b)) == neg {
		ts.Fatalf("%s and %s: same is %v\n%s\n%s", args[0], args[1], !neg, a, b)
	}
}
