package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/exhibit-rag/exhibit"
)

// DefaultMeasures are measured where none are named.
const DefaultMeasures = "nDCG@10,R@100,RR@10"

// Measure is one measure with its parameters. Its String is the name that ir-measures gives it.
type Measure struct {
	Name   string // as in ir-measures: nDCG, R, RR, P, AP, Success, Judged
	Cutoff int    // only the first so many results count; 0 for all
	Rel    int    // least relevance that counts as relevant; 0 for the default of 1
}

// String spells the measure: "nDCG@10", "P(rel=2)@5", "AP".
func (m Measure) String() string {
	s := m.Name
	if m.Rel > 0 && m.Rel != 1 {
		s += fmt.Sprintf("(rel=%d)", m.Rel)
	}
	if m.Cutoff > 0 {
		s += "@" + strconv.Itoa(m.Cutoff)
	}
	return s
}

// kind is what a measure needs and how it is computed.
type kind struct {
	name    string
	cutoff  bool // a cutoff is required
	rel     bool // takes (rel=…)
	compute func(m Measure, ranked []Ranked, judged map[string]int) float64
}

// kinds lists the measures that are built.
func kinds() []kind {
	return []kind{
		{"nDCG", false, false, nDCG},
		{"R", true, true, recall},
		{"RR", false, true, reciprocalRank},
		{"P", true, true, precision},
		{"AP", false, true, averagePrecision},
		{"Success", true, true, success},
		{"Judged", true, false, judgedShare},
	}
}

func kindOf(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// alias returns the name of a measure that goes by another: in ir-measures, or where people type.
func alias(name string) string {
	for _, a := range [...][2]string{
		{"MRR", "RR"}, {"MAP", "AP"}, {"NDCG", "nDCG"}, {"Recall", "R"}, {"Precision", "P"}, {"hit_rate", "Success"},
	} {
		if strings.EqualFold(a[0], name) {
			return a[1]
		}
	}
	for _, k := range kinds() {
		if strings.EqualFold(k.name, name) {
			return k.name
		}
	}
	return name
}

// ParseMeasures parses a list of measures separated by commas or white space, such as "nDCG@10,R@100,RR@10"; "" gives
// DefaultMeasures. MRR and MAP are RR and AP; capitals do not matter. The error wraps exhibit.ErrInvalid.
func ParseMeasures(list string) ([]Measure, error) {
	if strings.TrimSpace(list) == "" {
		list = DefaultMeasures
	}
	var out []Measure
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }) {
		m, err := ParseMeasure(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, invalidMeasure(list, "names no measure")
	}
	return out, nil
}

// ParseMeasure parses one measure, such as "nDCG@10" or "P(rel=2)@5".
func ParseMeasure(text string) (Measure, error) {
	name, cutoff, hasCutoff := strings.Cut(text, "@")
	name, params, hasParams := strings.Cut(name, "(")
	m := Measure{Name: alias(name)}
	k, ok := kindOf(m.Name)
	if !ok {
		return m, invalidMeasure(text, "is not known")
	}
	if hasParams {
		rel, isRel := strings.CutPrefix(params, "rel=")
		rel, closed := strings.CutSuffix(rel, ")")
		n, err := strconv.Atoi(rel)
		switch {
		case !isRel || !closed || err != nil || n < 1:
			return m, invalidMeasure(text, "has a parameter that is not (rel=N) with N of 1 or more")
		case !k.rel:
			return m, invalidMeasure(text, "takes no (rel=N)")
		case n > 1:
			m.Rel = n
		}
	}
	switch {
	case hasCutoff:
		n, err := strconv.Atoi(cutoff)
		if err != nil || n < 1 {
			return m, invalidMeasure(text, fmt.Sprintf("has %q after the @, which is not a number of 1 or more", cutoff))
		}
		m.Cutoff = n
	case k.cutoff:
		return m, invalidMeasure(text, "needs a cutoff, such as "+m.Name+"@10")
	}
	return m, nil
}

func invalidMeasure(text, why string) error {
	var names []string
	for _, k := range kinds() {
		name := k.name + "@k"
		if !k.cutoff {
			name = k.name + "[@k]"
		}
		names = append(names, name)
	}
	return &exhibit.Error{Op: "measures", Source: strconv.Quote(text), Kind: exhibit.ErrInvalid, Err: errors.New(why),
		Hint: "known are " + strings.Join(names, ", ") + "; all but nDCG and Judged take a least relevance, as in P(rel=2)@5"}
}

// MaxCutoff returns the largest cutoff among measures, 0 where none has one. A ranking shorter than that cannot fill it.
func MaxCutoff(measures []Measure) int {
	n := 0
	for _, m := range measures {
		n = max(n, m.Cutoff)
	}
	return n
}

// Value computes the measure for one query from its ranking, best first, and its judgements. Documents without a
// judgement count as not relevant. It is 0 where nothing is relevant.
func (m Measure) Value(ranked []Ranked, judged map[string]int) float64 {
	k, ok := kindOf(m.Name)
	if !ok {
		return math.NaN()
	}
	if m.Cutoff > 0 && len(ranked) > m.Cutoff {
		ranked = ranked[:m.Cutoff]
	}
	return k.compute(m, ranked, judged)
}

func (m Measure) relevant(rel int) bool { return rel >= max(m.Rel, 1) }

func (m Measure) countRelevant(judged map[string]int) int {
	n := 0
	for _, rel := range judged {
		if m.relevant(rel) {
			n++
		}
	}
	return n
}

func (m Measure) hits(ranked []Ranked, judged map[string]int) int {
	n := 0
	for _, r := range ranked {
		if m.relevant(judged[r.ID]) {
			n++
		}
	}
	return n
}

// nDCG is trec_eval's ndcg_cut and ndcg: DCG = Σ rel(i) / log₂(i + 1) over ranks i from 1, where a relevance below 0 gains
// 0, divided by the DCG of all judged documents in their best order, cut at the same rank. Source: K. Järvelin and
// J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002, in the form of m_ndcg_cut.c.
func nDCG(m Measure, ranked []Ranked, judged map[string]int) float64 {
	var dcg float64
	for i, r := range ranked {
		dcg += gain(judged[r.ID], i)
	}
	ideal := make([]int, 0, len(judged))
	for _, rel := range judged {
		if rel > 0 {
			ideal = append(ideal, rel)
		}
	}
	slices.SortFunc(ideal, func(a, b int) int { return b - a })
	if m.Cutoff > 0 && len(ideal) > m.Cutoff {
		ideal = ideal[:m.Cutoff]
	}
	var best float64
	for i, rel := range ideal {
		best += gain(rel, i)
	}
	return ratio(dcg, best)
}

func gain(rel, i int) float64 { return float64(max(rel, 0)) / math.Log2(float64(i)+2) }

// recall is trec_eval's recall_k: the share of the relevant documents that is among the first k.
func recall(m Measure, ranked []Ranked, judged map[string]int) float64 {
	return ratio(float64(m.hits(ranked, judged)), float64(m.countRelevant(judged)))
}

// precision is trec_eval's P_k: the share of relevant documents among the first k, divided by k also where fewer came.
func precision(m Measure, ranked []Ranked, judged map[string]int) float64 {
	return float64(m.hits(ranked, judged)) / float64(m.Cutoff)
}

// success is trec_eval's success_k: 1 where a relevant document is among the first k, else 0.
func success(m Measure, ranked []Ranked, judged map[string]int) float64 {
	return min(1, float64(m.hits(ranked, judged)))
}

// reciprocalRank is 1 / rank of the first relevant document, 0 where none is among the first k: trec_eval's recip_rank,
// with the cutoff of MS MARCO's MRR@10. Its mean is the MRR of E. M. Voorhees, "The TREC-8 Question Answering Track
// Report", 1999.
func reciprocalRank(m Measure, ranked []Ranked, judged map[string]int) float64 {
	for i, r := range ranked {
		if m.relevant(judged[r.ID]) {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// averagePrecision is trec_eval's map and map_cut_k: the precision at the rank of each relevant document among the first
// k, summed, divided by the number of all relevant documents.
func averagePrecision(m Measure, ranked []Ranked, judged map[string]int) float64 {
	var sum float64
	hits := 0
	for i, r := range ranked {
		if m.relevant(judged[r.ID]) {
			hits++
			sum += float64(hits) / float64(i+1)
		}
	}
	return ratio(sum, float64(m.countRelevant(judged)))
}

// judgedShare is the share of judged documents among the first k, or among all where fewer came, as ir-measures has it.
func judgedShare(_ Measure, ranked []Ranked, judged map[string]int) float64 {
	n := 0
	for _, r := range ranked {
		if _, ok := judged[r.ID]; ok {
			n++
		}
	}
	return ratio(float64(n), float64(len(ranked)))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
