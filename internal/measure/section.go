package measure

import (
	"fmt"
	"strings"
)

// Row is one figure.
type Row struct {
	What  string // what was measured
	Goal  string // what it should reach; "" for a figure without a goal
	Found string
	Met   bool // whether it reached the goal; of no meaning without one
}

// Section is the record of one measurement.
type Section struct {
	Name    string // of the suite that made it; one word
	Title   string
	Command string // exactly what was run
	Host    Host
	Rows    []Row
	Notes   []string // what a reader must know to judge the figures
	Raw     string   // what the suite printed
}

// Short returns the rows that miss their goal.
func (s *Section) Short() []Row {
	var out []Row
	for _, r := range s.Rows {
		if r.Goal != "" && !r.Met {
			out = append(out, r)
		}
	}
	return out
}

// Markdown renders the section, between the marks by which Replace finds it again.
func (s *Section) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n## %s\n\n", begin(s.Name), s.Title)
	b.WriteString("| measure | goal | found | |\n|---|---|---|---|\n")
	for _, r := range s.Rows {
		verdict := ""
		switch {
		case r.Goal != "" && r.Met:
			verdict = "reached"
		case r.Goal != "":
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(r.What), cell(r.Goal), cell(r.Found), verdict)
	}
	b.WriteByte('\n')
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "%s\n\n", n)
	}
	fmt.Fprintf(&b, "%s\n\nCommand: `%s`\n\n", s.Host, s.Command)
	fence := "```"
	for strings.Contains(s.Raw, fence) {
		fence += "`"
	}
	fmt.Fprintf(&b, "%stext\n%s\n%s\n%s\n", fence, strings.TrimRight(s.Raw, "\n"), fence, end(s.Name))
	return b.String()
}

func cell(s string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s) }

func begin(name string) string { return "<!-- measured by " + name + " -->" }
func end(name string) string   { return "<!-- end of " + name + " -->" }

const head = `# Measurements

Written only by ` + "`go run ./cmd/measure --write SUITE`" + `; each suite replaces its own section. Absolute times hold for the
machine named and what else ran on it; ratios were measured side by side.

`

// Replace returns the document with the section in place of an earlier one of the same name, or where there is none, in
// the place that order gives it among the sections that are there. Sections that order does not name come last. An
// empty document gets a head. A document whose marks do not pair is an error.
func Replace(doc string, s *Section, order []string) (string, error) {
	if strings.TrimSpace(doc) == "" {
		doc = head
	}
	from, to, err := find(doc, s.Name)
	if err != nil {
		return "", err
	}
	if from >= 0 {
		return doc[:from] + s.Markdown() + doc[to:], nil
	}
	at := len(doc)
	after := false
	for _, name := range order {
		if name == s.Name {
			after = true
			continue
		}
		from, _, err := find(doc, name)
		if err != nil {
			return "", err
		}
		if after && from >= 0 {
			at = min(at, from)
		}
	}
	if at == len(doc) {
		return strings.TrimRight(doc, "\n") + "\n\n" + s.Markdown(), nil
	}
	return doc[:at] + s.Markdown() + "\n" + doc[at:], nil
}

// find returns where the section of a name stands, -1 where it does not.
func find(doc, name string) (from, to int, err error) {
	from, to = strings.Index(doc, begin(name)+"\n"), strings.Index(doc, end(name)+"\n")
	switch {
	case from < 0 && to < 0:
		return -1, -1, nil
	case from < 0 || to < from || strings.Count(doc, begin(name)+"\n") > 1 || strings.Count(doc, end(name)+"\n") > 1:
		return 0, 0, fmt.Errorf("the marks of section %s do not pair", name)
	}
	return from, to + len(end(name)) + 1, nil
}
