// Package tokens counts the tokens of a text as language models' tokenizers cut it.
package tokens

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// The encodings that are counted.
const (
	O200kBase  = "o200k_base"
	Cl100kBase = "cl100k_base"
)

// Names returns the encodings in order, the default first.
func Names() []string { return []string{O200kBase, Cl100kBase} }

// Counters holds one counter an encoding. An encoding is loaded when it is first used, which takes some 20 to 40 ms.
// The zero value is ready; it is safe for concurrent use.
type Counters struct {
	o200k, cl100k lazy
}

// lazy is one encoding, loaded when it is first asked for.
type lazy struct {
	once  sync.Once
	codec *codec.Codec

	tokens          int  // how many there are
	marksAreLetters bool // combining marks belong to the word before them

	spaceOnce sync.Once
	space     map[string]int
}

func (l *lazy) load(make func() *codec.Codec, tokens int, marksAreLetters bool) *lazy {
	l.once.Do(func() { l.codec, l.tokens, l.marksAreLetters = make(), tokens, marksAreLetters })
	return l
}

// Counter counts with one encoding. It is safe for concurrent use.
type Counter struct {
	encoding *lazy
}

// Get returns the counter of an encoding; the empty name is the default, o200k_base.
func (c *Counters) Get(name string) (*Counter, error) {
	switch name {
	case "", O200kBase:
		return &Counter{c.o200k.load(codec.NewO200kBase, 199_998, true)}, nil
	case Cl100kBase:
		return &Counter{c.cl100k.load(codec.NewCl100kBase, 100_256, false)}, nil
	}
	return nil, fmt.Errorf("tokenizer %q is none of %q", name, Names())
}

// Known reports whether name is an encoding, without loading it.
func Known(name string) bool { return name == "" || slices.Contains(Names(), name) }

// Name returns the name of the encoding.
func (c *Counter) Name() string { return c.encoding.codec.GetName() }

// Count returns how many tokens the text is. Names of special tokens inside it are plain text. Time is O(n log n).
func (c *Counter) Count(text string) (int, error) {
	total := 0
	for from := 0; from < len(text); {
		run, ok := nextBrokenRun(text, from, c.encoding.marksAreLetters)
		if !ok {
			run = brokenRun{len(text), len(text)}
		}
		n, err := c.encoding.codec.Count(text[from:run.start])
		if err != nil {
			return 0, fmt.Errorf("count %s tokens of %d bytes: %w", c.Name(), len(text), err)
		}
		total += n
		if ok {
			total += mergeCount(text[run.start:run.end], c.encoding.spaceTokens())
		}
		from = run.end
	}
	return total, nil
}
