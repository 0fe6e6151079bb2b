package bert

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/exhibit-rag/exhibit/internal/weights"
)

// leastCosine is what every vector must reach with ONNX Runtime's of the same ids; the kernels themselves come far closer.
const leastCosine = .99999

// TestGolden compares every kernel with vectors that ONNX Runtime gave for a few texts in several scripts.
func TestGolden(t *testing.T) {
	f := modelFile(t)
	ids, want := readVectors(t, filepath.Join("testdata", "golden.jsonl"))
	for _, name := range Kernels() {
		t.Run(name, func(t *testing.T) {
			if name == "portable" && !slow() {
				ids, want = ids[:2], want[:2]
			}
			compare(t, open(t, f, &Options{Kernel: name}), ids, want)
		})
	}
}

// TestOracle compares the kernels with the vectors in the file EXHIBIT_ORACLE_VECTORS, written by .ci/oracle/encoder.py
// vectors, and prints how near they are. EXHIBIT_ORACLE_KERNEL takes one kernel only.
func TestOracle(t *testing.T) {
	path := os.Getenv("EXHIBIT_ORACLE_VECTORS")
	if path == "" {
		t.Skip("needs EXHIBIT_ORACLE_VECTORS, a file written by .ci/oracle/encoder.py vectors")
	}
	f := modelFile(t)
	ids, want := readVectors(t, path)
	names := Kernels()
	if one := os.Getenv("EXHIBIT_ORACLE_KERNEL"); one != "" {
		names = []string{one}
	}
	for _, name := range names {
		if name == "portable" && len(names) > 1 {
			continue // minutes: asked for by name
		}
		t.Run(name, func(t *testing.T) {
			if compare(t, open(t, f, &Options{Kernel: name}), ids, want) < 1000 {
				t.Errorf("%s has fewer than 1000 texts", path)
			}
		})
	}
}

// compare embeds ids in one batch, reports the cosines with want, and returns how many there are.
func compare(t *testing.T, e *Encoder, ids [][]int32, want [][]float32) int {
	t.Helper()
	got, err := e.Embed(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	least, sum, where := 2.0, 0.0, 0
	for i := range got {
		c := cosine(got[i], want[i])
		sum += c
		if c < least {
			least, where = c, i
		}
	}
	t.Logf("kernel %s, %d texts: cosine with ONNX Runtime at least 1 - %.1e (text %d, %d tokens), mean 1 - %.1e",
		e.Kernel(), len(ids), 1-least, where, len(ids[where]), 1-sum/float64(len(ids)))
	if !(least >= leastCosine) {
		t.Errorf("least cosine %v, want %v", least, leastCosine)
	}
	return len(ids)
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// readVectors reads JSON lines {"ids": [...], "vector": base64 of little-endian float32}.
func readVectors(t *testing.T, path string) (ids [][]int32, vectors [][]float32) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row struct {
			IDs    []int32 `json:"ids"`
			Vector string  `json:"vector"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		raw, err := base64.StdEncoding.DecodeString(row.Vector)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		v := make([]float32, len(raw)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		ids, vectors = append(ids, row.IDs), append(vectors, v)
	}
	if err := lines.Err(); err != nil || len(ids) == 0 {
		t.Fatalf("%s: %d vectors, %v", path, len(ids), err)
	}
	return ids, vectors
}

// modelFile opens the default model from its place in the repository; importing its package would add 72 MB to the test's binary.
func modelFile(t testing.TB) *weights.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "models", "e5small", "e5small.bin"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := weights.Open(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t testing.TB, f *weights.File, opt *Options) *Encoder {
	t.Helper()
	e, err := Open(f, opt)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func slow() bool { return os.Getenv("EXHIBIT_SLOW") == "1" }
