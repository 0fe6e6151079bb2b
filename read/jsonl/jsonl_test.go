package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
)

// lines returns for each line what came of it: id, title, source, metadata and text, or the code, the place and the hint of an error.
func lines(t *testing.T, in string, limit int) []string {
	t.Helper()
	var out []string
	for doc, err := range documents(context.Background(), "f.jsonl", strings.NewReader(in), limit) {
		if err != nil {
			var e *exhibit.Error
			if !errors.As(err, &e) || e.Hint == "" {
				t.Errorf("no hint: %v", err)
			}
			out = append(out, fmt.Sprintf("%s %s", exhibit.CodeOf(err), err))
			continue
		}
		meta, err := doc.Metadata.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s|%s|%s|%s|%s|%d", doc.DocID, doc.Title, doc.Source, meta, doc.Text, len(doc.Blocks)))
	}
	return out
}

func TestDocuments(t *testing.T) {
	in := "\ufeff" + `{"_id": "a", "title": " A\n title", "text": "one\n\ntwo", "url": "u", "n": 1.50, "metadata": {"n": [1, true], "o": {"p": 2}}}` + "\r\n\n" +
		`{"doc_id": 12, "text": "x", "source": "s", "title": null, "metadata": null}` + "\n" +
		`{"doc_id": "m#1", "text": "# H\n\ny", "media_type": "text/markdown"}` // no final line break
	want := []string{
		`a|A title|f.jsonl|{"n":[1,true],"o":"{\"p\":2}","url":"u"}|` + "one\n\ntwo|2",
		"12||s|{}|x|1",
		"m#1||f.jsonl|{}|# H\n\ny|2",
	}
	if d := cmp.Diff(want, lines(t, in, MaxDocument)); d != "" {
		t.Error(d)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	in := strings.Join([]string{
		`{"_id": "a", "text": "x"}`, `{"_id": "b"`, `[1]`, `null`, `{"text": "x"}`, `{"_id": "", "text": "x"}`, `{"_id": 1.5, "text": "x"}`, `{"_id": "c"}`, `{"_id": "c", "text": " \n"}`,
		`{"_id": "a", "text": "again"}`, `{"_id": "d", "text": 3}`, `{"_id": "e", "doc_id": "f", "text": "x"}`, `{"_id": "g", "text": "x", "metadata": [1]}`,
		`{"_id": "h", "text": "x", "media_type": "application/pdf"}`, `{"_id": "i", "text": "` + strings.Repeat("y", 100) + `"}`, `{"_id": "last", "text": "z"}`,
	}, "\n")
	got := lines(t, in, 50)
	for i, want := range []string{
		"a|", "malformed read: f.jsonl:2: not a JSON object", "malformed read: f.jsonl:3: ", "malformed read: f.jsonl:4: ", "invalid read: f.jsonl:5: no id", "invalid read: f.jsonl:6: no id",
		"malformed read: f.jsonl:7: ", "no-text read: f.jsonl:8: ", "no-text read: f.jsonl:9: ", "invalid read: f.jsonl:10: the id \"a\" is already that of line 1",
		"malformed read: f.jsonl:11: the field \"text\"", "invalid read: f.jsonl:12: doc_id is", "malformed read: f.jsonl:13: ", "unsupported-media read: f.jsonl:14: ", "too-large read: f.jsonl:15: ", "last|",
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("line %d: %q, want %q", i+1, got[i], want)
		}
	}
}

func TestLongLines(t *testing.T) {
	long := `{"_id": "a", "text": "` + strings.Repeat("y", 2<<20) + `"}`
	in := long + "\n" + `{"_id": "b", "text": "x"}` + "\n" + long
	got := lines(t, in, 100)
	if len(got) != 3 || !strings.HasPrefix(got[0], "too-large read: f.jsonl:1: the line has 2097") || !strings.HasPrefix(got[1], "b|") || !strings.HasPrefix(got[2], "too-large read: f.jsonl:3:") {
		t.Errorf("%.100q", got)
	}
	if got := lines(t, long, 3<<20); len(got) != 1 || !strings.HasPrefix(got[0], "a|") {
		t.Errorf("%.100q", got)
	}
}

func TestReaderThatFails(t *testing.T) {
	r := io.MultiReader(strings.NewReader(`{"_id": "a", "text": "x"}`+"\n{"), iotest.ErrReader(errors.New("disk on fire")))
	var errs []error
	for _, err := range Documents(context.Background(), "f", r) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], exhibit.ErrUnreadable) || !strings.Contains(errs[1].Error(), "f:2: disk on fire") {
		t.Error(errs)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range Documents(ctx, "f", strings.NewReader("{}\n")) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestBadUTF8IsReplacedUnderAWarning(t *testing.T) {
	for doc, err := range Documents(context.Background(), "f", strings.NewReader("{\"_id\": \"a\", \"text\": \"x\xff\"}")) {
		if err != nil || doc.Text != "x\ufffd" || len(doc.Warnings) != 1 {
			t.Error(doc, err)
		}
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add(`{"_id": "a", "text": "x", "metadata": {"b": [{}]}}` + "\n\n{")
	f.Fuzz(func(t *testing.T, in string) {
		ids := map[string]bool{}
		for doc, err := range documents(context.Background(), "f", strings.NewReader(in), 100) {
			if err == nil && (ids[doc.DocID] || !exhibit.ValidDocID(doc.DocID)) {
				t.Fatalf("id %q", doc.DocID)
			}
			if err == nil {
				ids[doc.DocID] = true
			}
		}
	})
}
