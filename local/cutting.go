package local

import (
	"sort"
	"strings"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/chunk"
	"github.com/exhibit-rag/exhibit/internal/store"
	"github.com/exhibit-rag/exhibit/read"
)

// version cuts a document and makes it what the store keeps. The lexical index and the embedder see title and heading
// path before the text of each chunk; the chunk's own text is the source's.
func (s *Store) version(doc exhibit.Document, root string, hash store.Hash, reader string, count func(string) int) (store.Version, error) {
	meta, err := encodeMetadata(doc.Metadata)
	if err != nil {
		return store.Version{}, err
	}
	blocks := read.Structure(doc.Blocks)
	if err := chunk.Check(doc.Text, blocks); err != nil {
		return store.Version{}, &exhibit.Error{Source: doc.DocID, Err: err}
	}
	v := store.Version{Document: store.Document{
		ID: doc.DocID, Root: root, Source: doc.Source, Title: doc.Title, MediaType: doc.MediaType, Text: doc.Text,
		SourceHash: hash, Reader: reader, Metadata: meta, ConfigHash: s.chunker.Hash(),
	}}
	lines := lineStarts(doc.Text)
	for _, p := range chunk.Cut(doc.Text, blocks, s.chunker, count) {
		c := store.Chunk{
			Span:        store.Span{StartByte: p.Start, EndByte: p.End, StartLine: lineAt(lines, p.Start), EndLine: lineAt(lines, p.End-1)},
			HeadingPath: p.HeadingPath, Context: contextOf(doc.Title, p), Text: doc.Text[p.Start:p.End],
		}
		c.EmbedHash = store.HashText(c.IndexText())
		v.Chunks = append(v.Chunks, c)
	}
	if len(v.Chunks) == 0 {
		return store.Version{}, &exhibit.Error{Source: doc.DocID, Kind: exhibit.ErrNoText, Hint: "there is nothing in it but headings or white space"}
	}
	return v, nil
}

// contextOf is what stands before a chunk's text for the index and the embedder: the title, unless the heading path
// begins with it, then the path, then what the piece needs to be understood.
func contextOf(title string, p chunk.Piece) string {
	context := p.ContextText()
	title = strings.TrimSpace(title)
	if title == "" || len(p.HeadingPath) > 0 && p.HeadingPath[0] == title {
		return context
	}
	if context == "" {
		return title
	}
	return title + "\n" + context
}

// lineStarts returns the offset of each line's first byte. A line ends after LF, CR, or CR LF.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n', text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			starts = append(starts, i+1)
		}
	}
	return starts
}

// lineAt returns the number, from 1, of the line that holds a byte.
func lineAt(starts []int, at int) int {
	i, found := sort.Find(len(starts), func(i int) int { return at - starts[i] })
	if found {
		return i + 1
	}
	return i
}
