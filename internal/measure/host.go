package measure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Host is where and over what a measurement was made.
type Host struct {
	Commit string // hash, with a word where the working tree differs from it
	CPU    string
	Cores  int
	OS     string
	Go     string
	Load   string // average over the last minute when it began and ended; "" where the system does not tell
}

// ThisHost gathers the facts of this machine and of the repository in a folder.
func ThisHost(ctx context.Context, repository string) Host {
	return Host{Commit: commit(ctx, repository), CPU: cpu(), Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Load: load()}
}

// String is one sentence.
func (h Host) String() string {
	s := fmt.Sprintf("Commit %s; %s, %d cores, %s, %s", h.Commit, h.CPU, h.Cores, h.OS, h.Go)
	if h.Load != "" {
		s += "; load average " + h.Load
	}
	return s + "."
}

// Ended adds the load at the end.
func (h Host) Ended() Host {
	if now := load(); now != "" && h.Load != "" {
		h.Load = fmt.Sprintf("%s before, %s after", h.Load, now)
	}
	return h
}

func commit(ctx context.Context, repository string) string {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", repository}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	hash, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := git("status", "--porcelain", "--", ":!docs/measurements.md"); err != nil || changed != "" {
		hash += " with uncommitted changes"
	}
	return hash
}

// cpu names the processor and what it has of what the kernels use.
func cpu() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	return parseCPU(string(data))
}

func parseCPU(info string) string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && fields[name] == "" {
			fields[name] = strings.TrimSpace(value)
		}
	}
	name := fields["model name"]
	if name == "" {
		name = runtime.GOARCH
	}
	if f := fields["cpu family"]; f != "" {
		name += fmt.Sprintf(" (family %s model %s)", f, fields["model"])
	}
	for _, flag := range []string{"avx2", "avx512f", "avx512_vnni"} {
		if strings.Contains(" "+fields["flags"]+" ", " "+flag+" ") {
			name += " " + flag
		}
	}
	return name
}

func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
