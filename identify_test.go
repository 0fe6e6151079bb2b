package exhibit_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// keyOf is the key that a lookup gives to one hit.
func keyOf(t *testing.T, h exhibit.Hit, aliases exhibit.Aliases) exhibit.Entry {
	t.Helper()
	res := exhibittest.Lookup(t, over(dense(h), &exhibit.RetrieverOptions{Aliases: aliases}), exhibit.LookupRequest{Query: "q"})
	if len(res.Ledger.Entries) != 1 {
		t.Fatalf("%d entries for one hit", len(res.Ledger.Entries))
	}
	return res.Ledger.Entries[0]
}

func fromJSON(t *testing.T, s string) exhibit.Value {
	t.Helper()
	var v exhibit.Value
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestChunkIndexValues(t *testing.T) {
	str, num := exhibit.String, exhibit.Number
	for _, c := range []struct {
		value exhibit.Value
		index int // -1 for no index
	}{
		{exhibit.Int(0), 0}, {str("0"), 0}, {num(0), 0}, {num(math.Copysign(0, -1)), 0},
		{str("3"), 3}, {exhibit.Int(3), 3}, {num(3.0), 3}, {str("3.0"), 3}, {fromJSON(t, "3.0"), 3}, {fromJSON(t, "3e0"), 3}, {fromJSON(t, `"3"`), 3},
		{exhibit.Int(exhibit.MaxChunkIndex), exhibit.MaxChunkIndex},
		{exhibit.Int(-1), -1}, {str("-1"), -1}, {num(2.5), -1}, {str("2.5"), -1}, {num(1e21), -1}, {str("1e21"), -1}, {fromJSON(t, "1e21"), -1},
		{num(math.NaN()), -1}, {str("NaN"), -1}, {num(math.Inf(1)), -1}, {str("Inf"), -1}, {str("Infinity"), -1}, {num(math.Inf(-1)), -1},
		{exhibit.Bool(true), -1}, {exhibit.Bool(false), -1}, {str("true"), -1}, {str(""), -1}, {exhibit.Value{}, -1}, {fromJSON(t, "null"), -1},
		{str(" 3"), -1}, {str("3 "), -1}, {str("+3"), -1}, {str("3."), -1}, {str("0x3"), -1}, {str("1_0"), -1}, {str("three"), -1}, {str("٣"), -1},
		{exhibit.Int(exhibit.MaxChunkIndex + 1), -1}, {str("9007199254740993"), -1}, {fromJSON(t, "9007199254740992"), -1},
		{exhibit.List(), -1}, {exhibit.List(exhibit.Int(3)), -1}, {exhibit.Strings("3", "4"), -1}, {fromJSON(t, `{"n":3}`), -1},
		{str(strings.Repeat("0", 4096) + "3"), -1},
	} {
		h := exhibit.Hit{ID: "id", Text: "text", Score: 1, Metadata: exhibit.Metadata{"docId": str("doc"), "chunkIndex": c.value}}
		want := "vector:id"
		if c.index >= 0 {
			want = fmt.Sprintf("doc#chunk-%d", c.index)
		}
		if got := keyOf(t, h, exhibit.Aliases{}).Key.String(); got != want {
			v, _ := c.value.MarshalJSON()
			t.Errorf("chunkIndex %s (kind %d) gives %q, want %q", v, c.value.Kind(), got, want)
		}
	}
}

func TestDocIDValues(t *testing.T) {
	for _, c := range []struct {
		value exhibit.Value
		want  string
	}{
		{exhibit.String("doc"), "doc#chunk-1"}, {exhibit.Int(7), "7#chunk-1"}, {exhibit.Number(7), "7#chunk-1"}, {fromJSON(t, "7.0"), "7#chunk-1"},
		{fromJSON(t, "12345678901234567890"), "12345678901234567890#chunk-1"}, {exhibit.Number(2.5), "2.5#chunk-1"},
		{exhibit.String(""), "vector:id"}, {exhibit.Value{}, "vector:id"}, {exhibit.Bool(true), "vector:id"}, {exhibit.List(), "vector:id"},
		{exhibit.String("\xff"), "vector:id"}, {exhibit.Strings("a", "b"), "a#chunk-1"}, {exhibit.List(exhibit.Int(3)), "3#chunk-1"},
	} {
		h := exhibit.Hit{ID: "id", Text: "text", Score: 1, Metadata: exhibit.Metadata{"docId": c.value, "chunkIndex": exhibit.Int(1)}}
		if got := keyOf(t, h, exhibit.Aliases{}).Key.String(); got != c.want {
			t.Errorf("docId %v gives %q, want %q", c.value, got, c.want)
		}
	}
}

func TestIdentityFallbacks(t *testing.T) {
	doc, index := exhibit.String("doc"), exhibit.Int(4)
	for name, c := range map[string]struct {
		hit  exhibit.Hit
		want string
		weak bool
	}{
		"docId and index":       {exhibit.Hit{ID: "id", Text: "text", Metadata: exhibit.Metadata{"docId": doc, "chunkIndex": index}}, "doc#chunk-4", false},
		"no index":              {exhibit.Hit{ID: "id", Text: "text", Metadata: exhibit.Metadata{"docId": doc}}, "vector:id", false},
		"no docId":              {exhibit.Hit{ID: "id", Text: "text", Metadata: exhibit.Metadata{"chunkIndex": index}}, "vector:id", false},
		"neither":               {exhibit.Hit{ID: "id", Text: "text"}, "vector:id", false},
		"no id":                 {exhibit.Hit{Text: "text"}, exhibit.ContentKey("", "text").String(), true},
		"no id but a docId":     {exhibit.Hit{Text: "text", Metadata: exhibit.Metadata{"docId": doc}}, exhibit.ContentKey("doc", "text").String(), true},
		"id that is not UTF-8":  {exhibit.Hit{ID: "\xff", Text: "text"}, exhibit.ContentKey("", "text").String(), true},
		"id that looks like it": {exhibit.Hit{ID: "doc#chunk-4", Text: "text"}, "vector:doc#chunk-4", false},
		"nothing":               {exhibit.Hit{}, "", false},
		"only a docId":          {exhibit.Hit{Metadata: exhibit.Metadata{"docId": doc}}, "", false},
	} {
		e := keyOf(t, c.hit, exhibit.Aliases{})
		if e.Key.String() != c.want || e.Weak != c.weak {
			t.Errorf("%s: key %q weak %v, want %q %v", name, e.Key, e.Weak, c.want, c.weak)
		}
		if (c.want == "") != (e.Reason == exhibit.Unusable) {
			t.Errorf("%s: dropped for %q", name, e.Reason)
		}
	}
}

func TestMetadataNames(t *testing.T) {
	str := exhibit.String
	for name, c := range map[string]struct {
		meta    exhibit.Metadata
		aliases exhibit.Aliases
		want    string
		notes   int
	}{
		"snake case":                  {exhibit.Metadata{"doc_id": str("d"), "chunk_index": str("2")}, exhibit.Aliases{}, "d#chunk-2", 0},
		"both alike":                  {exhibit.Metadata{"docId": str("d"), "doc_id": str("d"), "chunkIndex": exhibit.Int(2), "chunk_index": str("2.0")}, exhibit.Aliases{}, "d#chunk-2", 0},
		"docIds differ":               {exhibit.Metadata{"docId": str("d"), "doc_id": str("e"), "chunkIndex": exhibit.Int(2)}, exhibit.Aliases{}, "d#chunk-2", 1},
		"indexes differ":              {exhibit.Metadata{"docId": str("d"), "chunkIndex": exhibit.Int(2), "chunk_index": exhibit.Int(3)}, exhibit.Aliases{}, "d#chunk-2", 1},
		"both differ":                 {exhibit.Metadata{"docId": str("d"), "doc_id": str("e"), "chunkIndex": exhibit.Int(2), "chunk_index": exhibit.Int(3)}, exhibit.Aliases{}, "d#chunk-2", 2},
		"first unusable":              {exhibit.Metadata{"docId": str(""), "doc_id": str("e"), "chunkIndex": exhibit.Int(-1), "chunk_index": exhibit.Int(3)}, exhibit.Aliases{}, "e#chunk-3", 0},
		"alias":                       {exhibit.Metadata{"file": str("d"), "seq": exhibit.Int(2)}, exhibit.Aliases{DocID: []string{"file"}, ChunkIndex: []string{"n", "seq"}}, "d#chunk-2", 0},
		"alias is not asked":          {exhibit.Metadata{"file": str("d"), "seq": exhibit.Int(2)}, exhibit.Aliases{}, "vector:id", 0},
		"alias after the standard":    {exhibit.Metadata{"file": str("d"), "doc_id": str("e"), "seq": exhibit.Int(2)}, exhibit.Aliases{DocID: []string{"file"}, ChunkIndex: []string{"seq"}}, "e#chunk-2", 1},
		"names are case-sensitive":    {exhibit.Metadata{"DocId": str("d"), "ChunkIndex": exhibit.Int(2)}, exhibit.Aliases{}, "vector:id", 0},
		"one of each convention":      {exhibit.Metadata{"docId": str("d"), "chunk_index": exhibit.Int(2)}, exhibit.Aliases{}, "d#chunk-2", 0},
		"index zero before the other": {exhibit.Metadata{"docId": str("d"), "chunkIndex": exhibit.Int(0), "chunk_index": exhibit.Int(5)}, exhibit.Aliases{}, "d#chunk-0", 1},
	} {
		e := keyOf(t, exhibit.Hit{ID: "id", Text: "text", Score: 1, Metadata: c.meta}, c.aliases)
		if e.Key.String() != c.want || len(e.Notes) != c.notes {
			t.Errorf("%s: key %q with the notes %q, want %q and %d", name, e.Key, e.Notes, c.want, c.notes)
		}
	}
}

func TestNotesNameTheWinner(t *testing.T) {
	e := keyOf(t, exhibit.Hit{ID: "id", Text: "t", Metadata: exhibit.Metadata{"docId": exhibit.String("d"), "doc_id": exhibit.String("e"), "chunkIndex": exhibit.Int(1)}}, exhibit.Aliases{})
	if want := []string{`docId is "d" and doc_id is "e": docId wins`}; !slices.Equal(e.Notes, want) {
		t.Errorf("notes %q, want %q", e.Notes, want)
	}
	// What is odd about one leg's hit is told of the candidate, once.
	plain, odd := chunk("d", 1, 1), chunk("d", 1, 1)
	odd.Metadata["doc_id"] = exhibit.String("e")
	for _, port := range []exhibit.KnowledgeSearchPort{hybrid(lexical(plain), dense(odd)), hybrid(lexical(odd), dense(plain)), hybrid(lexical(odd), dense(odd))} {
		res := ask(t, port, exhibit.LookupSettings{})
		if got := entryOf(t, res, "d#chunk-1").Notes; len(got) != 1 {
			t.Errorf("notes of two legs %q", got)
		}
	}
}

func TestCase_09_multi_valued_doc_id(t *testing.T) {
	h := chunk("a", 1, 1)
	h.Metadata["docId"] = exhibit.Strings("a", "b", "c")
	e := keyOf(t, h, exhibit.Aliases{})
	if e.Key != exhibit.ChunkKey("a", 1) || len(e.Notes) != 1 || !strings.Contains(e.Notes[0], "3 values") {
		t.Errorf("key %q, notes %q", e.Key, e.Notes)
	}
	// The cap counts under the document that was taken.
	multi := func(i int, score float64) exhibit.Hit {
		h := chunk("a", i, score)
		h.Metadata["docId"] = exhibit.Strings("a", fmt.Sprint("other", i))
		return h
	}
	res := ask(t, dense(multi(0, 3), multi(1, 2), multi(2, 1)), exhibit.LookupSettings{})
	wantKeys(t, res, "a#chunk-0", "a#chunk-1")
}

func TestCase_20_identity_ignores_scores_and_volatile_metadata(t *testing.T) {
	a, b := chunk("doc", 1, 0.9), chunk("doc", 1, 4.2)
	a.Metadata["_score"], a.Metadata["distance"] = exhibit.Number(0.9), exhibit.Number(0.1)
	b.Metadata["retrieved_at"] = exhibit.String("2026-12-01T00:00:00Z")
	b.ID = "another id"
	res := ask(t, hybrid(lexical(b), dense(a)), exhibit.LookupSettings{})
	wantKeys(t, res, "doc#chunk-1")
	if e := res.Ledger.Entries[0]; e.Conflict || res.Ledger.Retrieved != 1 {
		t.Errorf("one chunk with other scores is %d candidates, conflict %v", res.Ledger.Retrieved, e.Conflict)
	}
}

func TestCase_13_same_text_in_two_documents(t *testing.T) {
	a, b := chunk("a", 0, 0.9), chunk("b", 0, 0.9)
	a.Text, b.Text = "Same.", "Same."
	a.Metadata["owner"], b.Metadata["owner"] = exhibit.String("x"), exhibit.String("y")
	res := ask(t, dense(b, a), exhibit.LookupSettings{})
	wantKeys(t, res, "a#chunk-0", "b#chunk-0")
	if res.Evidence[0].Metadata["owner"].Text() != "x" || res.Evidence[1].Metadata["owner"].Text() != "y" {
		t.Error("the metadata of one document stands in the other's evidence")
	}
	// Without an index and an id too: the docId goes into the content key.
	for _, h := range []*exhibit.Hit{&a, &b} {
		h.ID = ""
		delete(h.Metadata, "chunkIndex")
	}
	if res := ask(t, dense(a, b), exhibit.LookupSettings{}); res.Ledger.Returned != 2 {
		t.Errorf("%s", res.Ledger.String())
	}
}

func TestCase_14_equal_text_and_metadata_of_two_documents(t *testing.T) {
	a, b := chunk("a", 0, 0.9), chunk("b", 0, 0.9)
	a.Text, b.Text, a.ID, b.ID = "Same.", "Same.", "1", "2"
	delete(a.Metadata, "chunkIndex")
	delete(b.Metadata, "chunkIndex")
	a.Metadata["docId"], b.Metadata["docId"] = exhibit.String("one"), exhibit.String("one")
	res := ask(t, dense(a, b), exhibit.LookupSettings{})
	wantKeys(t, res, "vector:1", "vector:2")
	if res.Evidence[0].Citation() == res.Evidence[1].Citation() {
		t.Error("two pieces of evidence share a citation")
	}
}

func TestCase_18_equal_heads_without_an_index(t *testing.T) {
	head := strings.Repeat("The same header of every page. ", 20)
	a := exhibit.Hit{Text: head + "Then one thing.", Score: 0.9, Metadata: exhibit.Metadata{"docId": exhibit.String("doc"), "page": exhibit.Int(1)}}
	b := exhibit.Hit{Text: head + "Then another.", Score: 0.8, Metadata: exhibit.Metadata{"docId": exhibit.String("doc"), "page": exhibit.Int(1)}}
	res := ask(t, dense(a, b), exhibit.LookupSettings{})
	if res.Ledger.Returned != 2 || res.Evidence[0].Key == res.Evidence[1].Key {
		t.Errorf("%s", res.Ledger.String())
	}
	for _, e := range res.Ledger.Entries {
		if !e.Weak {
			t.Errorf("%s is not marked as weak", e.Key)
		}
	}
}

func TestEvidenceFields(t *testing.T) {
	position := 7
	h := chunk("doc", 2, 0.5)
	h.Metadata["source"], h.Metadata["title"] = exhibit.String("from metadata"), exhibit.String("Title of metadata")
	res := ask(t, dense(h), exhibit.LookupSettings{})
	if e := res.Evidence[0]; e.Source != "from metadata" || e.Title != "Title of metadata" || e.DocID != "doc" || e.ChunkIndex != 2 || e.Position != nil || e.Span != nil {
		t.Errorf("%+v", e)
	}
	h.Source, h.Title, h.Position, h.ConfigHash, h.HeadingPath = "typed", "Typed", &position, "abc", []string{"A", "B"}
	h.Span = &exhibit.Span{StartByte: 3, EndByte: 20, StartLine: 2, EndLine: 2}
	res = ask(t, dense(h), exhibit.LookupSettings{})
	e := res.Evidence[0]
	if e.Source != "typed" || e.Title != "Typed" || *e.Position != 7 || e.ConfigHash != "abc" || *e.Span != *h.Span || !slices.Equal(e.HeadingPath, h.HeadingPath) {
		t.Errorf("%+v", e)
	}
	if e.Collection != exhibit.DefaultCollection || e.ContentHash != exhibit.ContentHash(h.Text) || e.Handle != "[1]" {
		t.Errorf("%+v", e)
	}
	plain := ask(t, dense(chunk("doc", 2, 0.5), exhibit.Hit{ID: "x", Text: "t", Score: 0.1}), exhibit.LookupSettings{})
	if plain.Evidence[0].Source != "doc" || plain.Evidence[1].Source != "" || plain.Evidence[1].ChunkIndex != -1 {
		t.Errorf("sources %q, %q; chunk %d", plain.Evidence[0].Source, plain.Evidence[1].Source, plain.Evidence[1].ChunkIndex)
	}
}
