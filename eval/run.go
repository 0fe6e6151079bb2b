package eval

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
)

// Ranked is one result of a query.
type Ranked struct {
	ID    string // of a document, or an evidence key
	Score float64
}

// Ranking is what was found for one query, best first. The order is the list's; scores need not fall along it.
type Ranking struct {
	QueryID string
	Ranked  []Ranked
}

// Run is what one system found for the queries of a set.
type Run struct {
	Tag      string // names the system; no white space
	Rankings []Ranking
}

// of returns the rankings by query.
func (r *Run) of() map[string][]Ranked {
	m := make(map[string][]Ranked, len(r.Rankings))
	for _, q := range r.Rankings {
		m[q.QueryID] = q.Ranked
	}
	return m
}

// TRECOptions say how a run file is written. Nil means the defaults.
type TRECOptions struct {
	EscapeIDs bool // percent-encode white space, control characters and % in ids; default: such ids are an error
}

// WriteTREC writes a run file, a line "qid Q0 docid rank score tag" a result. trec_eval ignores the rank, orders by score
// in single precision and breaks ties by docid; so that it sees the order of the list, the scores written fall strictly
// as float32: one that does not is written as the next float32 below the one before. The error wraps
// exhibit.ErrInvalid for an id that cannot stand in such a file and for a score that is not a number.
func (r *Run) WriteTREC(w io.Writer, opt *TRECOptions) error {
	escape := opt != nil && opt.EscapeIDs
	tag := r.Tag
	if tag == "" {
		tag = "exhibit"
	}
	if err := checkID("tag", tag); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, q := range r.Rankings {
		query, err := writableID("query id", q.QueryID, escape)
		if err != nil {
			return err
		}
		scores, err := fallingScores(q)
		if err != nil {
			return err
		}
		for i, one := range q.Ranked {
			id, err := writableID("document id", one.ID, escape)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s Q0 %s %d %s %s\n", query, id, i+1, formatScore(scores[i]), tag)
		}
	}
	return out.Flush()
}

// fallingScores returns the scores of a ranking as float32 that fall strictly.
func fallingScores(q Ranking) ([]float32, error) {
	scores := make([]float32, len(q.Ranked))
	for i, one := range q.Ranked {
		s := float32(min(max(one.Score, -math.MaxFloat32), math.MaxFloat32))
		if i > 0 && s >= scores[i-1] {
			s = math.Nextafter32(scores[i-1], float32(math.Inf(-1)))
		}
		if math.IsNaN(one.Score) || math.IsInf(float64(s), 0) {
			return nil, &exhibit.Error{Op: "run file", Source: q.QueryID, Kind: exhibit.ErrInvalid,
				Err: fmt.Errorf("no falling single-precision score can be written for %q (score %v)", one.ID, one.Score)}
		}
		scores[i] = s
	}
	return scores, nil
}

// formatScore writes the shortest decimal that gives the same float32, also to a reader that parses a double first.
func formatScore(s float32) string {
	text := strconv.FormatFloat(float64(s), 'g', -1, 32)
	if d, err := strconv.ParseFloat(text, 64); err != nil || float32(d) != s {
		return strconv.FormatFloat(float64(s), 'g', -1, 64)
	}
	return text
}

func writableID(what, id string, escape bool) (string, error) {
	if escape {
		id = EscapeID(id)
	}
	return id, checkID(what, id)
}

func checkID(what, id string) error {
	if id == "" {
		return &exhibit.Error{Op: "run file", Kind: exhibit.ErrInvalid, Err: fmt.Errorf("a %s is empty", what)}
	}
	if strings.ContainsFunc(id, unwritable) {
		return &exhibit.Error{Op: "run file", Source: strconv.Quote(id), Kind: exhibit.ErrInvalid, Err: fmt.Errorf("the %s holds white space or control characters, and white space separates the columns", what),
			Hint: "--escape-ids percent-encodes them; the judgements must then be encoded the same way"}
	}
	return nil
}

// unwritable reports characters at which one reader or another splits a line: all white space of Unicode, and controls.
func unwritable(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError
}

// EscapeID percent-encodes, byte by byte in upper-case hex, what cannot stand in a column of a TREC file: white space,
// control characters, invalid UTF-8, and % itself, so that decoding gives the id back.
func EscapeID(id string) string {
	if !strings.ContainsFunc(id, func(r rune) bool { return r == '%' || unwritable(r) }) {
		return id
	}
	var b strings.Builder
	for len(id) > 0 {
		r, size := utf8.DecodeRuneInString(id)
		if r == '%' || unwritable(r) {
			for _, c := range []byte(id[:size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(id[:size])
		}
		id = id[size:]
	}
	return b.String()
}
