package exhibit_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
)

const parentalLeave = "Each parent has 16 weeks of paid leave. Tell your manager eight weeks before it begins."

func TestCitationSpelling(t *testing.T) {
	hash := exhibit.ContentHash(parentalLeave)
	if hash != "efee2c2727a943c8416f11c8273dc1d5873da0873dd1c3fa512fa8440957b3bc" {
		t.Fatalf("content hash %s", hash)
	}
	for want, c := range map[string]exhibit.Citation{
		"exhibit://company/handbook/leave.md#chunk-2@efee2c2727a9": exhibit.Cite("company", exhibit.ChunkKey("handbook/leave.md", 2), hash),
		"exhibit://company/handbook/leave.md#chunk-2":              exhibit.Cite("company", exhibit.ChunkKey("handbook/leave.md", 2), ""),
		"exhibit://company/handbook/leave.md":                      {Collection: "company", DocID: "handbook/leave.md"},
		"exhibit://company/handbook/leave.md@efee2c2727a9":         {Collection: "company", DocID: "handbook/leave.md", Hash: "efee2c2727a9"},
		"exhibit://c/a%23b%40c%25d%20e#chunk-0":                    exhibit.Cite("c", exhibit.ChunkKey("a#b@c%d e", 0), ""),
		"exhibit://c/a%23chunk-3#chunk-4":                          exhibit.Cite("c", exhibit.ChunkKey("a#chunk-3", 4), ""),
		"exhibit://c/a%23chunk-3":                                  {Collection: "c", DocID: "a#chunk-3"},
		"exhibit://c/vector%253Ax#chunk-0":                         exhibit.Cite("c", exhibit.ChunkKey("vector:x", 0), ""),
		"exhibit://c/vector%253Ax":                                 {Collection: "c", DocID: "vector:x"},
		"exhibit://c/vector:x%23chunk-0":                           exhibit.Cite("c", exhibit.VectorKey("x#chunk-0"), ""),
		"exhibit://c/content:982d9e3eb996f559@982d9e3eb996":        exhibit.Cite("c", exhibit.ContentKey("", "text"), exhibit.ContentHash("text")),
		"exhibit://c/%E5%90%8D%E5%89%8D.md#chunk-0":                exhibit.Cite("c", exhibit.ChunkKey("名前.md", 0), ""),
		"exhibit://c/../../etc//x#chunk-0":                         exhibit.Cite("c", exhibit.ChunkKey("../../etc//x", 0), ""),
		"exhibit://c/a;b,c=d&e+f$g!h'i(j)k*l~m#chunk-0":            exhibit.Cite("c", exhibit.ChunkKey("a;b,c=d&e+f$g!h'i(j)k*l~m", 0), ""),
		"exhibit://c/%22%3C%3E%5B%5D%5E%60%7B%7C%7D%3F%5C#chunk-0": exhibit.Cite("c", exhibit.ChunkKey("\"<>[]^`{|}?\\", 0), ""),
	} {
		if got := c.String(); got != want {
			t.Errorf("prints %q, want %q", got, want)
		}
		if back, err := exhibit.ParseCitation(want); err != nil || back != c {
			t.Errorf("%q reads as %+v, %v, want %+v", want, back, err, c)
		}
	}
}

func TestParseCitationRefuses(t *testing.T) {
	for _, s := range []string{
		"", "exhibit://", "exhibit://c", "exhibit://c/", "http://c/a#chunk-1", "EXHIBIT://c/a#chunk-1", "exhibit:///a#chunk-1", "exhibit://C/a#chunk-1",
		"exhibit://c/a#chunk-1@", "exhibit://c/a#chunk-1@efee2c2727a", "exhibit://c/a#chunk-1@EFEE2C2727A9", "exhibit://c/a#chunk-1@efee2c2727a9a",
		"exhibit://c/a b#chunk-1", "exhibit://c/a%2Fb#chunk-1", "exhibit://c/%61#chunk-1", "exhibit://c/a%3ab#chunk-1", "exhibit://c/a%zz", "exhibit://c/a%",
		"exhibit://c/a#chunk-01", "exhibit://c/a#b#chunk-1", "exhibit://c/a#", "exhibit://c/#chunk-1", "exhibit://c/vector:", "exhibit://c/content:xyz", "exhibit://c/vector%25x",
		"exhibit://c/%FF", "exhibit://c/a?b#chunk-1", "exhibit://" + strings.Repeat("c", 65) + "/a",
	} {
		if c, err := exhibit.ParseCitation(s); err == nil {
			t.Errorf("%q reads as %+v", s, c)
		} else if !errors.Is(err, exhibit.ErrMalformed) || exhibit.HintOf(err) == "" {
			t.Errorf("%q: error %v, hint %q", s, err, exhibit.HintOf(err))
		}
	}
}

func FuzzParseCitation(f *testing.F) {
	for _, id := range hostileIDs() {
		f.Add(exhibit.Cite("c", exhibit.ChunkKey(id, 1), exhibit.ContentHash(id)).String())
		f.Add(exhibit.Citation{Collection: "c", DocID: id}.String())
	}
	f.Add("exhibit://c/a%2Fb#chunk-1")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := exhibit.ParseCitation(s)
		if err == nil && c.String() != s {
			t.Errorf("%q reads as a citation that prints %q", s, c)
		}
		if err == nil && c.Key.IsZero() == (c.DocID == "") {
			t.Errorf("%q names both a chunk and a document, or neither: %+v", s, c)
		}
	})
}

func TestCitationsOfDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := exhibit.Citation{Collection: "c", DocID: anyID().Draw(t, "docId")}
		if back, err := exhibit.ParseCitation(c.String()); err != nil || back != c {
			t.Fatalf("%q reads back as %+v, %v", c, back, err)
		}
	})
}

func TestCheckCollection(t *testing.T) {
	for name, ok := range map[string]bool{
		"default": true, "a": true, "0": true, "a.b_c-d": true, strings.Repeat("a", 64): true,
		"": false, "A": false, ".a": false, "-a": false, "_a": false, "a/b": false, "a b": false, "é": false, strings.Repeat("a", 65): false, "a\x00": false,
	} {
		if err := exhibit.CheckCollection(name); (err == nil) != ok || err != nil && !errors.Is(err, exhibit.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
