package wire

import (
	"math"
	"strconv"

	"github.com/exhibit-rag/exhibit"
)

// Span is where a chunk stands in its document's text form. Bytes are half-open from 0; lines and pages inclusive from
// 1, absent where they are not known.
type Span struct {
	StartByte int `json:"start_byte"`
	EndByte   int `json:"end_byte"`
	StartLine int `json:"start_line,omitempty"`
	EndLine   int `json:"end_line,omitempty"`
	StartPage int `json:"start_page,omitempty"`
	EndPage   int `json:"end_page,omitempty"`
}

// Evidence is one evidence block. DocumentID is the EvidenceKey. Metadata holds what no other field says: a docId or
// title that stands under metadata too, with the same value, is written once.
type Evidence struct {
	Handle      string           `json:"handle,omitempty"`
	DocumentID  string           `json:"document_id"`
	EvidenceKey string           `json:"evidence_key"`
	DocID       string           `json:"doc_id,omitempty"`
	ChunkIndex  *int             `json:"chunk_index,omitempty"`
	Position    *int             `json:"position,omitempty"`
	Citation    string           `json:"citation"`
	Source      string           `json:"source"`
	Title       string           `json:"title,omitempty"`
	HeadingPath List[string]     `json:"heading_path"`
	Span        *Span            `json:"span,omitempty"`
	Page        int              `json:"page,omitempty"`
	Text        string           `json:"text"`
	Cut         bool             `json:"cut,omitempty"`
	ContentHash string           `json:"content_hash"`
	ConfigHash  string           `json:"config_hash,omitempty"`
	Score       *float64         `json:"score,omitempty"`
	ScoreKind   string           `json:"score_kind,omitempty"`
	Scores      Scores           `json:"scores,omitzero"`
	HitReasons  List[string]     `json:"hit_reasons"`
	Metadata    exhibit.Metadata `json:"metadata,omitempty"`
}

// FromEvidence converts one evidence block.
func FromEvidence(e exhibit.Evidence) Evidence {
	key := e.Key.String()
	w := Evidence{
		Handle: e.Handle, DocumentID: key, EvidenceKey: key, DocID: e.DocID, Position: e.Position,
		Citation: e.Citation().String(), Source: e.Source, Title: e.Title, HeadingPath: e.HeadingPath,
		Span: fromSpan(e.Span), Text: e.Text, Cut: e.Cut, ContentHash: e.ContentHash, ConfigHash: e.ConfigHash,
		Scores: FromScores(e.Scores), HitReasons: e.HitReasons, Metadata: furtherMetadata(&e),
	}
	if e.ChunkIndex >= 0 {
		index := e.ChunkIndex
		w.ChunkIndex = &index
	}
	if e.Span != nil {
		w.Page = e.Span.StartPage
	}
	if e.ScoreKind != "" {
		if w.Score = finite(e.Score); w.Score != nil {
			w.ScoreKind = e.ScoreKind
		}
	}
	return w
}

// FromEvidences converts a list of evidence blocks.
func FromEvidences(list []exhibit.Evidence) List[Evidence] {
	out := make(List[Evidence], len(list))
	for i, e := range list {
		out[i] = FromEvidence(e)
	}
	return out
}

func fromSpan(s *exhibit.Span) *Span {
	if s == nil {
		return nil
	}
	w := Span(*s)
	return &w
}

// furtherMetadata returns what the fields of the block do not say already, without what JSON could only hold as null:
// null itself and numbers that are not finite.
func furtherMetadata(e *exhibit.Evidence) exhibit.Metadata {
	said := map[string]string{"docId": e.DocID, "doc_id": e.DocID, "evidenceKey": e.Key.String(), "evidence_key": e.Key.String(),
		"source": e.Source, "title": e.Title}
	if e.ChunkIndex >= 0 {
		index := strconv.Itoa(e.ChunkIndex)
		said["chunkIndex"], said["chunk_index"] = index, index
	}
	out := make(exhibit.Metadata, len(e.Metadata))
	for name, v := range e.Metadata {
		if known, ok := said[name]; ok && v.Kind() != exhibit.ListValue && v.Text() == known {
			continue
		}
		if v, ok := holdable(v); ok {
			out[name] = v
		}
	}
	return out
}

func holdable(v exhibit.Value) (exhibit.Value, bool) {
	switch v.Kind() {
	case exhibit.NullValue:
		return v, false
	case exhibit.NumberValue:
		n, _ := v.Float()
		return v, !math.IsNaN(n) && !math.IsInf(n, 0)
	case exhibit.ListValue:
		var members []exhibit.Value
		for _, m := range v.Members() {
			if m, ok := holdable(m); ok {
				members = append(members, m)
			}
		}
		return exhibit.List(members...), true
	}
	return v, true
}

// LegScore is what one leg gave: Rank is absent where the score was completed and the leg did not find it.
type LegScore struct {
	Score float64 `json:"score"`
	Rank  int     `json:"rank,omitempty"`
}

// NamedScore is one member of Scores: Leg holds it for a leg, Value for "fused" and "rerank".
type NamedScore struct {
	Name  string
	Leg   *LegScore
	Value float64
}

// Scores is written as an object: each leg under its name, then "fused" and "rerank", in that order.
type Scores []NamedScore

// FromScores converts scores; what is not finite is left out. The zero Scores stands for none at all.
func FromScores(s exhibit.Scores) Scores {
	var out Scores
	for _, l := range s.Legs {
		if finite(l.Score) != nil {
			out = append(out, NamedScore{Name: l.Leg, Leg: &LegScore{Score: l.Score, Rank: l.Rank}})
		}
	}
	for _, n := range [...]struct {
		name  string
		value *float64
	}{{exhibit.ScoreFused, s.Fused}, {exhibit.ScoreRerank, s.Rerank}} {
		if n.value != nil && finite(*n.value) != nil {
			out = append(out, NamedScore{Name: n.name, Value: *n.value})
		}
	}
	return out
}

// MarshalJSON writes the scores as one object.
func (s Scores) MarshalJSON() ([]byte, error) {
	members := make([]member, len(s))
	for i, n := range s {
		members[i] = member{n.Name, n.Value}
		if n.Leg != nil {
			members[i].value = n.Leg
		}
	}
	return marshalMembers(members)
}
