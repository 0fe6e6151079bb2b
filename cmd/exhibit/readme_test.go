package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadmeTranscript runs the command of the README's transcript as it stands there and compares what it prints, scores to the
// printed digits. Only the cursor differs from store to store, since each signs its own.
func TestReadmeTranscript(t *testing.T) {
	args, want := transcript(t)
	if os.Getenv("EXHIBIT_SLOW") == "" {
		t.Skip("embeds the whole handbook; set EXHIBIT_SLOW=1")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil)
	b.dir, b.env = root, append(b.env, "EXHIBIT_EMBED_PROVIDER=")
	got, errs, code := b.run(t, args...)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	cursor := regexp.MustCompile(`(?m)^more: --cursor \S+$`)
	if d := cmp.Diff(cursor.ReplaceAllString(want, "more"), cursor.ReplaceAllString(got, "more")); d != "" {
		t.Errorf("the README shows another answer (-README +now):\n%s", d)
	}
}

// transcript returns the arguments of the README's console block, which must be the command that it tells a newcomer to type, and the
// output below it.
func transcript(t *testing.T) (args []string, output string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := strings.ReplaceAll(string(text), "\r\n", "\n")
	_, block, found := strings.Cut(readme, "\n```console\n$ ")
	block, _, closed := strings.Cut(block, "\n```\n")
	command, output, _ := strings.Cut(block, "\n")
	if !found || !closed || output == "" {
		t.Fatal("the README has no console block with a command and its output")
	}
	if !strings.Contains(readme, "\n    "+command+"\n") {
		t.Errorf("the transcript is of %q, which the README does not tell anybody to type", command)
	}
	line, isRun := strings.CutPrefix(command, "go run ./cmd/exhibit ")
	words, question, quoted := strings.Cut(strings.TrimSuffix(line, `"`), ` "`)
	if !isRun || !quoted {
		t.Fatalf("%q is not `go run ./cmd/exhibit … \"question\"`", command)
	}
	return append(strings.Fields(words), question), output + "\n"
}
