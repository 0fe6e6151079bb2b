package read

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/chunk"
	"github.com/exhibit-rag/exhibit/internal/sharedtest"
	"github.com/exhibit-rag/exhibit/read/jsonl"
)

// tokens stands in for the encoder's tokenizer: one for every four characters of an alphabet, one for every other character, white space
// as one space.
func tokens(s string) int {
	narrow, wide := 0, 0
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if r < 0x2e80 {
			narrow++
		} else {
			wide++
		}
	}
	return (narrow+3)/4 + wide
}

// TestWorkedExample is the example that the interfaces use throughout.
func TestWorkedExample(t *testing.T) {
	leave := "# Leave\n\nEvery employee has paid leave from the first day of work.\n\n## Annual leave\n\nFull-time staff have 28 days a year. Unused days lapse at the end of March.\n\n" +
		"## Parental leave\n\nEach parent has 16 weeks of paid leave. Tell your manager eight weeks before it begins.\n"
	doc, err := Default().Read(context.Background(), exhibit.Source{DocID: "handbook/leave.md", Path: "handbook/leave.md", Data: []byte(leave)})
	if err != nil || doc.Title != "Leave" || doc.Text != leave || doc.MediaType != "text/markdown" {
		t.Fatal(doc, err)
	}
	want := []chunk.Piece{
		{Start: 9, End: 66, HeadingPath: []string{"Leave"}},
		{Start: 85, End: 160, HeadingPath: []string{"Leave", "Annual leave"}},
		{Start: 181, End: 268, HeadingPath: []string{"Leave", "Parental leave"}},
	}
	got := chunk.Cut(doc.Text, Structure(doc.Blocks), chunk.Config{}, tokens)
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	for i, hash := range []string{"05cea66c403a", "a1b329ad6c2b", "efee2c2727a9"} {
		if sum := sha256.Sum256([]byte(leave[got[i].Start:got[i].End])); hex.EncodeToString(sum[:])[:12] != hash {
			t.Errorf("piece %d has hash %x", i, sum[:6])
		}
	}
}

// chunksHold fails where the chunks of a document do not stand in its text, miss some of it, or are cut where they must not be.
func chunksHold(t *testing.T, doc exhibit.Document) []chunk.Piece {
	t.Helper()
	if !utf8.ValidString(doc.Text) {
		t.Errorf("%s: the text is no UTF-8", doc.DocID)
	}
	blocks := Structure(doc.Blocks)
	if err := chunk.Check(doc.Text, blocks); err != nil {
		t.Fatalf("%s: %v", doc.DocID, err)
	}
	clusters := map[int]bool{len(doc.Text): true}
	for s := range chunk.Graphemes(doc.Text) {
		clusters[s] = true
	}
	pieces := chunk.Cut(doc.Text, blocks, chunk.Config{}, tokens)
	covered := make([]bool, len(doc.Text))
	end := 0
	for i, p := range pieces {
		switch {
		case p.Start < end || p.Start >= p.End || p.End > len(doc.Text):
			t.Fatalf("%s: chunk %d is %d to %d after %d", doc.DocID, i, p.Start, p.End, end)
		case !clusters[p.Start] || !clusters[p.End]:
			t.Errorf("%s: chunk %d is cut inside a character", doc.DocID, i)
		case tokens(doc.Text[p.Start:p.End])+tokens(p.ContextText()) > chunk.EncoderTokens:
			t.Errorf("%s: chunk %d is above the encoder's limit", doc.DocID, i)
		case !rowsWhole(blocks, p):
			t.Errorf("%s: chunk %d is cut inside a table row: %.80q", doc.DocID, i, doc.Text[p.Start:p.End])
		}
		end = p.End
		for k := p.Start; k < p.End; k++ {
			covered[k] = true
		}
	}
	for _, b := range blocks {
		for k, r := range doc.Text[b.Start:b.End] {
			if b.Kind != chunk.Heading && !unicode.IsSpace(r) && !covered[b.Start+k] {
				t.Fatalf("%s: byte %d (%q) of a %s is in no chunk", doc.DocID, b.Start+k, r, b.Kind)
			}
		}
	}
	return pieces
}

// rowsWhole tells whether a chunk's ends fall between the rows of tables, where rows are not longer than a chunk.
func rowsWhole(blocks []chunk.Block, p chunk.Piece) bool {
	for _, b := range blocks {
		if b.Kind != chunk.Table {
			continue
		}
		for _, at := range []int{p.Start, p.End} {
			i, found := slices.BinarySearch(b.Rows, at)
			if at <= b.Start || at >= b.End || found {
				continue
			}
			from, to := b.Start, b.End
			if i > 0 {
				from = b.Rows[i-1]
			}
			if i < len(b.Rows) {
				to = b.Rows[i]
			}
			if at > from && at < to-2 && to-from < chunk.DefaultMaxTokens { // the row's end may be trimmed of a line break
				return false
			}
		}
	}
	return true
}

func TestChunksOfSharedFiles(t *testing.T) {
	root := sharedtest.Dir(t, "files")
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		doc, err := Default().Read(context.Background(), exhibit.Source{DocID: filepath.ToSlash(rel), Path: path, Data: data})
		switch {
		case err == nil:
			read++
			if len(chunksHold(t, doc)) == 0 {
				t.Errorf("%s: no chunk", rel)
			}
			if n, m := strings.Count(doc.Text, "\ufffd"), bytes.Count(data, []byte("\ufffd")); n > m {
				t.Errorf("%s: %d characters are lost", rel, n-m)
			}
		case !errors.Is(err, exhibit.ErrUnsupportedMedia) && !errors.Is(err, exhibit.ErrNoText), exhibit.HintOf(err) == "":
			t.Errorf("%s: %v", rel, err)
		default:
			switch kind, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); kind {
			case "md", "txt", "csv", "eml", "json", "xml":
				t.Errorf("%s is not read: %v", rel, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 60 {
		t.Errorf("only %d files are read", read)
	}
}

func TestReadersAreSafeForConcurrentUse(t *testing.T) {
	sources := []exhibit.Source{
		{Path: "a.md", Data: []byte("---\ntitle: x\n---\n# A *b*\n\n- c\n")}, {Path: "a.html", Data: []byte("<h1>A</h1><p>b<table><tr><th>c<th>d<tr><td>e<td>f</table>")},
		{Path: "a.txt", Data: []byte("caf\xe9 au lait\n\nb")}, {Path: "a.csv", Data: []byte("a,b\n1,2\n")},
	}
	r := Default()
	want := make([]exhibit.Document, len(sources))
	for i, s := range sources {
		doc, err := r.Read(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = doc
	}
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() {
			doc, err := r.Read(context.Background(), sources[i%len(sources)])
			if d := cmp.Diff(want[i%len(sources)], doc, cmp.Comparer(exhibit.Value.Equal)); d != "" || err != nil {
				t.Error(err, d)
			}
		})
	}
	wait.Wait()
}

func TestChunksOfSharedDatasets(t *testing.T) {
	root := sharedtest.Dir(t, "datasets")
	sets, err := filepath.Glob(filepath.Join(root, "*", "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sets {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			docs, pieces, small := 0, 0, 0
			for doc, err := range jsonl.Documents(context.Background(), path, f) {
				if errors.Is(err, exhibit.ErrNoText) {
					t.Log(err)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if docs++; docs > 800 && os.Getenv("EXHIBIT_SLOW") == "" {
					break
				}
				for _, p := range chunksHold(t, doc) {
					pieces++
					if tokens(doc.Text[p.Start:p.End]) < 32 {
						small++
					}
				}
			}
			t.Logf("%d documents, %d chunks, %d below 32 tokens", docs, pieces, small)
		})
	}
}
