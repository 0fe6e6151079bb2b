package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/exhibit-rag/exhibit"
)

// value is a setting as one source gave it.
type value struct {
	raw   string
	list  []string // of kindList
	from  exhibit.Origin
	place string // how an error names it: "exhibit.yaml:3", "EXHIBIT_RAG_RETURN_N=0"
}

// settings are the values in force, by key. Keys that nothing set are absent.
type settings map[string]value

// problems gathers what is wrong with the settings, so that all of it is told at once.
type problems []error

func (p *problems) add(place string, kind error, what, hint string) {
	*p = append(*p, &exhibit.Error{Source: place, Kind: kind, Err: errors.New(what), Hint: hint})
}

func (p *problems) unknown(place, key string) {
	hint := "exhibit doctor lists all settings"
	if n := nearest(key); n != "" {
		hint = "did you mean " + n + "?"
	}
	p.add(place, exhibit.ErrUnknownSetting, "unknown setting "+key, hint)
}

// put takes a value from one source, over what a weaker source gave.
func (s settings) put(row setting, v value, p *problems) {
	check := []string{v.raw}
	if row.kind == kindList {
		check = v.list
	}
	for _, raw := range check {
		if err := row.check(raw); err != nil {
			p.add(v.place, exhibit.ErrInvalid, row.key+" "+err.Error(), row.mend())
			return
		}
	}
	s[row.key] = v
}

// loadFile reads a settings file in YAML, nested or dotted.
func (s settings) loadFile(path string, from exhibit.Origin, p *problems) {
	data, err := os.ReadFile(path)
	if err != nil {
		p.add(path, exhibit.ErrUnreadable, plainPathError(err), "name a readable settings file with --config")
		return
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		p.add(path, exhibit.ErrMalformed, strings.TrimPrefix(err.Error(), "yaml: "), "the file is YAML: rag.retrieve-k: 20, or rag: {retrieve-k: 20}")
		return
	}
	if len(doc.Content) == 0 {
		return
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		place := path
		if len(more.Content) > 0 {
			place = fmt.Sprintf("%s:%d", filepath.Base(path), more.Content[0].Line)
		}
		p.add(place, exhibit.ErrMalformed, "a settings file is one YAML document, and here begins another", "remove the line ---, or the rest")
	}
	file := yamlFile{name: filepath.Base(path), from: from, seen: map[string]int{}, into: s, problems: p}
	file.walk("", doc.Content[0])
}

// yamlFile is one settings file being read.
type yamlFile struct {
	name     string
	from     exhibit.Origin
	seen     map[string]int // key → line
	into     settings
	problems *problems
}

func (f *yamlFile) walk(prefix string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		f.problems.add(f.at(n), exhibit.ErrMalformed, "a settings file is a mapping of keys to values", "rag.retrieve-k: 20")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := n.Content[i], n.Content[i+1]
		key := name.Value
		if prefix != "" {
			key = prefix + "." + name.Value
		}
		if v.Kind == yaml.MappingNode {
			f.walk(key, v)
			continue
		}
		f.one(key, name, v)
	}
}

func (f *yamlFile) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.name, n.Line) }

func isNull(v *yaml.Node) bool { return v.Kind == yaml.ScalarNode && v.Tag == "!!null" }

// isGroup reports whether settings begin with this name and a dot.
func isGroup(key string) bool {
	return slices.ContainsFunc(table(), func(s setting) bool { return strings.HasPrefix(s.key, key+".") })
}

func (f *yamlFile) one(key string, name, v *yaml.Node) {
	row, ok := find(key)
	if !ok && isNull(v) && isGroup(key) {
		return
	}
	if !ok {
		f.problems.unknown(f.at(name), key)
		return
	}
	if line, twice := f.seen[key]; twice {
		f.problems.add(f.at(name), exhibit.ErrInvalid, fmt.Sprintf("%s is set on line %d already", key, line), "keep one of them")
		return
	}
	f.seen[key] = name.Line
	got := value{from: f.from, place: f.at(name)}
	switch {
	case isNull(v):
		return
	case v.Kind == yaml.ScalarNode:
		got.raw = v.Value
		got.list = []string{v.Value}
	case v.Kind == yaml.SequenceNode && row.kind == kindList:
		for _, m := range v.Content {
			got.list = append(got.list, m.Value)
		}
	default:
		f.problems.add(f.at(name), exhibit.ErrInvalid, key+" must be a "+string(row.kind), row.mend())
		return
	}
	f.into.put(row, got, f.problems)
}

// loadEnvironment takes the EXHIBIT_ variables. An empty one counts as unset.
func (s settings) loadEnvironment(environ []string, p *problems) {
	byVariable := map[string]setting{}
	for _, row := range table() {
		byVariable[variable(row.key)] = row
	}
	environ = slices.Sorted(slices.Values(environ))
	for _, e := range environ {
		name, raw, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "EXHIBIT_") || raw == "" || name == "EXHIBIT_SHARED" {
			continue
		}
		row, ok := byVariable[name]
		if !ok {
			key := strings.ToLower(strings.TrimPrefix(name, "EXHIBIT_"))
			p.add(name, exhibit.ErrUnknownSetting, "unknown setting", envHint(key))
			continue
		}
		s.put(row, value{raw: raw, list: splitList(raw), from: exhibit.FromEnv, place: name + "=" + raw}, p)
	}
}

// envHint finds the variable nearest to a misspelled one.
func envHint(lower string) string {
	best, distance := "", 4
	for _, row := range table() {
		v := strings.ToLower(strings.TrimPrefix(variable(row.key), "EXHIBIT_"))
		if d := editDistance(lower, v, distance); d < distance {
			best, distance = variable(row.key), d
		}
	}
	if best == "" {
		return "exhibit doctor lists all settings"
	}
	return "did you mean " + best + "?"
}

func splitList(raw string) []string {
	var out []string
	for _, part := range strings.Split(raw, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// loadSet takes the --set KEY=VALUE flags, later ones over earlier.
func (s settings) loadSet(pairs []string, p *problems) {
	for _, pair := range pairs {
		key, raw, ok := strings.Cut(pair, "=")
		if !ok {
			p.add("--set "+pair, exhibit.ErrInvalid, "no value", "--set "+pair+"=VALUE")
			continue
		}
		row, known := find(key)
		if !known {
			p.unknown("--set "+pair, key)
			continue
		}
		s.put(row, value{raw: raw, list: splitList(raw), from: exhibit.FromFlag, place: "--set " + pair}, p)
	}
}

// loadFlag takes a flag of its own that stands for a setting.
func (s settings) loadFlag(flag, key string, raw *string, p *problems) {
	if raw == nil {
		return
	}
	if row, ok := find(key); ok {
		s.put(row, value{raw: *raw, list: splitList(*raw), from: exhibit.FromFlag, place: "--" + flag + "=" + *raw}, p)
	}
}

// The typed readers below are called after every value was checked.

func (s settings) text(key string) string {
	if v, ok := s[key]; ok {
		return v.raw
	}
	row, _ := find(key)
	return row.def
}

func (s settings) int(key string) int {
	n, _ := strconv.Atoi(s.text(key))
	return n
}

func (s settings) duration(key string) time.Duration {
	d, _ := time.ParseDuration(s.text(key))
	return d
}

func (s settings) bytes(key string) int64 {
	n, _ := parseBytes(s.text(key))
	return n
}

func (s settings) strings(key string) []string { return s[key].list }

func (s settings) lookup() exhibit.LookupSettings {
	return exhibit.LookupSettings{
		RetrieveK: intSetting(s, exhibit.KeyRetrieveK), ReturnN: intSetting(s, exhibit.KeyReturnN),
		MaxChunksPerDocument: intSetting(s, exhibit.KeyMaxChunks), TopK: intSetting(s, exhibit.KeyTopK),
		CapMode: textSetting(s, exhibit.KeyCapMode), SearchMode: textSetting(s, exhibit.KeySearchMode), Fusion: textSetting(s, exhibit.KeyFusion),
		MinDense: floatSetting(s, exhibit.KeyMinDense), MinRerank: floatSetting(s, exhibit.KeyMinRerank),
		MaxTokens: intSetting(s, exhibit.KeyMaxTokens), MaxCharacters: intSetting(s, exhibit.KeyMaxCharacters),
		Overflow: textSetting(s, exhibit.KeyOverflow), Tokenizer: textSetting(s, exhibit.KeyTokenizer),
	}
}

func intSetting(s settings, key string) (out exhibit.Setting[int]) {
	if v, ok := s[key]; ok {
		out.Value, _ = strconv.Atoi(v.raw)
		out.From = v.from
	}
	return out
}

func floatSetting(s settings, key string) (out exhibit.Setting[float64]) {
	if v, ok := s[key]; ok {
		out.Value, _ = strconv.ParseFloat(v.raw, 64)
		out.From = v.from
	}
	return out
}

func textSetting(s settings, key string) (out exhibit.Setting[string]) {
	if v, ok := s[key]; ok {
		out.Value, out.From = v.raw, v.from
	}
	return out
}
