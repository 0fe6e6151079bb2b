package local

import (
	"context"

	"github.com/exhibit-rag/exhibit/internal/store"
	"github.com/exhibit-rag/exhibit/models/e5small"
)

// inputMarks is what the built-in encoder's input has beside the text: begin, end, and the two tokens of "passage:".
const inputMarks = 4

// Windowed counts the chunks that are longer, with their title and headings, than the built-in encoder reads at once.
// Such a chunk is embedded in windows whose vectors are averaged by length: nothing is cut off, but its vector says less
// of each part. It reads and counts every chunk.
func (s *Store) Windowed(ctx context.Context, collection string) (int, error) {
	count, err := s.builtin.Counter()
	if err != nil {
		return 0, err
	}
	snap, err := s.snapshot(ctx, collectionOr(collection))
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	docs, err := snap.Documents(ctx, store.DocumentQuery{State: store.StateCurrent})
	if err != nil {
		return 0, storeError("count windows", collection, err)
	}
	n := 0
	for _, d := range docs {
		chunks, err := snap.DocumentChunks(ctx, d.ID)
		if err != nil {
			return 0, storeError("count windows", d.ID, err)
		}
		for i := range chunks {
			text := chunks[i].IndexText()
			if len(text) > e5small.MaxTokens-inputMarks && count(text) > e5small.MaxTokens-inputMarks {
				n++
			}
		}
	}
	return n, nil
}
