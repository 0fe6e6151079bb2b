//go:build !linux

package measure

import (
	"errors"
	"os"
	"os/exec"
)

func peak(*os.ProcessState) int64 { return 0 }

// Own returns the most bytes that this process itself held so far; 0 where the system does not tell.
func Own() int64 { return 0 }

// Jail makes a command run with a folder as its root. It reports whether that is possible here.
func Jail(*exec.Cmd, string) bool { return false }

// Terminal returns the two ends of a new pseudo-terminal: what a program writes to the second can be read from the first.
func Terminal() (screen, tty *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
