package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/exhibit-rag/exhibit/internal/bert"
	"github.com/exhibit-rag/exhibit/internal/measure"
	"github.com/exhibit-rag/exhibit/internal/weights"
	"github.com/exhibit-rag/exhibit/models/e5small"
)

type encoderSpeedCmd struct {
	Graph   string `arg:"" help:"The graph that .ci/oracle/encoder.py graph wrote."`
	Python  string `default:"python3" help:"A Python with onnxruntime and numpy."`
	Threads int    `help:"Threads of both. Default: one a core."`
	Rounds  int    `default:"5" help:"Rounds; in each, first one and then the other is measured."`
	Kernel  string `help:"Kernel. Default: the best."`
}

// speeds are the figures of one engine in one round.
type speeds struct {
	texts float64 // a second, of 128 tokens, all threads
	query float64 // seconds of one text of 14 tokens, one thread
	batch int     // size of the batch that gave texts
}

// Run takes turns with ONNX Runtime and reports the ratios of each round and their medians.
func (c *encoderSpeedCmd) Run(ctx context.Context, b *bench) error {
	if c.Threads <= 0 {
		c.Threads = runtime.NumCPU()
	}
	many, one, err := c.encoders()
	if err != nil {
		return err
	}
	kernel := many.Kernel()
	var texts, query []float64
	for round := range c.Rounds {
		var ours, theirs speeds
		// The one that goes first changes, so that neither has the warmer or the busier machine throughout.
		for turn := range 2 {
			if (round+turn)%2 == 0 {
				ours, err = c.ours(ctx, many, one)
			} else {
				theirs, err = c.theirs(ctx, b)
			}
			if err != nil {
				return err
			}
		}
		texts, query = append(texts, ours.texts/theirs.texts), append(query, ours.query/theirs.query)
		b.say("round %d: 128 tokens, %d threads: ours %.2f texts/s (batch %d), onnxruntime %.2f (batch %d), ratio %.3f; 14 tokens, 1 thread: ours %.2f ms, onnxruntime %.2f ms, ratio %.3f",
			round+1, c.Threads, ours.texts, ours.batch, theirs.texts, theirs.batch, texts[round], ours.query*1e3, theirs.query*1e3, query[round])
	}
	t, q := measure.Median(texts), measure.Median(query)
	return b.finish(&measure.Section{Name: "encoder-speed", Title: "Speed of the encoder beside ONNX Runtime", Rows: []measure.Row{
		{What: fmt.Sprintf("texts/s at 128 tokens, ours / ONNX Runtime fp32, %d threads", c.Threads), Goal: "≥ .8", Found: fmt.Sprintf("%.3f (median of %d rounds, %.3f to %.3f)", t, len(texts), measure.Percentile(texts, 0), measure.Percentile(texts, 1)), Met: t >= .8},
		{What: "time of a 14-token query on one core, ours / ONNX Runtime fp32", Goal: "≤ 1.3", Found: fmt.Sprintf("%.3f (median of %d rounds, %.3f to %.3f)", q, len(query), measure.Percentile(query, 0), measure.Percentile(query, 1)), Met: q <= 1.3},
	}, Notes: []string{fmt.Sprintf("Kernel %s. Each figure of a round is the best of three batch sizes (128 tokens) or the only one (14 tokens), the median over at least a second of runs after an unmeasured one; the two engines take turns in going first. With several threads other work on the machine costs the engines unlike amounts, so a wide spread means that it was not quiet; --threads 1 bears it better.", kernel)}})
}

func (c *encoderSpeedCmd) encoders() (many, one *bert.Encoder, err error) {
	f, err := weights.Open(e5small.Weights())
	if err != nil {
		return nil, nil, err
	}
	if many, err = bert.Open(f, &bert.Options{Kernel: c.Kernel, Workers: c.Threads}); err != nil {
		return nil, nil, err
	}
	one, err = bert.Open(f, &bert.Options{Kernel: c.Kernel, Workers: 1})
	return many, one, err
}

func (c *encoderSpeedCmd) ours(ctx context.Context, many, one *bert.Encoder) (speeds, error) {
	before := runtime.GOMAXPROCS(c.Threads)
	defer runtime.GOMAXPROCS(before)
	rng := rand.New(rand.NewPCG(7, 7))
	batch := func(n, tokens int) [][]int32 {
		out := make([][]int32, n)
		for i := range out {
			out[i] = make([]int32, tokens)
			for j := range out[i] {
				out[i][j] = 10 + rng.Int32N(200000-10)
			}
		}
		return out
	}
	timed := func(e *bert.Encoder, texts [][]int32) (float64, error) {
		took, _, err := measure.Repeat(time.Second, func() error {
			_, err := e.Embed(ctx, texts)
			return err
		})
		return took.Seconds(), err
	}
	var best speeds
	for _, n := range []int{1, 4, 16} {
		took, err := timed(many, batch(n, 128))
		if err != nil {
			return best, err
		}
		if rate := float64(n) / took; rate > best.texts {
			best.texts, best.batch = rate, n
		}
	}
	runtime.GOMAXPROCS(1)
	var err error
	best.query, err = timed(one, batch(1, 14))
	return best, err
}

func (c *encoderSpeedCmd) theirs(ctx context.Context, b *bench) (speeds, error) {
	script := filepath.Join(b.repository, ".ci", "oracle", "encoder.py")
	out, err := measure.RunProcess(exec.CommandContext(ctx, c.Python, script, "bench", c.Graph, "--threads", strconv.Itoa(c.Threads), "--rounds", "1"))
	if err != nil {
		return speeds{}, err
	}
	var s speeds
	for line := range strings.Lines(string(out.Stdout)) {
		var row struct {
			Measure string
			Value   float64
			Batch   int
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return s, fmt.Errorf("encoder.py bench printed %q: %w", line, err)
		}
		switch row.Measure {
		case "texts_per_second":
			s.texts, s.batch = row.Value, row.Batch
		case "query_seconds":
			s.query = row.Value
		}
	}
	if s.texts <= 0 || s.query <= 0 {
		return s, fmt.Errorf("encoder.py bench printed no figures: %q", out.Stdout)
	}
	return s, nil
}
