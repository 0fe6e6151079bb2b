package embed

import (
	"context"
	"fmt"
	"sync"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/bert"
	"github.com/exhibit-rag/exhibit/internal/sentencepiece"
	"github.com/exhibit-rag/exhibit/internal/weights"
)

// Prefixes that the E5 models were trained with, see https://huggingface.co/intfloat/multilingual-e5-small.
const (
	queryPrefix   = "query: "
	passagePrefix = "passage: "
)

// LocalOptions are the settings of a Local. Nil means the defaults.
type LocalOptions struct {
	Kernel  string // default: the best that this CPU runs
	Workers int    // most goroutines of one call; default: one a core
}

// Local is the encoder that the program carries. Tokenizer and encoder are opened on first use, apart from each other,
// so that counting tokens does not cost the encoder's memory. It is safe for concurrent use.
type Local struct {
	model     exhibit.EmbeddingModel
	opt       LocalOptions
	tokenizer func() (*sentencepiece.Tokenizer, error)
	encoder   func() (*bert.Encoder, error)
	config    func() (weights.Config, error)
}

// NewLocal returns the embedder over the data of a weights file. The data is kept, not copied.
func NewLocal(model exhibit.EmbeddingModel, data string, opt *LocalOptions) *Local {
	l := &Local{model: model}
	if opt != nil {
		l.opt = *opt
	}
	file := sync.OnceValues(func() (*weights.File, error) { return weights.Open(data) })
	l.config = func() (weights.Config, error) {
		f, err := file()
		if err != nil {
			return weights.Config{}, err
		}
		return f.Config(), nil
	}
	l.tokenizer = sync.OnceValues(func() (*sentencepiece.Tokenizer, error) {
		f, err := file()
		if err != nil {
			return nil, err
		}
		return sentencepiece.Open(f)
	})
	l.encoder = sync.OnceValues(func() (*bert.Encoder, error) {
		f, err := file()
		if err != nil {
			return nil, err
		}
		return bert.Open(f, &bert.Options{Kernel: l.opt.Kernel, Workers: l.opt.Workers})
	})
	return l
}

// Model names the model and its dimension.
func (l *Local) Model() exhibit.EmbeddingModel { return l.model }

// Kernel opens the encoder and names the kernel that it runs.
func (l *Local) Kernel() (string, error) {
	e, err := l.encoder()
	if err != nil {
		return "", err
	}
	return e.Kernel(), nil
}

// Count returns how many tokens of the model a text has, without prefix and marks.
func (l *Local) Count(text string) (int, error) {
	t, err := l.tokenizer()
	if err != nil {
		return 0, err
	}
	return t.Count(text), nil
}

// Counter returns Count as a function that cannot fail, opening the tokenizer first.
func (l *Local) Counter() (func(string) int, error) {
	t, err := l.tokenizer()
	if err != nil {
		return nil, err
	}
	return t.Count, nil
}

// Embed answers the vectors of the texts. A text of more tokens than the model takes is embedded in windows, whose
// vectors are averaged by length; nothing is cut off.
func (l *Local) Embed(ctx context.Context, kind exhibit.TextKind, texts []string) ([][]float32, error) {
	encoder, err := l.encoder()
	if err != nil {
		return nil, err
	}
	parts, counts, err := l.windows(kind, texts)
	if err != nil {
		return nil, err
	}
	vectors, err := encoder.Embed(ctx, parts)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, n := range counts {
		mine, lengths := vectors[:n], make([]int, n)
		for j := range lengths {
			lengths[j] = len(parts[j])
		}
		vectors, parts = vectors[n:], parts[n:]
		if n == 1 {
			out[i] = mine[0]
			continue
		}
		if out[i], err = bert.Mean(mine, lengths); err != nil {
			return nil, err
		}
	}
	return out, Normalise(l.model, len(texts), out)
}

// windows returns the token ids of the texts, marks included, and how many windows each text has.
func (l *Local) windows(kind exhibit.TextKind, texts []string) (parts [][]int32, counts []int, err error) {
	t, err := l.tokenizer()
	if err != nil {
		return nil, nil, err
	}
	config, err := l.config()
	if err != nil {
		return nil, nil, err
	}
	prefix := passagePrefix
	if kind == exhibit.Query {
		prefix = queryPrefix
	}
	head := 1 + len(t.Encode(prefix))
	for _, text := range texts {
		ids := append([]int32{int32(config.BOS)}, t.Encode(prefix+text)...)
		ids = append(ids, int32(config.EOS))
		windows, err := bert.Windows(ids, head, 1, config.MaxPositions)
		if err != nil {
			return nil, nil, fmt.Errorf("embed: %w", err)
		}
		parts = append(parts, windows...)
		counts = append(counts, len(windows))
	}
	return parts, counts, nil
}

var _ exhibit.Embedder = (*Local)(nil)
