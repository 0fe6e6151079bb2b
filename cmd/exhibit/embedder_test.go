package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// embeddingServer answers POST /embeddings in the shape of OpenAI's, or with a fault from some request on.
type embeddingServer struct {
	fault string // "", "429", "500", "nan", "dimension", "few", "never", "text", "slow"
	after int64  // requests that are answered well before the fault begins
	asked atomic.Int64
	ended chan struct{}
}

func (s *embeddingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Input []string `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fault := s.fault
	if s.asked.Add(1) <= s.after {
		fault = ""
	}
	switch fault {
	case "429", "500":
		w.Header().Set("Retry-After", "0")
		code := map[string]int{"429": 429, "500": 500}[fault]
		http.Error(w, `{"error":{"message":"come back later"}}`, code)
		return
	case "never":
		select {
		case <-r.Context().Done():
		case <-s.ended:
		}
		return
	case "slow":
		time.Sleep(250 * time.Millisecond)
	case "few":
		req.Input = req.Input[1:]
	case "text":
		fmt.Fprint(w, "<html>hello</html>")
		return
	}
	dimension := 8
	if fault == "dimension" {
		dimension = 9
	}
	var b strings.Builder
	for i, text := range req.Input {
		if i > 0 {
			b.WriteByte(',')
		}
		numbers := make([]string, dimension)
		for j := range numbers {
			h := fnv.New32a()
			fmt.Fprint(h, j, text)
			numbers[j] = fmt.Sprint(float64(h.Sum32()%1000)/500 - 1.0003)
		}
		if fault == "nan" && i == 0 {
			numbers[0] = "NaN"
		}
		if fault == "zero" {
			numbers = strings.Split(strings.Repeat("0 ", dimension)+"", " ")[:dimension]
		}
		fmt.Fprintf(&b, `{"object":"embedding","index":%d,"embedding":[%s]}`, i, strings.Join(numbers, ","))
	}
	fmt.Fprintf(w, `{"object":"list","data":[%s]}`, b.String())
}

// cmdEmbedder starts a server: embedder NAME [FAULT [AFTER]].
func cmdEmbedder(ts *testscript.TestScript, _ bool, args []string) {
	s := &embeddingServer{ended: make(chan struct{})}
	if len(args) > 1 {
		s.fault = args[1]
	}
	if len(args) > 2 {
		_, err := fmt.Sscan(args[2], &s.after)
		ts.Check(err)
	}
	server := httptest.NewServer(s)
	ts.Defer(func() {
		close(s.ended)
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv(args[0]+"_URL", server.URL)
}
