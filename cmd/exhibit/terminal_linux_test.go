package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal runs the program on a pseudo-terminal: input, errors, and where all is set also output. It returns what the
// terminal saw, and standard output where that is apart.
func (b *bench) terminal(t *testing.T, all bool, input string, args ...string) (screen, stdout string, code int) {
	t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	defer main.Close()
	if err := unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	n, err := unix.IoctlGetInt(int(main.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(main.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	cmd := b.command(args...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, &out, side
	if all {
		cmd.Stdout = side
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	side.Close()
	if input != "" {
		if _, err := main.WriteString(input); err != nil {
			t.Error(err)
		}
	}
	seen := make(chan string)
	go func() {
		var all bytes.Buffer
		buf := make([]byte, 4096)
		for {
			n, err := main.Read(buf)
			all.Write(buf[:n])
			if err != nil { // EIO once nobody holds the other side
				seen <- all.String()
				return
			}
		}
	}()
	_ = cmd.Wait()
	select {
	case screen = <-seen:
	case <-time.After(10 * time.Second):
		t.Fatal("the terminal does not end")
	}
	return screen, out.String(), cmd.ProcessState.ExitCode()
}

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&embeddingServer{fault: "slow"})
	defer server.Close()
	docs := manyDocs(300)
	b := newBench(t, docs)
	b.env = append(b.env, "EXHIBIT_EMBED_PROVIDER=openai", "EXHIBIT_EMBED_MODEL=m", "EXHIBIT_EMBED_BASE_URL="+server.URL)
	screen, out, code := b.terminal(t, false, "", "sync", "docs")
	if code != 0 || !strings.Contains(out, "300 added") {
		t.Fatalf("%d %s %s", code, out, screen)
	}
	line := regexp.MustCompile(`\r\x1b\[Kembed \d+/300 chunks  \d+/s  \d+m?\d*s left  `)
	if !line.MatchString(screen) {
		t.Errorf("no progress: %q", screen)
	}
	if !strings.HasSuffix(screen, "\r\x1b[K") {
		t.Errorf("the line is left behind: %q", screen)
	}
	for _, part := range strings.Split(screen, "\r\x1b[K") {
		if len([]rune(part)) > 59 || strings.Contains(part, "\n") {
			t.Errorf("%q does not fit into 60 columns", part)
		}
	}
	// Nothing to do, and quick: no line. Quiet: no line however long.
	if screen, _, _ := b.terminal(t, false, "", "sync", "docs"); screen != "" {
		t.Errorf("a quick sync shows %q", screen)
	}
	if screen, _, _ := b.terminal(t, false, "", "sync", "-q", "--rebuild", "vectors"); screen != "" {
		t.Errorf("-q shows %q", screen)
	}
	// No terminal: nothing, however long.
	if _, errs, _ := b.run(t, "sync", "--rebuild", "vectors"); errs != "" {
		t.Errorf("without a terminal: %q", errs)
	}
}

func TestColourOnATerminal(t *testing.T) {
	b := newBench(t, map[string]string{"docs/a.md": "# A\n\nThe turbine \x1b[31mspins\x1b[0m and \x9b31m rings.\n"})
	b.run(t, "sync", "docs")
	plain := b.env
	for _, c := range []struct {
		env    string
		args   []string
		colour bool
	}{
		{"", nil, true}, {"NO_COLOR=1", nil, false}, {"NO_COLOR=", nil, true}, {"TERM=dumb", nil, false},
		{"NO_COLOR=1", []string{"--color", "always"}, true}, {"", []string{"--color=never"}, false},
	} {
		b.env = append(plain[:len(plain):len(plain)], c.env)
		screen, _, code := b.terminal(t, true, "", append([]string{"lookup", "turbine"}, c.args...)...)
		if code != 0 || strings.Contains(screen, "\x1b[2m") != c.colour {
			t.Errorf("%s %v: %d %q", c.env, c.args, code, screen)
		}
		if strings.Contains(screen, "\x1b[31m") || strings.Contains(screen, "\u009b") {
			t.Errorf("a document's control sequence reaches the terminal: %q", screen)
		}
	}
	b.env = plain
	for _, args := range [][]string{{"fetch", "a.md#chunk-0"}, {"fetch", "-o", "markdown", "a.md#chunk-0"}, {"lookup", "-o", "markdown", "turbine"}, {"lookup", "-o", "xml", "turbine"}, {"lookup", "--json", "turbine"}} {
		screen, _, code := b.terminal(t, true, "", args...)
		if code != 0 || strings.Contains(screen, "\x1b[31m") || strings.Contains(screen, "\u009b") || !strings.Contains(screen, "1b[31mspins") {
			t.Errorf("%v: %d %q", args, code, screen)
		}
	}
}

func TestQuestionsOnATerminal(t *testing.T) {
	b := newBench(t, manyDocs(3))
	b.run(t, "sync", "docs")
	for _, args := range [][]string{{"lookup", "-"}, {"fetch", "-"}, {"sync", "-", "--doc-id", "x"}, {"sync", "--jsonl", "-"}} {
		screen, _, code := b.terminal(t, true, "", args...)
		if code != 2 || !strings.Contains(screen, "standard input is a terminal") || !strings.Contains(screen, "exhibit: hint: ") {
			t.Errorf("%v: %d %q", args, code, screen)
		}
	}
	screen, _, code := b.terminal(t, true, "n\n", "delete", "0001.md")
	if code != 1 || !strings.Contains(screen, "delete 0001.md from default? [y/N]") || !strings.Contains(screen, "not confirmed; nothing was deleted") {
		t.Errorf("n: %d %q", code, screen)
	}
	screen, _, code = b.terminal(t, true, "y\n", "delete", "0001.md")
	if code != 0 || !strings.Contains(screen, "1 removed") {
		t.Errorf("y: %d %q", code, screen)
	}
}
