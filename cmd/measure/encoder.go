package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/exhibit-rag/exhibit/internal/bert"
	"github.com/exhibit-rag/exhibit/internal/measure"
	"github.com/exhibit-rag/exhibit/internal/sentencepiece"
	"github.com/exhibit-rag/exhibit/internal/weights"
	"github.com/exhibit-rag/exhibit/models/e5small"
)

type tokenizerCmd struct {
	Oracle string `arg:"" help:"Lines that .ci/oracle/tokens.py ids wrote."`
}

// Run compares the ids of every text, bare and under both prefixes.
func (c *tokenizerCmd) Run(ctx context.Context, b *bench) error {
	f, err := weights.Open(e5small.Weights())
	if err != nil {
		return err
	}
	tokenizer, err := sentencepiece.Open(f)
	if err != nil {
		return err
	}
	prefixes := []string{"", "query: ", "passage: "}
	texts, size, ids, differ := 0, 0, 0, 0
	err = jsonLines(ctx, c.Oracle, func(line []byte) error {
		var row struct {
			Text *string   `json:"text"`
			B64  []byte    `json:"b64"`
			IDs  [][]int32 `json:"ids"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		text := string(row.B64)
		if row.Text != nil {
			text = *row.Text
		}
		if len(row.IDs) != len(prefixes) {
			return fmt.Errorf("ids of %d forms of a text, not %d", len(row.IDs), len(prefixes))
		}
		texts++
		size += len(text)
		for i, prefix := range prefixes {
			ids += len(row.IDs[i])
			if !slices.Equal(tokenizer.Encode(prefix+text), row.IDs[i]) {
				if differ++; differ <= 5 {
					b.say("differs: %.80q", prefix+text)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.say("%d texts of %d bytes, each bare and under both prefixes: %d ids, %d of %d forms differ", texts, size, ids, differ, texts*len(prefixes))
	return b.finish(&measure.Section{Name: "tokenizer", Title: "Tokenizer beside sentencepiece", Rows: []measure.Row{{
		What: "texts whose ids differ from sentencepiece's", Goal: "0", Found: fmt.Sprintf("%d of %d (%d ids)", differ, texts*len(prefixes), ids), Met: differ == 0 && texts > 0,
	}}, Notes: []string{"The texts are all documents and questions of the data sets, all text files of the file collection, and random strings; see `.ci/oracle/tokens.py`."}})
}

type encoderCmd struct {
	Oracle  string   `arg:"" help:"Lines that .ci/oracle/encoder.py vectors wrote."`
	Kernels []string `help:"Kernels. Default: all that this CPU runs."`
}

// Run compares the vectors under every kernel that this CPU has.
func (c *encoderCmd) Run(ctx context.Context, b *bench) error {
	f, err := weights.Open(e5small.Weights())
	if err != nil {
		return err
	}
	ids, want, err := readVectors(ctx, c.Oracle)
	if err != nil {
		return err
	}
	shortest, longest := len(ids[0]), 0
	for _, x := range ids {
		shortest, longest = min(shortest, len(x)), max(longest, len(x))
	}
	s := &measure.Section{Name: "encoder", Title: "Encoder beside ONNX Runtime", Notes: []string{"Cosine with ONNX Runtime (fp32) on the graph of the same weights; texts of all data sets and texts cut to lengths between, see `.ci/oracle/encoder.py`."}}
	if len(c.Kernels) == 0 {
		c.Kernels = bert.Kernels()
	}
	for _, kernel := range c.Kernels {
		e, err := bert.Open(f, &bert.Options{Kernel: kernel})
		if err != nil {
			return err
		}
		sum, least, at := 0.0, math.Inf(1), 0
		for from := 0; from < len(ids); from += 64 {
			to := min(from+64, len(ids))
			got, err := e.Embed(ctx, ids[from:to])
			if err != nil {
				return err
			}
			for i, v := range got {
				cos := cosine(v, want[from+i])
				sum += cos
				if cos < least {
					least, at = cos, from+i
				}
			}
		}
		b.say("%-10s %d texts of %d to %d tokens: cosine least 1 − %.1e (text %d, %d tokens), mean 1 − %.1e", kernel, len(ids), shortest, longest, 1-least, at, len(ids[at]), 1-sum/float64(len(ids)))
		s.Rows = append(s.Rows, measure.Row{What: "least cosine, kernel " + kernel, Goal: "≥ .999 over ≥ 1,000 texts of 1 to 512 tokens", Found: fmt.Sprintf("1 − %.1e over %d texts", 1-least, len(ids)),
			Met: least >= .999 && len(ids) >= 1000 && shortest == 1 && longest == 512})
	}
	return b.finish(s)
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb)
}

func readVectors(ctx context.Context, path string) (ids [][]int32, vectors [][]float32, err error) {
	err = jsonLines(ctx, path, func(line []byte) error {
		var row struct {
			IDs    []int32 `json:"ids"`
			Vector string  `json:"vector"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		data, err := base64.StdEncoding.DecodeString(row.Vector)
		if err != nil {
			return err
		}
		if len(data) != 4*e5small.Dimension {
			return fmt.Errorf("a vector of %d bytes", len(data))
		}
		v := make([]float32, e5small.Dimension)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		ids, vectors = append(ids, row.IDs), append(vectors, v)
		return nil
	})
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("%s: there is no vector in it", path)
	}
	return ids, vectors, err
}

// jsonLines calls f with every line of a file, of any length.
func jsonLines(ctx context.Context, path string, f func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ctx.Err() == nil; n++ {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			if err := f(line); err != nil {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
