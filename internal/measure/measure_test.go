package measure

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func section(name, found string) *Section {
	return &Section{Name: name, Title: "Title of " + name, Command: "go run ./cmd/measure " + name,
		Host: Host{Commit: "abc", CPU: "a CPU", Cores: 2, OS: "linux/amd64", Go: "go1.26", Load: "1.5"},
		Rows: []Row{{What: "speed|x", Goal: "≥ 1", Found: found, Met: true}, {What: "size", Goal: "≤ 1", Found: "2"}, {What: "extra", Found: "3"}},
		Raw:  "line one\nline two\n\n"}
}

func TestMarkdown(t *testing.T) {
	want := "<!-- measured by b -->\n## Title of b\n\n| measure | goal | found | |\n|---|---|---|---|\n" +
		"| speed\\|x | ≥ 1 | 5 | reached |\n| size | ≤ 1 | 2 | **missed** |\n| extra |  | 3 |  |\n\n" +
		"Take care.\n\nCommit abc; a CPU, 2 cores, linux/amd64, go1.26; load average 1.5.\n\nCommand: `go run ./cmd/measure b`\n\n" +
		"```text\nline one\nline two\n```\n<!-- end of b -->\n"
	s := section("b", "5")
	s.Notes = []string{"Take care."}
	if diff := cmp.Diff(want, s.Markdown()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Row{{What: "size", Goal: "≤ 1", Found: "2"}}, s.Short()); diff != "" {
		t.Error(diff)
	}
	s.Raw = "a\n```\nb"
	if md := s.Markdown(); !strings.Contains(md, "````text\na\n```\nb\n````\n") {
		t.Errorf("the fence ends early: %s", md)
	}
}

func TestReplaceKeepsTheRest(t *testing.T) {
	order := []string{"a", "b", "c"}
	doc := ""
	put := func(s *Section) {
		t.Helper()
		var err error
		if doc, err = Replace(doc, s, order); err != nil {
			t.Fatal(err)
		}
	}
	put(section("c", "1"))
	put(section("a", "2"))
	put(section("other", "3"))
	put(section("b", "4"))
	put(section("a", "5"))
	want := head + section("a", "5").Markdown() + "\n" + section("b", "4").Markdown() + "\n" + section("c", "1").Markdown() + "\n" + section("other", "3").Markdown()
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Error(diff)
	}
}

func TestReplaceRefusesBrokenMarks(t *testing.T) {
	for name, doc := range map[string]string{
		"no end":    "x\n" + begin("a") + "\n",
		"no begin":  "x\n" + end("a") + "\n",
		"backwards": end("a") + "\n" + begin("a") + "\n",
		"twice":     section("a", "1").Markdown() + section("a", "2").Markdown(),
	} {
		if got, err := Replace(doc, section("a", "1"), nil); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Whatever the order of writing, each section stands once, in the order given.
func TestReplaceInAnyOrder(t *testing.T) {
	order := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		doc := ""
		last := map[string]string{}
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			name, found := rapid.SampledFrom(order).Draw(t, "name"), rapid.StringMatching("[0-9]{3}").Draw(t, "found")
			var err error
			if doc, err = Replace(doc, section(name, found), order); err != nil {
				t.Fatal(err)
			}
			last[name] = found
		}
		var want []string
		for _, name := range order {
			if found, ok := last[name]; ok {
				want = append(want, section(name, found).Markdown())
			}
		}
		if got := head + strings.Join(want, "\n"); got != doc {
			t.Fatal(cmp.Diff(got, doc))
		}
	})
}

func TestPercentile(t *testing.T) {
	values := []int{40, 10, 30, 20}
	for p, want := range map[float64]int{0: 10, .25: 10, .26: 20, .5: 20, .95: 40, 1: 40} {
		if got := Percentile(values, p); got != want {
			t.Errorf("p%g is %d, want %d", p, got, want)
		}
	}
	if got := Median([]float64(nil)); got != 0 {
		t.Error(got)
	}
	if values[0] != 40 {
		t.Error("the values were reordered")
	}
}

func TestRepeatLeavesTheFirstRunOut(t *testing.T) {
	n := 0
	took, count, err := Repeat(0, func() error {
		if n++; n == 1 {
			time.Sleep(50 * time.Millisecond)
		}
		return nil
	})
	if err != nil || count != 3 || n != 4 || took > 25*time.Millisecond {
		t.Errorf("%v of %d runs (%d calls), %v", took, count, n, err)
	}
}

func TestParseCPU(t *testing.T) {
	info := "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Some CPU 9\nflags\t\t: fpu avx2 avx512f\n\nprocessor\t: 1\nmodel name\t: Other\n"
	if got, want := parseCPU(info), "Some CPU 9 (family 25 model 17) avx2 avx512f"; got != want {
		t.Errorf("%q", got)
	}
	if got := parseCPU("Hardware : x"); got != runtime.GOARCH {
		t.Errorf("%q", got)
	}
}

// The test program runs itself.
func TestMain(m *testing.M) {
	switch os.Getenv("EXHIBIT_TEST_CHILD") {
	case "big":
		b := make([]byte, 100<<20)
		for i := range b {
			b[i] = byte(i)
		}
		os.Stdout.WriteString("done")
		runtime.KeepAlive(b)
		os.Exit(0)
	case "fail":
		os.Stderr.WriteString("no luck")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func TestRunProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := RunProcess(Command(context.Background(), "", self, nil, "EXHIBIT_TEST_CHILD=big"))
	if err != nil || string(p.Stdout) != "done" || p.Wall <= 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	if runtime.GOOS == "linux" && (p.Peak < 100<<20 || p.Peak > 400<<20) {
		t.Errorf("peak of %d bytes for a process that fills 100 MiB", p.Peak)
	}
	_, err = RunProcess(Command(context.Background(), "", self, nil, "EXHIBIT_TEST_CHILD=fail"))
	if err == nil || !strings.Contains(err.Error(), "no luck") || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
}
