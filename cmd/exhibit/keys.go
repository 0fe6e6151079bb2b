package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/exhibit-rag/exhibit"
)

// kind is the type of a setting's value.
type kind string

const (
	kindInt      kind = "whole number"
	kindFloat    kind = "number"
	kindDuration kind = "duration such as 250ms or 10s"
	kindBytes    kind = "size such as 64MiB"
	kindList     kind = "list"
	kindString   kind = "text"
	kindChoice   kind = "one of"
)

// setting is one row of the table of settings: its key, type, default and meaning. Everything that is said about
// settings anywhere (files, environment, --set, completion, doctor, documentation) is made from this table.
type setting struct {
	key     string
	kind    kind
	def     string   // "" where there is none
	choices []string // of kindChoice
	least   float64  // of numbers
	flag    bool     // also a flag of lookup, named by the last part of the key
	doc     string
}

// table returns all settings, in the order in which they are listed.
func table() []setting {
	return []setting{
		{key: exhibit.KeyRetrieveK, kind: kindInt, def: "20", least: 1, flag: true, doc: "candidates asked of each leg, and kept after fusion; at most 1000"},
		{key: exhibit.KeyReturnN, kind: kindInt, def: "5", least: 1, flag: true, doc: "most evidence blocks before projection budgets; at most 100"},
		{key: exhibit.KeyMaxChunks, kind: kindInt, def: "2", least: 1, flag: true, doc: "most blocks of one docId"},
		{key: exhibit.KeyTopK, kind: kindInt, least: 1, doc: "legacy: stands in for rag.retrieve-k and rag.return-n where that key is set nowhere"},
		{key: exhibit.KeyCapMode, kind: kindChoice, def: "strict", choices: []string{"strict", "soft"}, flag: true, doc: "soft refills from capped chunks when the answer would be short"},
		{key: exhibit.KeySearchMode, kind: kindChoice, def: "hybrid", choices: []string{"hybrid", "lexical", "dense"}, flag: true, doc: "legs that a lookup asks"},
		{key: exhibit.KeyFusion, kind: kindChoice, def: "score", choices: []string{"score", "rrf"}, flag: true, doc: "how the legs are combined; rrf is reciprocal rank fusion with k 60"},
		{key: exhibit.KeyMinDense, kind: kindFloat, least: -1, doc: "least cosine of a dense hit; refused where the dense leg does not run"},
		{key: exhibit.KeyMinRerank, kind: kindFloat, least: -1e300, doc: "least rerank score; refused where no reranker runs"},
		{key: exhibit.KeyMaxTokens, kind: kindInt, least: 1, flag: true, doc: "budget of the rendered answer in tokens of project.tokenizer, framing included"},
		{key: exhibit.KeyMaxCharacters, kind: kindInt, least: 1, flag: true, doc: "budget of the rendered answer in code points, framing included"},
		{key: exhibit.KeyOverflow, kind: kindChoice, def: "skip", choices: []string{"skip", "cut", "strict"}, flag: true, doc: "what becomes of a block that does not fit: left out, cut at a boundary, or it and all after it left out"},
		{key: exhibit.KeyTokenizer, kind: kindChoice, def: "o200k_base", choices: []string{"o200k_base", "cl100k_base"}, doc: "tokenizer that counts project.max-tokens"},
		{key: "project.fence-secret-env", kind: kindString, doc: "variable that holds the secret of fences and cursors, in place of the store's own"},
		{key: "chunk.max-tokens", kind: kindInt, def: "256", least: 16, doc: "target size of a chunk in tokens of the built-in encoder; a change makes documents stale"},
		{key: "chunk.overlap-tokens", kind: kindInt, def: "0", least: 0, doc: "tokens that neighbouring chunks share; a change makes documents stale"},
		{key: "embed.provider", kind: kindChoice, def: "local", choices: []string{"local", "openai", "none"}, doc: "local is the built-in encoder; openai any server of that API; none searches by words only"},
		{key: "embed.base-url", kind: kindString, doc: "of embed.provider openai: address up to and without /embeddings"},
		{key: "embed.model", kind: kindString, def: "multilingual-e5-small", doc: "model that embeds; stamped into the store"},
		{key: "embed.api-key-env", kind: kindString, doc: "variable that holds the key of the embedding server"},
		{key: "embed.dimensions", kind: kindInt, least: 1, doc: "dimension asked of the embedding server; stamped into the store"},
		{key: "embed.timeout", kind: kindDuration, def: "30s", doc: "of one request to the embedding server"},
		{key: "store.path", kind: kindString, doc: "store folder; default .exhibit here or in the nearest parent that has one"},
		{key: "store.lock-timeout", kind: kindDuration, def: "10s", doc: "how long a sync waits for another one to end"},
		{key: "sync.include", kind: kindList, doc: "globs of files to read; default all readable types"},
		{key: "sync.exclude", kind: kindList, doc: "globs of files to leave out"},
		{key: "sync.max-file-size", kind: kindBytes, def: "64MiB", least: 1, doc: "larger files are failures that say so"},
	}
}

// find returns the row of a key.
func find(key string) (setting, bool) {
	for _, s := range table() {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}

// variable is the name of the environment variable of a key.
func variable(key string) string {
	return "EXHIBIT_" + strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToUpper(key))
}

// check reports a value that the setting cannot take. The text ends a sentence that begins with the key.
func (s setting) check(raw string) error {
	switch s.kind {
	case kindInt:
		n, err := strconv.Atoi(raw)
		if err != nil {
			return fmt.Errorf("must be a %s, not %q", s.kind, raw)
		}
		return s.atLeast(float64(n), raw)
	case kindFloat:
		n, err := strconv.ParseFloat(raw, 64)
		if err != nil || n-n != 0 {
			return fmt.Errorf("must be a %s, not %q", s.kind, raw)
		}
		return s.atLeast(n, raw)
	case kindDuration:
		d, err := time.ParseDuration(raw)
		if err != nil || d < 0 {
			return fmt.Errorf("must be a %s, not %q", s.kind, raw)
		}
	case kindBytes:
		n, err := parseBytes(raw)
		if err != nil {
			return fmt.Errorf("must be a %s, not %q", s.kind, raw)
		}
		return s.atLeast(float64(n), raw)
	case kindChoice:
		for _, c := range s.choices {
			if raw == c {
				return nil
			}
		}
		return fmt.Errorf("must be one of %s, not %q", strings.Join(s.choices, ", "), raw)
	}
	return nil
}

func (s setting) atLeast(n float64, raw string) error {
	if n < s.least {
		return fmt.Errorf("must be %v or more, not %s", s.least, raw)
	}
	return nil
}

// mend is the hint beside a value that cannot be taken.
func (s setting) mend() string {
	if s.def == "" {
		return "leave it out to have none"
	}
	return "leave it out for the default of " + s.def
}

// parseBytes reads a size: a number of bytes, or with one of the units B, KB, MB, GB (powers of 1000) and KiB, MiB,
// GiB (powers of 1024).
func parseBytes(raw string) (int64, error) {
	units := []struct {
		suffix string
		factor int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}
	number, factor := strings.TrimSpace(raw), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, fmt.Errorf("%q is no size", raw)
	}
	return n * factor, nil
}

// nearest returns the key closest to a misspelled one, "" where none is within an edit distance of 3.
func nearest(key string) string {
	best, distance := "", 4
	for _, s := range table() {
		if d := editDistance(key, s.key, distance); d < distance {
			best, distance = s.key, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance of two strings, or bound where it is not smaller.
func editDistance(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return min(row[len(b)], bound)
}
