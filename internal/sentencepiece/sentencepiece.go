// Package sentencepiece turns text into the ids of a SentencePiece unigram vocabulary, exactly as the sentencepiece package
// (https://github.com/google/sentencepiece) does, and says which bytes of the source each id stands for.
//
// Text is normalised by the vocabulary's frozen character map (nmt_nfkc: a finite map of byte strings, the longest match
// wins), runs of white space become one U+2581, one more of which is put in front, and white space at both ends goes. The
// normalised text is then cut into the pieces with the highest sum of log probabilities. What no piece covers is unknown,
// at the lowest score less ten, and neighbouring unknown characters share one id.
// The algorithm is that of T. Kudo, "Subword Regularization", 2018, section 3.2 (Viterbi), with scores summed in float32 in
// the package's order, since that decides ties.
//
// All structures lie ready in the sections of a container and are searched in place; opening costs microseconds.
package sentencepiece

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/exhibit-rag/exhibit/internal/weights"
)

// The sections that [Build] makes and [Open] reads.
const (
	sectionTrie   = "tok.trie"     // raw: double array of the pieces, value = id
	sectionScores = "tok.scores"   // f32: log probability by id
	sectionMeta   = "tok.meta"     // f32: score of an unknown character, bytes of the longest piece
	sectionMap    = "tok.charsmap" // raw: uint32 bytes of a double array, that array, texts each ended by a zero byte
)

// space is what white space becomes.
const space = "▁"

// Token is an id and the bytes source[Start:End] that it stands for.
type Token struct {
	ID    int32
	Start int
	End   int
}

// Tokenizer turns text into ids. It is safe for use by several goroutines.
type Tokenizer struct {
	trie     doubleArray
	scores   string // float32, little endian, by id
	pieces   uint32
	unkScore float32
	unk      int32
	maxPiece int

	charsmap doubleArray
	mapped   string           // the texts that the values of charsmap point to
	plain    [asciiCount]bool // bytes that stand for themselves whatever ASCII byte follows
	runs     sync.Pool        // *run
}

const asciiCount = 0x80

// Open takes the tokenizer out of a container. It fails when a section is missing or contradicts its shape. The container's
// string is kept and read in place.
func Open(f *weights.File) (*Tokenizer, error) {
	t := &Tokenizer{unk: int32(f.Config().UNK)}
	var parts [4]weights.Section
	for i, want := range []struct {
		name string
		kind weights.Kind
	}{{sectionTrie, weights.Raw}, {sectionScores, weights.F32}, {sectionMeta, weights.F32}, {sectionMap, weights.Raw}} {
		s, ok := f.Section(want.name)
		if !ok || s.Kind != want.kind {
			return nil, fmt.Errorf("sentencepiece: the weights file has no section %q of kind %v: it carries no tokenizer of this kind", want.name, want.kind)
		}
		parts[i] = s
	}
	t.trie = doubleArray(parts[0].Data)
	t.scores, t.pieces = parts[1].Data, uint32(len(parts[1].Data)/4)
	meta := parts[2].Float32s()
	if len(meta) != 2 || !(meta[1] >= 1 && meta[1] <= math.MaxUint16) || !(meta[0] < 0) {
		return nil, fmt.Errorf("sentencepiece: section %q holds %v, want a negative score and a length up to %d: the file is damaged", sectionMeta, meta, math.MaxUint16)
	}
	t.unkScore, t.maxPiece = meta[0], int(meta[1])
	var err error
	if t.charsmap, t.mapped, err = splitMap(parts[3].Data); err != nil {
		return nil, err
	}
	t.plain = plainBytes(t.charsmap)
	return t, nil
}

// score is the log probability of a piece; the id is below t.pieces.
func (t *Tokenizer) score(id uint32) float32 {
	return math.Float32frombits(uint32At(t.scores, int(id)))
}

// uint32At is number i of a string of little endian uint32.
func uint32At(s string, i int) uint32 {
	b := s[4*i : 4*i+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// Encode returns the ids of text, without begin and end marks. Text of nothing but white space has none.
//
// Any bytes are taken: those that are not UTF-8 count as U+FFFD, one by one. Time is linear in the length of the text, and
// memory beyond the result is some hundred kilobytes. Texts in which more than a MiB hangs together without a place where
// all ways of cutting it meet, such as one letter repeated, take some ten megabytes more, and are cut at such a length where
// the sentencepiece package would keep all of it in memory: there alone ids may differ from it.
func (t *Tokenizer) Encode(text string) []int32 {
	return t.Append(nil, text)
}

// Append appends the ids of text to dst, as [Tokenizer.Encode] returns them.
func (t *Tokenizer) Append(dst []int32, text string) []int32 {
	r := t.start(wantIDs)
	r.ids = slices.Grow(dst, likelyTokens(text))
	r.encode(text)
	dst = r.ids
	t.finish(r)
	return dst
}

// EncodeSpans returns the ids of text, as [Tokenizer.Encode] does, with the bytes of text that each stands for. Spans neither
// overlap nor leave a gap: each starts where the one before ends; only white space lies outside, before the first and after
// the last. White space between words belongs to the token after it, text that normalisation drops to the token before it.
// Where one source character becomes several tokens (㈱ is "(", "株", ")"), the last of them has its bytes and the others are
// empty. The offsets are those of the sentencepiece package.
func (t *Tokenizer) EncodeSpans(text string) []Token {
	r := t.start(wantSpans)
	r.tokens = slices.Grow(r.tokens, likelyTokens(text))
	r.encode(text)
	tokens := r.tokens
	t.finish(r)
	return tokens
}

// likelyTokens guesses the number of tokens, so that most texts need one allocation; a long text may have far fewer.
func likelyTokens(text string) int {
	return min(len(text)/4+4, 1024)
}

// Count returns the number of ids that [Tokenizer.Encode] gives for text.
func (t *Tokenizer) Count(text string) int {
	r := t.start(wantCount)
	r.encode(text)
	n := r.count
	t.finish(r)
	return n
}
