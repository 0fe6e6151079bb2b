package measure

import (
	"os"
	"os/exec"
	"syscall"
)

func peak(s *os.ProcessState) int64 {
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}

// Own returns the most bytes that this process itself held so far.
func Own() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss << 10
}

// Jail makes a command run with a folder as its root. It reports whether that is possible here: only for root.
func Jail(cmd *exec.Cmd, root string) bool {
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	return os.Geteuid() == 0
}
