package embed_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/embed"
)

// server answers requests from a script, one step a request, the last step for all that follow.
type server struct {
	mu       sync.Mutex
	steps    []http.HandlerFunc
	requests []request
}

type request struct {
	Path, Authorization string
	Body                struct {
		Model          string   `json:"model"`
		Input          []string `json:"input"`
		EncodingFormat string   `json:"encoding_format"`
		Dimensions     int      `json:"dimensions"`
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var got request
	got.Path, got.Authorization = r.URL.Path, r.Header.Get("Authorization")
	if err := json.NewDecoder(r.Body).Decode(&got.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	step := s.steps[min(len(s.requests), len(s.steps)-1)]
	s.requests = append(s.requests, got)
	s.mu.Unlock()
	r.Header.Set("X-Inputs", fmt.Sprint(len(got.Body.Input)))
	step(w, r)
}

// seen returns the requests so far. A client that gave up on one does not wait for its handler.
func (s *server) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func inputs(r *http.Request) (n int) {
	fmt.Sscan(r.Header.Get("X-Inputs"), &n)
	return n
}

// unit answers the vector (0, …, 1, …, 0) with the 1 at i, in reverse order, as a server may.
func unit(w http.ResponseWriter, r *http.Request) {
	var data []string
	for i := inputs(r) - 1; i >= 0; i-- {
		v := make([]float32, 4)
		v[i%4] = 1
		text, _ := json.Marshal(v)
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, text))
	}
	fmt.Fprintf(w, `{"object":"list","data":[%s],"usage":{"prompt_tokens":1}}`, strings.Join(data, ","))
}

func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

func body(text string) http.HandlerFunc { return status(http.StatusOK, text) }

type harness struct {
	server *server
	slept  []time.Duration
	client *embed.OpenAI
}

func start(t *testing.T, opt embed.OpenAIOptions, steps ...http.HandlerFunc) *harness {
	t.Helper()
	h := &harness{server: &server{steps: steps}}
	web := httptest.NewServer(h.server)
	t.Cleanup(web.Close)
	opt.BaseURL = web.URL + "/v1/"
	if opt.Model == "" {
		opt.Model = "m"
	}
	opt.Sleep = func(ctx context.Context, d time.Duration) error {
		h.slept = append(h.slept, d)
		return ctx.Err()
	}
	client, err := embed.NewOpenAI(opt)
	if err != nil {
		t.Fatal(err)
	}
	h.client = client
	return h
}

func TestOpenAIRequestAndOrder(t *testing.T) {
	h := start(t, embed.OpenAIOptions{Model: "small", APIKey: "k", Dimensions: 4, Batch: 3}, unit)
	vectors, err := h.client.Embed(context.Background(), exhibit.Query, []string{"a", "b", "c", "d"})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]float32{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 0}}
	if d := cmp.Diff(want, vectors); d != "" {
		t.Error(d)
	}
	if len(h.server.seen()) != 2 {
		t.Fatalf("%d requests for 4 texts in batches of 3", len(h.server.seen()))
	}
	first := h.server.seen()[0]
	if first.Path != "/v1/embeddings" || first.Authorization != "Bearer k" || first.Body.Model != "small" || first.Body.Dimensions != 4 || first.Body.EncodingFormat != "float" {
		t.Errorf("request is %+v", first)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, first.Body.Input); d != "" {
		t.Error(d)
	}
}

func TestOpenAIBase64AndLength(t *testing.T) {
	raw := binary.LittleEndian.AppendUint32(nil, math.Float32bits(3))
	raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(4))
	h := start(t, embed.OpenAIOptions{}, body(`{"data":[{"index":0,"embedding":"`+base64.StdEncoding.EncodeToString(raw)+`"}]}`))
	vectors, err := h.client.Embed(context.Background(), exhibit.Passage, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]float32{{0.6, 0.8}}, vectors); d != "" {
		t.Errorf("not brought to length 1: %s", d)
	}
}

func TestOpenAIRetries(t *testing.T) {
	h := start(t, embed.OpenAIOptions{}, status(429, `{"error":{"message":"slow down"}}`, "Retry-After", "7"), status(503, "busy"), unit)
	if _, err := h.client.Embed(context.Background(), exhibit.Passage, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if len(h.slept) != 2 || h.slept[0] < 7*time.Second {
		t.Errorf("paused %v, wanted at least the 7 s of Retry-After first", h.slept)
	}
	if h.slept[1] <= 0 || h.slept[1] > time.Second {
		t.Errorf("second pause is %v, wanted a jittered second step of the back-off", h.slept[1])
	}
}

func TestOpenAIFaults(t *testing.T) {
	never := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		name     string
		step     http.HandlerFunc
		want     string
		requests int
	}{
		{"429 for ever", status(429, `{"error":{"message":"slow down"}}`), "slow down, after 3 tries", 3},
		{"500 for ever", status(500, "boom"), "boom, after 3 tries", 3},
		{"400", status(400, `{"error":"model not found"}`), "model not found", 1},
		{"401", status(401, `{"error":{"message":"bad key"}}`), "bad key", 1},
		{"NaN", body(`{"data":[{"index":0,"embedding":[NaN,1]},{"index":1,"embedding":[0,1]}]}`), "cannot be read", 1},
		{"infinite", body(`{"data":[{"index":0,"embedding":"AACAfw=="},{"index":1,"embedding":"AACAPw=="}]}`), "not finite", 1},
		{"zero", body(`{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[0,1]}]}`), "all zeros", 1},
		{"wrong dimension", body(`{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1,0,0]}]}`), "vector 1 has 3 dimensions, not 2", 1},
		{"too few", body(`{"data":[{"index":0,"embedding":[1,0]}]}`), "1 vectors for 2 texts", 1},
		{"index twice", body(`{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`), "index 0", 1},
		{"no JSON", body(`<html>`), "cannot be read", 1},
		{"never", never, "no answer within 50ms, after 3 tries", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, embed.OpenAIOptions{Attempts: 3, Timeout: 50 * time.Millisecond}, c.step)
			_, err := h.client.Embed(context.Background(), exhibit.Passage, []string{"a", "b"})
			if !errors.Is(err, exhibit.ErrEmbedder) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error is %v, wanted one of the embedder with %q", err, c.want)
			}
			if exhibit.HintOf(err) == "" {
				t.Error("no hint")
			}
			if len(h.server.seen()) != c.requests {
				t.Errorf("%d requests, wanted %d", len(h.server.seen()), c.requests)
			}
		})
	}
}

func TestOpenAIGivesUpSoonerOnAQuestion(t *testing.T) {
	h := start(t, embed.OpenAIOptions{}, status(503, "busy"))
	if _, err := h.client.Embed(context.Background(), exhibit.Query, []string{"a"}); !errors.Is(err, exhibit.ErrEmbedder) {
		t.Fatalf("error is %v", err)
	}
	if len(h.server.seen()) != 2 {
		t.Errorf("%d tries for a question that somebody waits for, wanted 2", len(h.server.seen()))
	}
}

func TestOpenAIDimensionAsked(t *testing.T) {
	h := start(t, embed.OpenAIOptions{Dimensions: 8}, unit)
	_, err := h.client.Embed(context.Background(), exhibit.Passage, []string{"a"})
	if !errors.Is(err, exhibit.ErrEmbedder) || !strings.Contains(err.Error(), "4 dimensions, not 8") {
		t.Errorf("error is %v", err)
	}
}

func TestOpenAIHeedsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h := start(t, embed.OpenAIOptions{}, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		status(500, "boom")(w, r)
	})
	if _, err := h.client.Embed(ctx, exhibit.Passage, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if len(h.server.seen()) != 1 {
		t.Errorf("%d requests after the end of ctx", len(h.server.seen()))
	}
}

func TestOpenAIOptions(t *testing.T) {
	for _, opt := range []embed.OpenAIOptions{{Model: "m"}, {BaseURL: "localhost:1", Model: "m"}, {BaseURL: "http://localhost:1"}} {
		if _, err := embed.NewOpenAI(opt); !errors.Is(err, exhibit.ErrInvalid) || exhibit.HintOf(err) == "" {
			t.Errorf("%+v: error is %v", opt, err)
		}
	}
}
