package exhibit

import (
	"errors"
	"fmt"
	"math"
)

// Origin says where the effective value of a setting came from.
type Origin string

// The origins that every face prints.
const (
	FromDefault    Origin = "default"
	FromUserFile   Origin = "user-file"
	FromFile       Origin = "file"
	FromEnv        Origin = "env"
	FromFlag       Origin = "flag"
	FromRequest    Origin = "request"
	FromLegacyTopK Origin = "legacy rag.top-k"
	FromRaised     Origin = "raised"
)

// Setting is a value and where it was set. The zero Setting is set nowhere, and the default applies.
type Setting[T any] struct {
	Value T
	From  Origin
}

// Set returns a setting made by the request itself.
func Set[T any](v T) Setting[T] { return Setting[T]{Value: v, From: FromRequest} }

// IsSet reports whether the value was set anywhere.
func (s Setting[T]) IsSet() bool { return s.From != "" }

func (s Setting[T]) or(v T) Setting[T] {
	if s.IsSet() {
		return s
	}
	return Setting[T]{Value: v, From: FromDefault}
}

// The names of the settings of a lookup, as in configuration files.
const (
	KeyRetrieveK     = "rag.retrieve-k"
	KeyReturnN       = "rag.return-n"
	KeyMaxChunks     = "rag.max-chunks-per-document"
	KeyTopK          = "rag.top-k"
	KeyCapMode       = "rag.cap-mode"
	KeySearchMode    = "rag.search-mode"
	KeyFusion        = "rag.fusion"
	KeyMinDense      = "rag.min-score.dense"
	KeyMinRerank     = "rag.min-score.rerank"
	KeyMaxTokens     = "project.max-tokens"
	KeyMaxCharacters = "project.max-characters"
	KeyOverflow      = "project.overflow"
	KeyTokenizer     = "project.tokenizer"
)

// Defaults and limits of a lookup.
const (
	DefaultRetrieveK            = 20
	DefaultReturnN              = 5
	DefaultMaxChunksPerDocument = 2
	MaxRetrieveK                = 1000
	MaxReturnN                  = 100
	MaxQueryBytes               = 8192
)

// Values of rag.cap-mode, rag.search-mode and rag.fusion.
const (
	CapStrict   = "strict"
	CapSoft     = "soft"
	ModeHybrid  = "hybrid"
	ModeLexical = "lexical"
	ModeDense   = "dense"
	FusionScore = "score"
	FusionRRF   = "rrf"
)

// LookupSettings are the settings of one lookup. Each says its default; what is set nowhere takes it.
type LookupSettings struct {
	RetrieveK            Setting[int]     // candidates asked of each leg and kept after fusion; 20
	ReturnN              Setting[int]     // most evidence blocks; 5
	MaxChunksPerDocument Setting[int]     // most blocks of one docId; 2
	TopK                 Setting[int]     // legacy: stands in for RetrieveK and for ReturnN where that is set nowhere
	CapMode              Setting[string]  // strict, or soft: refill from capped chunks when short
	SearchMode           Setting[string]  // hybrid, or lexical, dense
	Fusion               Setting[string]  // score, or rrf
	MinDense             Setting[float64] // least cosine of a dense hit; off
	MinRerank            Setting[float64] // least rerank score; off
	NoRerank             bool             // leave a configured reranker out
	MaxTokens            Setting[int]     // budget of the rendered form; off
	MaxCharacters        Setting[int]     // budget of the rendered form; off
	Overflow             Setting[string]  // skip, or cut, strict
	Tokenizer            Setting[string]  // o200k_base, or cl100k_base
}

// Effective is one setting as it took effect, for the answer to echo.
type Effective struct {
	Key   string
	Value Value
	From  Origin
}

// resolve applies defaults, the legacy key and the raise of retrieve-k, and checks every value.
func (s LookupSettings) resolve() (LookupSettings, []string, error) {
	var warnings []string
	var errs []error
	positive := func(key string, v Setting[int], max int) {
		if !v.IsSet() {
			return
		}
		if v.Value < 1 {
			errs = append(errs, invalidSetting(key, fmt.Sprintf("%d is not 1 or more", v.Value), "leave it out for the default"))
		} else if max > 0 && v.Value > max {
			errs = append(errs, invalidSetting(key, fmt.Sprintf("%d is over the limit of %d", v.Value, max), "ask for less"))
		}
	}
	if s.ReturnN.IsSet() {
		positive(KeyTopK, s.TopK, MaxRetrieveK)
	} else {
		positive(KeyTopK, s.TopK, MaxReturnN)
	}
	positive(KeyRetrieveK, s.RetrieveK, MaxRetrieveK)
	positive(KeyReturnN, s.ReturnN, MaxReturnN)
	positive(KeyMaxChunks, s.MaxChunksPerDocument, 0)
	positive(KeyMaxTokens, s.MaxTokens, 0)
	positive(KeyMaxCharacters, s.MaxCharacters, 0)
	oneOf := func(key string, v *Setting[string], names ...string) {
		*v = v.or(names[0])
		for _, n := range names {
			if v.Value == n {
				return
			}
		}
		errs = append(errs, invalidSetting(key, fmt.Sprintf("%q is none of %q", v.Value, names), "leave it out for "+names[0]))
	}
	oneOf(KeyCapMode, &s.CapMode, CapStrict, CapSoft)
	oneOf(KeySearchMode, &s.SearchMode, ModeHybrid, ModeLexical, ModeDense)
	oneOf(KeyFusion, &s.Fusion, FusionScore, FusionRRF)
	oneOf(KeyOverflow, &s.Overflow, string(OverflowSkip), string(OverflowCut), string(OverflowStrict))
	oneOf(KeyTokenizer, &s.Tokenizer, "o200k_base", "cl100k_base")
	for _, m := range [...]struct {
		key string
		v   Setting[float64]
	}{{KeyMinDense, s.MinDense}, {KeyMinRerank, s.MinRerank}} {
		if m.v.IsSet() && (math.IsNaN(m.v.Value) || math.IsInf(m.v.Value, 0)) {
			errs = append(errs, invalidSetting(m.key, "not a finite number", "leave it out for no floor"))
		}
	}
	if len(errs) > 0 {
		return s, nil, errors.Join(errs...)
	}
	if s.TopK.IsSet() {
		legacy := Setting[int]{Value: s.TopK.Value, From: FromLegacyTopK}
		if !s.RetrieveK.IsSet() {
			s.RetrieveK = legacy
		}
		if !s.ReturnN.IsSet() {
			s.ReturnN = legacy
		}
	}
	s.RetrieveK = s.RetrieveK.or(DefaultRetrieveK)
	s.ReturnN = s.ReturnN.or(DefaultReturnN)
	s.MaxChunksPerDocument = s.MaxChunksPerDocument.or(DefaultMaxChunksPerDocument)
	if s.RetrieveK.Value < s.ReturnN.Value {
		warnings = append(warnings, fmt.Sprintf("%s %d raised to %s %d", KeyRetrieveK, s.RetrieveK.Value, KeyReturnN, s.ReturnN.Value))
		s.RetrieveK = Setting[int]{Value: s.ReturnN.Value, From: FromRaised}
	}
	return s, warnings, nil
}

func invalidSetting(key, what, hint string) error {
	return &Error{Source: key, Kind: ErrInvalid, Err: errors.New(what), Hint: hint}
}

// effective lists the settings as they took effect, in a fixed order; floors and budgets only where they are set.
func (s LookupSettings) effective() []Effective {
	list := []Effective{
		{KeyRetrieveK, Int(s.RetrieveK.Value), s.RetrieveK.From},
		{KeyReturnN, Int(s.ReturnN.Value), s.ReturnN.From},
		{KeyMaxChunks, Int(s.MaxChunksPerDocument.Value), s.MaxChunksPerDocument.From},
		{KeyCapMode, String(s.CapMode.Value), s.CapMode.From},
		{KeySearchMode, String(s.SearchMode.Value), s.SearchMode.From},
		{KeyFusion, String(s.Fusion.Value), s.Fusion.From},
	}
	if s.MinDense.IsSet() {
		list = append(list, Effective{KeyMinDense, Number(s.MinDense.Value), s.MinDense.From})
	}
	if s.MinRerank.IsSet() {
		list = append(list, Effective{KeyMinRerank, Number(s.MinRerank.Value), s.MinRerank.From})
	}
	budget := false
	if s.MaxTokens.IsSet() {
		list = append(list, Effective{KeyMaxTokens, Int(s.MaxTokens.Value), s.MaxTokens.From})
		budget = true
	}
	if s.MaxCharacters.IsSet() {
		list = append(list, Effective{KeyMaxCharacters, Int(s.MaxCharacters.Value), s.MaxCharacters.From})
		budget = true
	}
	if budget {
		list = append(list, Effective{KeyOverflow, String(s.Overflow.Value), s.Overflow.From},
			Effective{KeyTokenizer, String(s.Tokenizer.Value), s.Tokenizer.From})
	}
	return list
}
