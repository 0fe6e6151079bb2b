package exhibit

// LegScore is what one leg gave to a candidate.
type LegScore struct {
	Leg   string
	Score float64
	Rank  int // from 1; 0 where the score was completed and the leg did not find it
}

// Scores are all scores of one candidate, each under its own name and none overwriting another.
type Scores struct {
	Legs   []LegScore // in the order of the legs
	Fused  *float64   // set where more than one leg ran
	Rerank *float64   // set where a reranker scored it
}

// Leg returns what the named leg gave.
func (s Scores) Leg(name string) (LegScore, bool) {
	for _, l := range s.Legs {
		if l.Leg == name {
			return l, true
		}
	}
	return LegScore{}, false
}

// Kinds of the score that ordered a piece of evidence; a single leg's own name is the third.
const (
	ScoreFused  = "fused"
	ScoreRerank = "rerank"
)

// Evidence is one evidence block: a chunk that answers, with its identity, its place and the reasons it was found.
type Evidence struct {
	Handle     string // "[1]", short and unique inside one answer
	Key        Key
	Collection string
	DocID      string // "" where the hit named none
	ChunkIndex int    // -1 where the hit named none
	Position   *int   // order in the document, from 0

	Source      string
	Title       string
	HeadingPath []string
	Span        *Span

	Text        string // exactly the bytes of the source's text form
	Cut         bool   // true where Text was cut to fit a budget
	ContentHash string // of the whole chunk, also where Text was cut
	ConfigHash  string

	Score      float64
	ScoreKind  string
	Scores     Scores
	HitReasons []string // the legs that found it
	Metadata   Metadata
}

// Citation returns the durable citation of the evidence.
func (e *Evidence) Citation() Citation { return Cite(e.Collection, e.Key, e.ContentHash) }
