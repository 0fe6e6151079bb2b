package local_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
	"github.com/exhibit-rag/exhibit/local"
)

// handbook is a small folder of documents.
func handbook() map[string]string {
	return map[string]string{
		"leave.md": "# Leave\n\nEach parent has 16 weeks of paid leave.\n\n## Pay\n\nFull pay for twelve weeks, then half of it.\n\n## Notice\n\nTell your manager eight weeks before it begins.\n",
		"bikes.md": "# Bikes\n\nBikes stand in the yard behind the kitchen.\n",
		"it/vpn.md": "# VPN\n\nError ERR_4021 means that the certificate has expired.\n\n## Renewal\n\n" +
			"Ask the desk for a new certificate and restart the client.\n",
		"notes/日本.md": "# 休暇\n\n従業員は年に二十日の休暇を取得できます。\n\n初始化Client之前请先登录。\n",
	}
}

// place is a store beside a folder of documents.
type place struct {
	*local.Store
	docs, folder string
}

func newPlace(t testing.TB, opt *local.Options, contents map[string]string) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{docs: filepath.Join(dir, "docs"), folder: filepath.Join(dir, ".exhibit")}
	files(t, p.docs, contents)
	p.Store = open(t, p.folder, opt)
	return p
}

func (p *place) sync(t testing.TB) *local.SyncReport { t.Helper(); return sync(t, p.Store, p.docs) }

// all is what the store holds: every chunk by key, from the list of documents and their chunks.
func all(t testing.TB, s *local.Store) map[string]string {
	t.Helper()
	rows, err := s.Documents(t.Context(), local.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range rows {
		if d.ContentHash == "" {
			continue
		}
		f, err := s.Fetch(t.Context(), local.FetchRequest{Names: []string{d.DocID}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range f[0].Evidence {
			out[e.Key.String()] = e.Text
			if got := f[0].Text[e.Span.StartByte:e.Span.EndByte]; got != e.Text {
				t.Errorf("%s: the span holds %q, the chunk %q", e.Key, got, e.Text)
			}
		}
	}
	return out
}

func TestCase_27_unchanged_sync_changes_no_key_and_embeds_nothing(t *testing.T) {
	e := &exhibittest.FakeEmbedder{}
	p := newPlace(t, &local.Options{Embedder: e}, handbook())
	first := p.sync(t)
	before := all(t, p.Store)
	calls, _ := e.Calls()
	again := p.sync(t)
	if now, _ := e.Calls(); now != calls || again.Chunks.Embedded != 0 {
		t.Errorf("embedded again: %d calls, %d texts", now-calls, again.Chunks.Embedded)
	}
	equal(t, "revision", again.Revision, first.Revision)
	equal(t, "documents", again.Documents, local.DocumentCounts{Unchanged: 4})
	if d := cmp.Diff(before, all(t, p.Store)); d != "" {
		t.Error(d)
	}
	// Every document cut again and every vector made again: still the same keys and the same revision.
	for _, r := range []local.Rebuild{{Chunks: true}, {Vectors: true}, {Index: true}, {Chunks: true, Vectors: true, Index: true}} {
		got := syncWith(t, p.Store, local.SyncRequest{Rebuild: r})
		equal(t, fmt.Sprintf("revision after %+v", r), got.Revision, first.Revision)
		if r.Vectors && got.Chunks.Embedded != len(before) {
			t.Errorf("%+v embedded %d of %d", r, got.Chunks.Embedded, len(before))
		}
		if d := cmp.Diff(before, all(t, p.Store)); d != "" {
			t.Errorf("%+v: %s", r, d)
		}
	}
}

func TestCase_29_a_paragraph_inserted_at_the_top_moves_no_key(t *testing.T) {
	p := newPlace(t, words(), handbook())
	p.sync(t)
	before := all(t, p.Store)
	cites := map[string]string{}
	for _, e := range lookup(t, p.Store, wide("leave pay manager weeks")).Evidence {
		cites[e.Citation().String()] = e.Text
	}
	leave := handbook()["leave.md"]
	files(t, p.docs, map[string]string{"leave.md": strings.Replace(leave, "# Leave\n\n", "# Leave\n\n## New\n\nRead this first.\n\n## Weeks\n\n", 1)})
	p.sync(t)
	after := all(t, p.Store)
	for key, text := range before {
		if after[key] != text {
			t.Errorf("%s is %q now, was %q", key, after[key], text)
		}
	}
	equal(t, "the new text's key", after["leave.md#chunk-3"], "Read this first.")
	for cite, text := range cites {
		f, err := p.Fetch(t.Context(), local.FetchRequest{Names: []string{cite}})
		if err != nil || f[0].Evidence[0].Text != text {
			t.Errorf("%s: %v %v", cite, f, err)
		}
	}
}

func TestCase_30_31_another_chunk_size_is_told_and_mended(t *testing.T) {
	long := handbook()
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "Rule %d says that the gate of yard %d is shut at night and opened by whoever comes first. ", i, i)
	}
	long["long.md"] = "# Rules\n\n" + b.String() + "\n"
	p := newPlace(t, words(), long)
	p.sync(t)
	before := all(t, p.Store)
	p.Close()

	small := words()
	small.Chunk.MaxTokens = 64
	s := open(t, p.folder, small)
	st, err := s.Status(t.Context(), "")
	if err != nil || st.Stale != 5 {
		t.Fatalf("%d stale, %v", st.Stale, err)
	}
	told := func(what string, warnings []string) {
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "5 of 5 documents were cut by another") }) {
			t.Errorf("%s does not tell: %q", what, warnings)
		}
	}
	told("lookup", ask(t, s, "gate").Warnings)
	told("sync", sync(t, s, p.docs).Warnings)
	if d := cmp.Diff(before, all(t, s)); d != "" {
		t.Error("a sync cut unchanged documents again:", d)
	}
	r := syncWith(t, s, local.SyncRequest{Rebuild: local.Rebuild{Chunks: true}})
	equal(t, "changed", r.Documents.Changed, 5)
	after := all(t, s)
	for key, text := range after { // no key of before names another text
		if old, ok := before[key]; ok && old != text {
			t.Errorf("%s was %q, is %q", key, old, text)
		}
	}
	if len(after) <= len(before) {
		t.Errorf("%d chunks after, %d before", len(after), len(before))
	}
	res := ask(t, s, "gate")
	for _, w := range res.Warnings {
		if strings.Contains(w, "chunker") {
			t.Error(w)
		}
	}
	if e := res.Evidence[0]; e.ConfigHash != s.ChunkerHash() || e.ContentHash == "" || e.ConfigHash == e.ContentHash {
		t.Errorf("hashes %q and %q", e.ConfigHash, e.ContentHash)
	}
}

func TestCase_34_hostile_ids_are_written_read_and_deleted(t *testing.T) {
	t.Parallel()
	ids := []string{"a#b", "a#chunk-3", "a#chunk-3#chunk-4", "a/../b", "%", "%2F", " ", "'\"", "a\nb", "a\x00b", "🙂", "vector:x", "content:0123456789abcdef",
		"exhibit://default/x", strings.Repeat("k", 4096), "é", "e\u0301", "-", "--yes"}
	s := open(t, filepath.Join(t.TempDir(), ".exhibit"), words())
	var docs []exhibit.Source
	for i, id := range ids {
		docs = append(docs, exhibit.Source{DocID: id, MediaType: "text/plain", Data: fmt.Appendf(nil, "Number %d of the turbines.", i)})
	}
	syncWith(t, s, local.SyncRequest{Documents: docs})
	seen := map[string]bool{}
	for i, id := range ids {
		want := fmt.Sprintf("Number %d of the turbines.", i)
		key := exhibit.ChunkKey(id, 0).String()
		if seen[key] {
			t.Errorf("two documents have the key %q", key)
		}
		seen[key] = true
		names := []string{exhibit.Cite("default", exhibit.ChunkKey(id, 0), "").String()}
		if !strings.HasPrefix(id, "exhibit://") { // what looks like a citation is one, so that no document can stand in for another
			names = append(names, key)
			if !strings.Contains(id, "#chunk-") {
				names = append(names, id)
			}
		}
		for _, name := range names {
			f, err := s.Fetch(t.Context(), local.FetchRequest{Names: []string{name}})
			if err != nil || f[0].Evidence[0].Text != want {
				t.Errorf("fetch %q of docId %q: %v", name, id, err)
			}
		}
	}
	for n, id := range ids {
		if _, err := s.Delete(t.Context(), "", []string{id}); err != nil {
			t.Errorf("delete %q: %v", id, err)
		}
		res := lookup(t, s, wide("turbines"))
		equal(t, fmt.Sprintf("left after deleting %.20q", id), len(res.Evidence), len(ids)-n-1)
	}
}

func TestCase_36_deleted_documents_are_found_no_more(t *testing.T) {
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	key := ask(t, p.Store, "Where do bikes stand?").Evidence[0].Key.String()
	equal(t, "best", key, "bikes.md#chunk-0")
	if _, err := p.Delete(t.Context(), "", []string{"bikes.md"}); err != nil {
		t.Fatal(err)
	}
	for _, e := range lookup(t, p.Store, wide("Where do bikes stand?")).Evidence {
		if e.DocID == "bikes.md" {
			t.Errorf("%s is found", e.Key)
		}
	}
	_, err := p.Fetch(t.Context(), local.FetchRequest{Names: []string{key}})
	if code(err) != "not-found" || !strings.Contains(err.Error(), "gone since") {
		t.Errorf("fetch: %v", err)
	}
	// A file that disappears from its folder is removed by the next sync.
	if err := os.Remove(filepath.Join(p.docs, "it", "vpn.md")); err != nil {
		t.Fatal(err)
	}
	kept := syncWith(t, p.Store, local.SyncRequest{KeepMissing: true})
	equal(t, "kept", kept.Documents.Removed, 0)
	r := syncWith(t, p.Store, local.SyncRequest{})
	if d := cmp.Diff([]string{"it/vpn.md"}, r.Removed); d != "" {
		t.Error(d)
	}
	if got := keys(lookup(t, p.Store, wide("ERR_4021 certificate"))); slices.ContainsFunc(got, func(k string) bool { return strings.HasPrefix(k, "it/") }) {
		t.Errorf("found: %v", got)
	}
}

func TestCase_37_a_shorter_version_leaves_no_tail(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	files(t, p.docs, map[string]string{"leave.md": "# Leave\n\nEach parent has 16 weeks of paid leave.\n"})
	r := p.sync(t)
	equal(t, "chunks", r.Chunks, local.ChunkCounts{Kept: 1, Removed: 2})
	for key := range all(t, p.Store) {
		if strings.HasPrefix(key, "leave.md") && key != "leave.md#chunk-0" {
			t.Errorf("%s is still there", key)
		}
	}
	for _, e := range lookup(t, p.Store, wide("full pay manager notice")).Evidence {
		if e.DocID == "leave.md" && e.ChunkIndex != 0 {
			t.Errorf("%s is still found", e.Key)
		}
	}
	for range 5 { // nor does it grow by being read again and again
		files(t, p.docs, map[string]string{"leave.md": handbook()["leave.md"]})
		p.sync(t)
		files(t, p.docs, map[string]string{"leave.md": "# Leave\n\nEach parent has 16 weeks of paid leave.\n"})
		p.sync(t)
	}
	st, err := p.Status(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "chunks in the end", st.Chunks, len(all(t, p.Store)))
}

func TestCase_40_a_source_without_text_fails_and_keeps_its_old_version(t *testing.T) {
	p := newPlace(t, fake(), handbook())
	p.sync(t)
	before := all(t, p.Store)
	revision := ask(t, p.Store, "leave").Revision
	files(t, p.docs, map[string]string{"leave.md": " \n\n", "bikes.md": "\x00\x01\x02", "empty.md": ""})
	r, err := p.Sync(t.Context(), local.SyncRequest{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "documents", r.Documents, local.DocumentCounts{Unchanged: 2, Failed: 3})
	for _, f := range r.Failures {
		if f.Reason == "" || f.Hint == "" || f.Code == "internal" {
			t.Errorf("failure %+v says too little", f)
		}
	}
	if d := cmp.Diff(before, all(t, p.Store)); d != "" {
		t.Error(d)
	}
	equal(t, "revision", ask(t, p.Store, "leave").Revision, revision)
	rows, err := p.Documents(t.Context(), local.ListRequest{State: local.StateFailed})
	if err != nil || len(rows) != 3 {
		t.Fatalf("%+v %v", rows, err)
	}
	// Mended, the failures are gone, also that of a file that is gone.
	if err := os.Remove(filepath.Join(p.docs, "empty.md")); err != nil {
		t.Fatal(err)
	}
	files(t, p.docs, map[string]string{"leave.md": handbook()["leave.md"], "bikes.md": handbook()["bikes.md"]})
	p.sync(t)
	if rows, err = p.Documents(t.Context(), local.ListRequest{State: local.StateFailed}); err != nil || len(rows) != 0 {
		t.Errorf("%+v %v", rows, err)
	}
}

func TestCase_12_every_chunk_survives_whatever_the_batches(t *testing.T) {
	var b strings.Builder
	for i := range 5 {
		fmt.Fprintf(&b, "## Part %d\n\nThe turbine of part %d spins.\n\n", i, i)
	}
	var last map[string]string
	for _, e := range []int{1, 3, 64} {
		s := open(t, filepath.Join(t.TempDir(), ".exhibit"), &local.Options{Embedder: &exhibittest.FakeEmbedder{}, Jobs: e})
		for range 2 {
			syncWith(t, s, local.SyncRequest{Documents: []exhibit.Source{{DocID: "five.md", MediaType: "text/markdown", Data: []byte(b.String())}}})
		}
		got := all(t, s)
		if len(got) != 5 {
			t.Errorf("%d chunks", len(got))
		}
		if last != nil {
			if d := cmp.Diff(last, got); d != "" {
				t.Error(d)
			}
		}
		last = got
	}
}

func TestCase_13_equal_text_in_two_documents_is_two_pieces_of_evidence(t *testing.T) {
	text := "# Turbine\n\nThe turbine spins at night.\n"
	s := stored(t, fake(), []exhibittest.Doc{
		{DocID: "a", Text: text, Metadata: exhibit.Metadata{"owner": exhibit.String("A")}}, {DocID: "b", Text: text, Metadata: exhibit.Metadata{"owner": exhibit.String("B")}}})
	res := ask(t, s, "When does the turbine spin?")
	if d := cmp.Diff([]string{"a#chunk-0", "b#chunk-0"}, keys(res)); d != "" {
		t.Fatal(d)
	}
	for i, owner := range []string{"A", "B"} {
		if v := res.Evidence[i].Metadata["owner"]; v.Text() != owner {
			t.Errorf("%s is of owner %s", res.Evidence[i].Key, v.Text())
		}
	}
}

func TestCase_16_a_paragraph_that_stands_twice_has_two_keys(t *testing.T) {
	s := stored(t, fake(), []exhibittest.Doc{{DocID: "a", Text: "## One\n\nThe turbine spins.\n\n## Two\n\nThe turbine spins.\n"}})
	got := all(t, s)
	if d := cmp.Diff(map[string]string{"a#chunk-0": "The turbine spins.", "a#chunk-1": "The turbine spins."}, got); d != "" {
		t.Error(d)
	}
	equal(t, "found", len(lookup(t, s, wide("turbine")).Evidence), 2)
}

func TestCase_52_every_script_is_found(t *testing.T) {
	docs := map[string]string{
		"zh": "员工每年有二十天带薪年假。", "ja": "従業員は年に二十日の休暇を取得できます。", "ko": "직원은 매년 이십 일의 유급 휴가를 받습니다.", "th": "พนักงานมีวันลาพักร้อนยี่สิบวันต่อปี",
		"mixed": "初始化Client之前请先登录。", "de": "Die Beschäftigten haben Anspruch auf Urlaub.", "id": "The code ERR_4021 stands in camelCaseName of v1.35.2.",
	}
	var list []exhibittest.Doc
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		list = append(list, exhibittest.Doc{DocID: id, Text: docs[id]})
	}
	s := stored(t, words(), list)
	for query, want := range map[string]string{
		"年假": "zh", "休暇": "ja", "유급 휴가": "ko", "วันลา": "th", "Client": "mixed", "初始化": "mixed", "Urlaubs": "de", "ERR_4021": "id", "4021": "id", "camel": "id", "v1.35.2": "id",
	} {
		res := ask(t, s, query)
		if len(res.Evidence) == 0 || res.Evidence[0].DocID != want {
			t.Errorf("%s: %v, want %s", query, keys(res), want)
		}
		for _, e := range res.Evidence {
			if e.Scores.Legs[0].Score <= 0 {
				t.Errorf("%s: %s is a hit with score %v", query, e.Key, e.Scores.Legs[0].Score)
			}
		}
	}
	equal(t, "hits without a common word", len(ask(t, s, "Fahrrad").Evidence), 0)
}

func TestCase_68_the_same_document_in_two_collections(t *testing.T) {
	p := newPlace(t, fake(), handbook())
	for _, c := range []string{"one", "two"} {
		syncWith(t, p.Store, local.SyncRequest{Collection: c, Roots: []local.Root{{Path: p.docs}}})
	}
	cites := map[string]bool{}
	for _, c := range []string{"one", "two"} {
		res := lookup(t, p.Store, exhibit.LookupRequest{Collection: c, Query: "Where do bikes stand?"})
		cites[res.Evidence[0].Citation().String()] = true
		equal(t, "collection", res.Evidence[0].Collection, c)
	}
	equal(t, "citations", len(cites), 2)
	if _, err := p.Delete(t.Context(), "one", []string{"bikes.md"}); err != nil {
		t.Fatal(err)
	}
	res := lookup(t, p.Store, exhibit.LookupRequest{Collection: "two", Query: "Where do bikes stand?"})
	equal(t, "best of the other collection", res.Evidence[0].Key.String(), "bikes.md#chunk-0")
	if res := lookup(t, p.Store, exhibit.LookupRequest{Collection: "one", Query: "bikes yard", Settings: exhibit.LookupSettings{SearchMode: exhibit.Set("lexical")}}); len(res.Evidence) > 0 {
		t.Errorf("deleted, and found: %v", keys(res))
	}
}

func TestCase_69_a_chunk_is_of_one_document(t *testing.T) {
	var docs []exhibittest.Doc
	for i := range 30 {
		docs = append(docs, exhibittest.Doc{DocID: fmt.Sprint("d", i), Text: fmt.Sprintf("Turbine %d.", i)})
	}
	for key, text := range all(t, stored(t, fake(), docs)) {
		id, _, _ := strings.Cut(key, "#")
		equal(t, key, text, "Turbine "+id[1:]+".")
	}
}

func TestCase_70_more_is_asked_than_there_is(t *testing.T) {
	s := stored(t, fake(), nil)
	res := lookup(t, s, wide("anything"))
	if len(res.Evidence) != 0 || res.Short == nil {
		t.Errorf("%v %v", keys(res), res.Short)
	}
	s = stored(t, fake(), []exhibittest.Doc{{DocID: "a", Text: "The only turbine."}})
	req := wide("turbine")
	req.Settings.RetrieveK = exhibit.Set(1000)
	equal(t, "returned", len(lookup(t, s, req).Evidence), 1)
	if _, err := s.Lookup(t.Context(), exhibit.LookupRequest{Collection: "nosuch", Query: "x"}); !errors.Is(err, exhibit.ErrNotFound) || exhibit.HintOf(err) == "" {
		t.Errorf("no such collection: %v", err)
	}
}
