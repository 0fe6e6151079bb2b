package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// leg is a search port that always answers the same.
type leg []exhibit.Hit

func (l leg) Search(_ context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	return l[:min(len(l), req.K)], nil
}

// legs is a port of two legs.
type legs []exhibit.Leg

func (legs) Search(context.Context, exhibit.SearchRequest) ([]exhibit.Hit, error) { return nil, nil }
func (l legs) Legs() []exhibit.Leg                                                { return l }

type chunk struct {
	start, end, line int
	heading          string
	text             string
}

func leaveChunks() []chunk {
	return []chunk{
		{9, 66, 3, "", "Every employee has paid leave from the first day of work."},
		{85, 160, 7, "Annual leave", "Full-time staff have 28 days a year. Unused days lapse at the end of March."},
		{181, 268, 11, "Parental leave", "Each parent has 16 weeks of paid leave. Tell your manager eight weeks before it begins."},
	}
}

func leaveHit(index int, score float64) exhibit.Hit {
	c, position := leaveChunks()[index], index
	path := []string{"Leave"}
	if c.heading != "" {
		path = append(path, c.heading)
	}
	return exhibit.Hit{
		ID: fmt.Sprint(index), Text: c.text, Score: score, Source: "handbook/leave.md", Title: "Leave", HeadingPath: path,
		Span:     &exhibit.Span{StartByte: c.start, EndByte: c.end, StartLine: c.line, EndLine: c.line},
		Position: &position, ConfigHash: "9d3c51e07ab2",
		Metadata: exhibit.Metadata{"docId": exhibit.String("handbook/leave.md"), "chunkIndex": exhibit.Int(index)},
	}
}

func leaveLookup(t *testing.T) *exhibit.LookupResult {
	t.Helper()
	port := legs{
		{Name: "lexical", Port: leg{leaveHit(2, 4.31), leaveHit(0, 1.02), leaveHit(1, 0.64)}},
		{Name: "dense", Port: leg{leaveHit(2, 0.88), leaveHit(1, 0.84), leaveHit(0, 0.82)}},
	}
	r := exhibit.NewRetriever(port, &exhibit.RetrieverOptions{Revision: "c41d7a90be52", Secret: []byte("s")})
	res, err := r.Lookup(context.Background(), exhibit.LookupRequest{Collection: "company", Query: "how long is parental leave?"})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

var longNumber = regexp.MustCompile(`(-?\d+\.\d{3})\d+`)

// The golden file is the example that the interfaces are documented with.
func TestLookupResult(t *testing.T) {
	got, err := MarshalIndent(FromLookup(leaveLookup(t), LedgerFull))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "lookup.json", append(longNumber.ReplaceAll(got, []byte("$1")), '\n'))
}

func TestLedgerCounts(t *testing.T) {
	got, err := Marshal(FromLookup(leaveLookup(t), LedgerCounts).Ledger)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"legs":[{"leg":"lexical","asked":20,"hits":3},{"leg":"dense","asked":20,"hits":3}],"retrieved":3,"returned":2,"dropped":{"document-cap":1}}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Every block has key, offsets and hash, and what was found but not returned is listed too.
func TestCase_61_blocks_and_omissions(t *testing.T) {
	res := leaveLookup(t)
	w := FromLookup(res, LedgerFull)
	for _, e := range w.Evidence {
		if e.EvidenceKey == "" || e.DocumentID != e.EvidenceKey || e.Span == nil || len(e.ContentHash) != 64 || e.Handle == "" {
			t.Errorf("block %+v lacks key, span, hash or handle", e)
		}
		if want := exhibit.ContentHash(e.Text); e.ContentHash != want {
			t.Errorf("content hash %s, want %s", e.ContentHash, want)
		}
	}
	if len(w.Evidence)+len(w.Omitted) != res.Ledger.Retrieved {
		t.Errorf("%d blocks and %d omitted of %d retrieved", len(w.Evidence), len(w.Omitted), res.Ledger.Retrieved)
	}
	want := List[Omitted]{{EvidenceKey: "handbook/leave.md#chunk-0", Reason: "document-cap",
		Citation: "exhibit://company/handbook/leave.md#chunk-0@05cea66c403a"}}
	if diff := cmp.Diff(want, w.Omitted); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentIDIsEvidenceKey(t *testing.T) {
	for _, key := range []exhibit.Key{exhibit.ChunkKey("a<b>&.md", 7), exhibit.VectorKey("x"), exhibit.ContentKey("", "text")} {
		raw, err := Marshal(FromEvidence(exhibit.Evidence{Key: key, Collection: "c", ChunkIndex: -1}))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		if m["document_id"] != key.String() || m["evidence_key"] != key.String() {
			t.Errorf("document_id %v, evidence_key %v, want %s", m["document_id"], m["evidence_key"], key)
		}
		if bytes.Contains(raw, []byte(`\u003c`)) {
			t.Errorf("escaped for HTML: %s", raw)
		}
	}
}

// Absent and not null, lists written, nothing that is not finite.
func TestAbsentValues(t *testing.T) {
	nan := math.NaN()
	e := exhibit.Evidence{Key: exhibit.VectorKey("v"), Collection: "c", ChunkIndex: -1, Score: nan, ScoreKind: "dense",
		Scores: exhibit.Scores{Legs: []exhibit.LegScore{{Leg: "dense", Score: math.Inf(1)}}, Fused: &nan},
		Metadata: exhibit.Metadata{"none": {}, "nan": exhibit.Number(nan), "list": exhibit.List(exhibit.Value{}, exhibit.Int(1)),
			"zero": exhibit.Int(0), "docId": exhibit.String("other")}}
	got, err := Marshal(FromEvidence(e))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"document_id":"vector:v","evidence_key":"vector:v","citation":"exhibit://c/vector:v","source":"","heading_path":[],` +
		`"text":"","content_hash":"","hit_reasons":[],"metadata":{"docId":"other","list":[1],"zero":0}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	zero := FromEvidence(exhibit.Evidence{Key: exhibit.ChunkKey("d", 0), ScoreKind: "fused"})
	if zero.ChunkIndex == nil || *zero.ChunkIndex != 0 || zero.Score == nil {
		t.Errorf("chunk index 0 and score 0 must be written: %+v", zero)
	}
}

func TestStatusObjects(t *testing.T) {
	size := int64(4096)
	var b bytes.Buffer
	for _, v := range []any{
		SyncReport{Collection: "company", Revision: "c41d7a90be52", Documents: DocumentCounts{Added: 1}, Chunks: ChunkCounts{New: 3, Embedded: 3}},
		Document{DocID: "a", Source: "a", MediaType: "text/plain", SyncedAt: Time(time.Date(2027, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)))},
		Documents{}, EvidenceList{},
		Collection{Name: "c", Stamps: Stamps{Format: "1", Model: "m", Dimension: 384}, SizeBytes: &size},
		LookupResult{},
	} {
		line, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(line, []byte("null")) {
			t.Errorf("null in %s", line)
		}
		b.Write(append(line, '\n'))
	}
	golden(t, "status.jsonl", b.Bytes())
}

func TestMarshalLine(t *testing.T) {
	got, err := MarshalLine("report", struct {
		A string `json:"a"`
	}{"<&>"})
	if want := `{"type":"report","a":"<&>"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	got, err = MarshalLine("ledger", struct{}{})
	if want := `{"type":"ledger"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if _, err := MarshalLine("list", []int{1}); err == nil {
		t.Error("a list is no line")
	}
}

func TestFromError(t *testing.T) {
	one := &exhibit.Error{Source: "rag.return-n", Kind: exhibit.ErrInvalid, Err: errors.New("0 is not 1 or more"), Hint: "leave it out"}
	two := &exhibit.Error{Source: "rag.retrieve-k", Kind: exhibit.ErrInvalid, Err: errors.New("-3 is not 1 or more")}
	p := FromError(errors.Join(one, two))
	want := Problem{Type: "urn:exhibit:problem:invalid", Title: "Invalid value", Status: 422, Code: "invalid", Detail: "rag.return-n: 0 is not 1 or more\nrag.retrieve-k: -3 is not 1 or more",
		Hint: "leave it out", Errors: []FieldError{{Location: "rag.return-n", Message: "0 is not 1 or more"}, {Location: "rag.retrieve-k", Message: "-3 is not 1 or more"}}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	if p := FromError(one); p.Errors != nil || p.Hint != "leave it out" {
		t.Errorf("one fault is listed apart: %+v", p)
	}
	if p := FromError(fmt.Errorf("%w: %w", exhibit.ErrStorage, os.ErrPermission)); p.Errors != nil || p.Code != "storage" {
		t.Errorf("a fault with two causes is not two faults: %+v", p)
	}
	if p := FromError(errors.New("secret detail")).Public(); strings.Contains(p.Detail, "secret") || p.Status != 500 {
		t.Errorf("internal detail is public: %+v", p)
	}
}
