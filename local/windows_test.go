package local_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/local"
)

func TestWindowedCountsChunksAboveTheEncodersLimit(t *testing.T) {
	ctx := context.Background()
	long := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 120)
	for _, c := range []struct {
		name string
		max  int
		want int
	}{{"default", 0, 0}, {"larger than the encoder", 2000, 1}} {
		t.Run(c.name, func(t *testing.T) {
			s, err := local.Open(ctx, filepath.Join(t.TempDir(), ".exhibit"), &local.Options{WordsOnly: true, Chunk: local.ChunkOptions{MaxTokens: c.max}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			docs := []exhibit.Source{{DocID: "long.md", Data: []byte(long)}, {DocID: "short.md", Data: []byte("One line.")}}
			if _, err := s.Sync(ctx, local.SyncRequest{Documents: docs}); err != nil {
				t.Fatal(err)
			}
			got, err := s.Windowed(ctx, "")
			if err != nil || got != c.want {
				t.Errorf("%d windowed chunks, %v; wanted %d", got, err, c.want)
			}
		})
	}
}
