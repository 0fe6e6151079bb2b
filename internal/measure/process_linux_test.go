package measure

import (
	"context"
	"io"
	"os"
	"testing"
)

func TestTerminal(t *testing.T) {
	screen, tty, err := Terminal()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer screen.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan []byte, 1)
	go func() {
		data, _ := io.ReadAll(screen)
		seen <- data
	}()
	cmd := Command(context.Background(), "", self, nil, "EXHIBIT_TEST_CHILD=fail")
	cmd.Stderr = tty
	if _, err := RunProcess(cmd); err == nil {
		t.Error("exit code 3 is no error")
	}
	tty.Close()
	if got := string(<-seen); got != "no luck" {
		t.Errorf("on the terminal: %q", got)
	}
}
