package exhibit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
)

// hostileIDs are names that broke the keys of other systems.
func hostileIDs() []string {
	return []string{
		"plain.md", "a/b c.md", "#", "#chunk-3", "a#chunk-3", "a#chunk-3#chunk-3", "/", "%", "%3A", "%25", " ", "\n", "\x00", "\"", "'", "😀", "名前.md",
		"e\u0301", "\u00e9", strings.Repeat("x", 4096), "vector", "vector:x", "vector%x", "vector%3Ax", "vector%253Ax", "vector:", "vectors:x", "Vector:x",
		"content", "content:0123456789abcdef", "content%", "content%3A", "a@0123456789ab", "exhibit://a/b", "a\\b", "../..", ".", "-1", "3", "a#chunk-", "a#chunk--1",
	}
}

func TestCase_33_keys_of_hostile_doc_ids(t *testing.T) {
	type origin struct {
		kind  exhibit.KeyKind
		id    string
		index int
	}
	seen := map[string]origin{}
	check := func(k exhibit.Key, from origin) {
		printed := k.String()
		if other, ok := seen[printed]; ok {
			t.Errorf("%+v and %+v both print %q", other, from, printed)
		}
		seen[printed] = from
		if back, err := exhibit.ParseKey(printed); err != nil || back != k {
			t.Errorf("%+v prints %q, which reads back as %q, %v", from, printed, back, err)
		}
	}
	for _, id := range hostileIDs() {
		for _, index := range []int{0, 1, 3, 10, exhibit.MaxChunkIndex} {
			k := exhibit.ChunkKey(id, index)
			check(k, origin{exhibit.KeyChunk, id, index})
			if k.DocID() != id || k.Index() != index {
				t.Errorf("key of %q %d says %q %d", id, index, k.DocID(), k.Index())
			}
			if !strings.HasPrefix(id, "vector") && !strings.HasPrefix(id, "content") && k.String() != fmt.Sprintf("%s#chunk-%d", id, index) {
				t.Errorf("the plain docId %q does not print as it is: %q", id, k)
			}
		}
		check(exhibit.VectorKey(id), origin{exhibit.KeyVector, id, 0})
		check(exhibit.VectorKey(id+"#chunk-1"), origin{exhibit.KeyVector, id + "#chunk-1", 0})
	}
	check(exhibit.ContentKey("", "text"), origin{exhibit.KeyContent, "", 0})
}

func TestKeySpelling(t *testing.T) {
	for want, k := range map[string]exhibit.Key{
		"docA#chunk-2":               exhibit.ChunkKey("docA", 2),
		"vector%3Ax#chunk-0":         exhibit.ChunkKey("vector:x", 0),
		"content%25y#chunk-0":        exhibit.ChunkKey("content%y", 0),
		"vectorised.md#chunk-7":      exhibit.ChunkKey("vectorised.md", 7),
		"vector:7f3a":                exhibit.VectorKey("7f3a"),
		"content:982d9e3eb996f559":   exhibit.ContentKey("", "text"),
		"content:f61162e2116ced92":   exhibit.ContentKey("doc", "text"),
		"":                           exhibit.ChunkKey("", 2),
		"a#chunk-9007199254740991":   exhibit.ChunkKey("a", exhibit.MaxChunkIndex),
		"Über uns.md#chunk-0":        exhibit.ChunkKey("Über uns.md", 0),
		"a b/c?d=e&f#g.md#chunk-100": exhibit.ChunkKey("a b/c?d=e&f#g.md", 100),
	} {
		if got := k.String(); got != want {
			t.Errorf("prints %q, want %q", got, want)
		}
	}
	for _, k := range []exhibit.Key{exhibit.ChunkKey("a", -1), exhibit.ChunkKey("a", exhibit.MaxChunkIndex+1), exhibit.VectorKey(""), exhibit.ContentKey("a", "")} {
		if !k.IsZero() {
			t.Errorf("%q is a key", k)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	for _, s := range []string{
		"", "a", "#chunk-1", "a#chunk-", "a#chunk-01", "a#chunk-+1", "a#chunk--1", "a#chunk-1 ", "a#chunk-1.0", "a#chunk-9007199254740992", "a#chunk-99999999999999999999",
		"vector:", "content:", "content:0123456789ABCDEF", "content:0123456789abcde", "vector%x#chunk-1", "vector%3a#chunk-1", "content%2", "a#Chunk-1", "a#chunk-١",
	} {
		if k, err := exhibit.ParseKey(s); !errors.Is(err, exhibit.ErrMalformed) {
			t.Errorf("%q reads as %q, %v", s, k, err)
		} else if exhibit.HintOf(err) == "" {
			t.Errorf("%q is refused without a hint", s)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, id := range hostileIDs() {
		f.Add(exhibit.ChunkKey(id, 3).String())
		f.Add(exhibit.VectorKey(id).String())
		f.Add(id)
	}
	f.Add("content:0123456789abcdef")
	f.Add("a#chunk-007")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := exhibit.ParseKey(s)
		if err != nil {
			if !k.IsZero() {
				t.Errorf("%q: error and key %q", s, k)
			}
			return
		}
		if k.String() != s {
			t.Errorf("%q reads as a key that prints %q", s, k)
		}
	})
}

func FuzzKeyRoundTrip(f *testing.F) {
	for _, id := range hostileIDs() {
		f.Add(id, 0)
		f.Add(id, 12)
	}
	f.Fuzz(func(t *testing.T, id string, index int) {
		for _, k := range []exhibit.Key{exhibit.ChunkKey(id, index), exhibit.VectorKey(id), exhibit.ContentKey(id, id)} {
			if k.IsZero() {
				continue
			}
			if back, err := exhibit.ParseKey(k.String()); err != nil || back != k {
				t.Errorf("%q reads back as %q, %v", k, back, err)
			}
			if !utf8.ValidString(id) {
				continue
			}
			c := exhibit.Cite("default", k, exhibit.ContentHash(id))
			if back, err := exhibit.ParseCitation(c.String()); err != nil || back != c {
				t.Errorf("%q reads back as %+v, %v", c, back, err)
			}
		}
	})
}

// anyID draws docIds that are made to collide if anything does.
func anyID() *rapid.Generator[string] {
	pieces := []string{"vector", "content", ":", "%", "%3A", "%25", "3A", "#chunk-", "#", "1", "0", "a", "/", "@", " ", "\x00", "é"}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 5).Draw(t, "pieces"), "")
	})
}

func TestKeysAreInjective(t *testing.T) {
	draw := func(t *rapid.T, name string) exhibit.Key {
		id := anyID().Draw(t, name)
		if rapid.Bool().Draw(t, name+" vector") {
			return exhibit.VectorKey(id)
		}
		return exhibit.ChunkKey(id, rapid.IntRange(0, 11).Draw(t, name+" index"))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		if (a == b) != (a.String() == b.String()) {
			t.Fatalf("%#v and %#v print %q and %q", a, b, a, b)
		}
		ca, cb := exhibit.Cite("c", a, ""), exhibit.Cite("c", b, "")
		if (a == b) != (ca.String() == cb.String()) {
			t.Fatalf("%q and %q are cited as %q and %q", a, b, ca, cb)
		}
		if back, err := exhibit.ParseKey(a.String()); err != nil || back != a {
			t.Fatalf("%q reads back as %q, %v", a, back, err)
		}
	})
}
