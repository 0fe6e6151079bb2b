package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
)

// good and bad are a value that each kind of setting takes, and one that it does not.
func good(s setting) string {
	switch s.kind {
	case kindInt:
		return fmt.Sprint(max(17, int(s.least)))
	case kindFloat:
		return "0.5"
	case kindDuration:
		return "250ms"
	case kindBytes:
		return "3MiB"
	case kindChoice:
		return s.choices[len(s.choices)-1]
	}
	return "some-text"
}

func bad(s setting) string {
	switch s.kind {
	case kindInt, kindFloat, kindDuration, kindBytes, kindChoice:
		return "lots"
	}
	return "" // text and lists take everything
}

func TestEverySettingByEverySource(t *testing.T) {
	variables := map[string]string{}
	for _, row := range table() {
		t.Run(row.key, func(t *testing.T) {
			name := variable(row.key)
			if other, taken := variables[name]; taken {
				t.Errorf("%s is the variable of %s too", name, other)
			}
			variables[name] = row.key
			if row.doc == "" {
				t.Error("no documentation")
			}
			if err := row.check(row.def); row.def != "" && err != nil {
				t.Errorf("its default %s %v", row.def, err)
			}
			dir := t.TempDir()
			parts := strings.SplitN(row.key, ".", 2)
			nested := filepath.Join(dir, "nested.yaml")
			dotted := filepath.Join(dir, "dotted.yaml")
			write := func(path, text string) {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, v := range []string{good(row), bad(row)} {
				if v == "" {
					continue
				}
				write(nested, parts[0]+":\n  "+strings.ReplaceAll(parts[1], ".", ":\n    ")+": "+v+"\n")
				write(dotted, row.key+": "+v+"\n")
				for source, load := range map[string]func(settings, *problems){
					"nested file": func(s settings, p *problems) { s.loadFile(nested, exhibit.FromFile, p) },
					"dotted file": func(s settings, p *problems) { s.loadFile(dotted, exhibit.FromFile, p) },
					"variable":    func(s settings, p *problems) { s.loadEnvironment([]string{name + "=" + v, "PATH=/bin"}, p) },
					"--set":       func(s settings, p *problems) { s.loadSet([]string{row.key + "=" + v}, p) },
					"flag":        func(s settings, p *problems) { s.loadFlag("f", row.key, &v, p) },
				} {
					set, found := settings{}, problems{}
					load(set, &found)
					switch {
					case v == good(row) && (len(found) > 0 || set.text(row.key) != v):
						t.Errorf("%s: %s is %q, %v", source, v, set.text(row.key), found)
					case v != good(row) && (len(found) != 1 || len(set) > 0):
						t.Errorf("%s: %s: %v %v", source, v, set, found)
					case v != good(row) && (!errors.Is(found[0], exhibit.ErrInvalid) || exhibit.HintOf(found[0]) == "" || !strings.Contains(found[0].Error(), row.key)):
						t.Errorf("%s: %v, hint %q", source, found[0], exhibit.HintOf(found[0]))
					}
				}
			}
			// A slip of the finger is told with the key that was meant.
			slip := row.key[:len(row.key)-2] + row.key[len(row.key)-1:]
			if _, known := find(slip); known {
				return
			}
			var found problems
			settings{}.loadSet([]string{slip + "=1"}, &found)
			if len(found) != 1 || !errors.Is(found[0], exhibit.ErrUnknownSetting) || exhibit.HintOf(found[0]) != "did you mean "+row.key+"?" {
				t.Errorf("%s: %v, hint %q", slip, found, exhibit.HintOf(errors.Join(found...)))
			}
			found = nil
			settings{}.loadEnvironment([]string{variable(slip) + "=1"}, &found)
			if len(found) != 1 || exhibit.HintOf(found[0]) != "did you mean "+name+"?" {
				t.Errorf("%s: %v", variable(slip), found)
			}
		})
	}
}

func TestEditDistanceIsLevenshtein(t *testing.T) {
	var reference func(a, b string) int
	reference = func(a, b string) int {
		switch {
		case a == "" || b == "":
			return len(a) + len(b)
		case a[0] == b[0]:
			return reference(a[1:], b[1:])
		}
		return 1 + min(reference(a[1:], b), reference(a, b[1:]), reference(a[1:], b[1:]))
	}
	word := rapid.StringMatching(`[abc.]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		bound := rapid.IntRange(1, 8).Draw(t, "bound")
		if got, want := editDistance(a, b, bound), min(reference(a, b), bound); got != want {
			t.Fatalf("%q to %q within %d: %d, want %d", a, b, bound, got, want)
		}
	})
}

func TestSizes(t *testing.T) {
	for raw, want := range map[string]int64{"0": 0, "17": 17, "17B": 17, "2KB": 2000, "2KiB": 2048, " 3 MiB ": 3 << 20, "1GB": 1e9, "1GiB": 1 << 30} {
		if got, err := parseBytes(raw); err != nil || got != want {
			t.Errorf("%q: %d %v, want %d", raw, got, err, want)
		}
	}
	for _, raw := range []string{"", "MiB", "-1", "1.5MiB", "1 TB", "99999999999999999999", "9999999999GiB", "0x10"} {
		if got, err := parseBytes(raw); err == nil {
			t.Errorf("%q is %d", raw, got)
		}
	}
}

func TestConditions(t *testing.T) {
	fields := map[string]exhibit.Value{"team": exhibit.String("hr"), "level": exhibit.Int(3), "code": exhibit.String("3"), "open": exhibit.Bool(true), "url": exhibit.String("a=b>c")}
	match := func(conditions ...string) bool {
		t.Helper()
		f, err := parseFilters(conditions, "")
		if err != nil {
			t.Fatalf("%v: %v", conditions, err)
		}
		return f.Match(func(key string) (exhibit.Value, bool) { v, ok := fields[key]; return v, ok })
	}
	for condition, want := range map[string]bool{
		"team=hr": true, "team=h": false, "team!=hr": false, "team!=it": true, "team^=h": true, "team~r": true, "team~x": false,
		"level=3": true, "level>2": true, "level>=3": true, "level<3": false, "level<=3": true, "level!=3": false, "level!=4": true,
		"code=3": true, "code!=3": false, "open=true": true, "open=false": false, "url=a=b>c": true, "absent=1": false,
	} {
		if got := match(condition); got != want {
			t.Errorf("%s: %v", condition, got)
		}
	}
	if !match("team=hr", "level>2") || match("team=hr", "level>3") {
		t.Error("conditions are not joined by and")
	}
	for _, wrong := range []string{"", "team", "=hr", ">3"} {
		if f, err := parseFilters([]string{wrong}, ""); err == nil || exhibit.HintOf(err) == "" {
			t.Errorf("%q: %+v %v", wrong, f, err)
		}
	}
}
