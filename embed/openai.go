package embed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/exhibit-rag/exhibit"
)

// Limits of one request, as the OpenAI API states them; tokens are bounded from above by bytes.
const (
	maxInputs        = 2048
	maxRequestBytes  = 300_000
	maxAnswerBytes   = 256 << 20
	defaultBatch     = 64
	defaultTimeout   = 30 * time.Second
	defaultAttempts  = 5
	queryAttempts    = 2
	firstBackOff     = 500 * time.Millisecond
	longestBackOff   = 20 * time.Second
	longestErrorText = 300
)

// OpenAIOptions are the settings of an OpenAI. BaseURL and Model are required.
type OpenAIOptions struct {
	BaseURL    string        // up to and without "/embeddings": http://localhost:11434/v1
	Model      string        // sent as it is
	APIKey     string        // sent as a bearer token; "" sends none
	Dimensions int           // asked for where it is not 0; answers must then have it
	Timeout    time.Duration // of one request; default 30 s
	Batch      int           // most texts of one request; default 64, at most 2048
	Attempts   int           // tries of one request; default 5
	Client     *http.Client  // default: a client of its own that follows no proxy but the environment's
	// Sleep waits between tries; default: a timer that ctx ends. Tests replace it.
	Sleep func(ctx context.Context, d time.Duration) error
}

// OpenAI is an embedder over HTTP in the shape of OpenAI's POST /embeddings, which Ollama, TEI and vLLM serve too. An
// answer of 429 or 5xx and a failing connection are tried again with growing, jittered pauses that heed Retry-After;
// any other refusal is final. It is safe for concurrent use.
type OpenAI struct {
	opt      OpenAIOptions
	endpoint string
}

// NewOpenAI returns the embedder. It opens no connection. The error wraps exhibit.ErrInvalid.
func NewOpenAI(opt OpenAIOptions) (*OpenAI, error) {
	base, err := url.Parse(opt.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, &exhibit.Error{Source: "embed.base-url", Kind: exhibit.ErrInvalid, Err: fmt.Errorf("%q is no http or https address", opt.BaseURL),
			Hint: "set it to the address up to and without /embeddings, such as http://localhost:11434/v1"}
	}
	if opt.Model == "" {
		return nil, &exhibit.Error{Source: "embed.model", Kind: exhibit.ErrInvalid, Err: errors.New("no model is named"), Hint: "set embed.model to the name the server knows it by"}
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	if opt.Batch <= 0 {
		opt.Batch = defaultBatch
	}
	opt.Batch = min(opt.Batch, maxInputs)
	if opt.Attempts <= 0 {
		opt.Attempts = defaultAttempts
	}
	if opt.Client == nil {
		opt.Client = &http.Client{}
	}
	if opt.Sleep == nil {
		opt.Sleep = sleep
	}
	return &OpenAI{opt: opt, endpoint: strings.TrimSuffix(opt.BaseURL, "/") + "/embeddings"}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Model names the model; its dimension is the one asked for, 0 where the server decides.
func (o *OpenAI) Model() exhibit.EmbeddingModel {
	return exhibit.EmbeddingModel{Name: o.opt.Model, Dimension: o.opt.Dimensions}
}

// Embed answers the vectors of the texts. The server is told nothing of the kind: this API has no word for it.
//
// A question is tried at most twice, since somebody waits for it and its lookup can go on without vectors.
func (o *OpenAI) Embed(ctx context.Context, kind exhibit.TextKind, texts []string) ([][]float32, error) {
	attempts := o.opt.Attempts
	if kind == exhibit.Query {
		attempts = min(attempts, queryAttempts)
	}
	out := make([][]float32, 0, len(texts))
	model := o.Model()
	for len(texts) > 0 {
		n := o.batch(texts)
		vectors, err := o.request(ctx, texts[:n], attempts)
		if err != nil {
			return nil, err
		}
		if err := Normalise(model, n, vectors); err != nil {
			return nil, err
		}
		model.Dimension = len(vectors[0])
		out, texts = append(out, vectors...), texts[n:]
	}
	return out, nil
}

// batch returns how many of the texts go into the next request.
func (o *OpenAI) batch(texts []string) int {
	size := 0
	for i, t := range texts {
		if size += len(t); i == o.opt.Batch || i > 0 && size > maxRequestBytes {
			return i
		}
	}
	return len(texts)
}

type embeddingsRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

type embeddingsAnswer struct {
	Data []struct {
		Index     int     `json:"index"`
		Embedding numbers `json:"embedding"`
	} `json:"data"`
}

// numbers is a vector as a list or, as some servers answer it, as base64 of little-endian float32.
type numbers []float32

func (n *numbers) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, (*[]float32)(n))
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return err
	}
	if len(raw)%4 != 0 {
		return fmt.Errorf("%d bytes are no float32 list", len(raw))
	}
	*n = make(numbers, len(raw)/4)
	for i := range *n {
		(*n)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// request sends one batch, trying again where that may help.
func (o *OpenAI) request(ctx context.Context, texts []string, attempts int) ([][]float32, error) {
	for i, t := range texts {
		if t == "" {
			return nil, o.fail(fmt.Errorf("text %d is empty", i), "")
		}
	}
	body, err := json.Marshal(embeddingsRequest{Model: o.opt.Model, Input: texts, EncodingFormat: "float", Dimensions: o.opt.Dimensions})
	if err != nil {
		return nil, err
	}
	pause := firstBackOff
	for attempt := 1; ; attempt++ {
		vectors, wait, err := o.send(ctx, body, len(texts))
		if err == nil {
			return vectors, nil
		}
		if ctxErr := ctx.Err(); ctxErr != nil {
			return nil, ctxErr
		}
		var again *retryable
		if !errors.As(err, &again) {
			return nil, o.fail(err, "check embed.base-url, embed.model and the key; nothing that was stored is changed")
		}
		if attempt >= attempts {
			return nil, o.fail(fmt.Errorf("%w, after %d tries", err, attempt), "the next sync goes on from here; nothing that was stored is changed")
		}
		jittered := pause/2 + rand.N(pause/2+1)
		if err := o.opt.Sleep(ctx, min(max(wait, jittered), max(wait, longestBackOff))); err != nil {
			return nil, err
		}
		pause = min(2*pause, longestBackOff)
	}
}

func (o *OpenAI) fail(err error, hint string) error {
	return &exhibit.Error{Op: "embed", Source: o.endpoint, Kind: exhibit.ErrEmbedder, Err: err, Hint: hint}
}

// retryable wraps a failure that a later try may not meet.
type retryable struct{ error }

func (r *retryable) Unwrap() error { return r.error }

// send makes one request. The pause is what the server asked for.
func (o *OpenAI) send(ctx context.Context, body []byte, n int) (vectors [][]float32, pause time.Duration, err error) {
	within, cancel := context.WithTimeout(ctx, o.opt.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodPost, o.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if o.opt.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+o.opt.APIKey)
	}
	resp, err := o.opt.Client.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v", o.opt.Timeout)
		}
		return nil, 0, &retryable{err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if err != nil {
		return nil, 0, &retryable{err}
	}
	if len(data) > maxAnswerBytes {
		return nil, 0, fmt.Errorf("the answer is larger than %d bytes", maxAnswerBytes)
	}
	if resp.StatusCode != http.StatusOK {
		err := fmt.Errorf("%s: %s", resp.Status, errorText(data))
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
			return nil, retryAfter(resp.Header.Get("Retry-After")), &retryable{err}
		}
		return nil, 0, err
	}
	vectors, err = decodeVectors(data, n)
	return vectors, 0, err
}

// decodeVectors reads the answer and puts the vectors in order of their index.
func decodeVectors(data []byte, n int) ([][]float32, error) {
	var answer embeddingsAnswer
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if len(answer.Data) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(answer.Data), n)
	}
	vectors := make([][]float32, n)
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= n || vectors[d.Index] != nil {
			return nil, fmt.Errorf("index %d is out of range or twice there", d.Index)
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, nil
}

// errorText takes the message out of an error answer, whatever its shape, in at most longestErrorText bytes.
func errorText(data []byte) string {
	var shaped struct {
		Error json.RawMessage `json:"error"`
	}
	text := strings.TrimSpace(string(data))
	if json.Unmarshal(data, &shaped) == nil && len(shaped.Error) > 0 {
		var inner struct {
			Message string `json:"message"`
		}
		var plain string
		switch {
		case json.Unmarshal(shaped.Error, &inner) == nil && inner.Message != "":
			text = inner.Message
		case json.Unmarshal(shaped.Error, &plain) == nil:
			text = plain
		}
	}
	if len(text) > longestErrorText {
		text = strings.ToValidUTF8(text[:longestErrorText], "") + "…"
	}
	return text
}

// retryAfter reads a Retry-After header in seconds or as a date; 0 for none. Longer than a minute counts as a minute.
func retryAfter(h string) time.Duration {
	var d time.Duration
	if seconds, err := strconv.Atoi(h); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(h); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), time.Minute)
}

var _ exhibit.Embedder = (*OpenAI)(nil)
