package exhibit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// KeyKind says which facts an evidence key was made from.
type KeyKind uint8

// The kinds of evidence key, from the strongest identity to the weakest.
const (
	KeyNone    KeyKind = iota // the zero Key: no identity
	KeyChunk                  // docId and chunk index: "docId#chunk-2"
	KeyVector                 // the id of the store that found it: "vector:7f3a"
	KeyContent                // the text alone: "content:0123456789abcdef"; weak, since it changes with the text
)

// MaxChunkIndex is the largest chunk index: the largest integer that every JSON reader keeps exact.
const MaxChunkIndex = 1<<53 - 1

const chunkMark = "#chunk-"

// Key is the identity of one chunk inside a collection. It is comparable, immutable and safe for concurrent use; the
// zero value is no key.
type Key struct {
	kind  KeyKind
	id    string // docId, vector id or hex digits, by kind
	index int
}

// ChunkKey returns the key of a chunk of a document. The docId must not be empty and the index must lie between 0 and
// MaxChunkIndex; otherwise the zero Key is returned.
func ChunkKey(docID string, index int) Key {
	if docID == "" || index < 0 || index > MaxChunkIndex {
		return Key{}
	}
	return Key{kind: KeyChunk, id: docID, index: index}
}

// VectorKey returns the fallback key of a hit that has an id but no usable docId or chunk index. An empty id gives
// the zero Key.
func VectorKey(id string) Key {
	if id == "" {
		return Key{}
	}
	return Key{kind: KeyVector, id: id}
}

// ContentKey returns the weak key of a hit with neither an id nor an index: the first 16 hex digits of the SHA-256 of
// its text, preceded by docId and NUL where the docId is known. Empty text gives the zero Key.
func ContentKey(docID, text string) Key {
	if text == "" {
		return Key{}
	}
	h := sha256.New()
	if docID != "" {
		h.Write([]byte(docID))
		h.Write([]byte{0})
	}
	h.Write([]byte(text))
	return Key{kind: KeyContent, id: hex.EncodeToString(h.Sum(nil))[:16]}
}

// Kind returns which facts the key was made from.
func (k Key) Kind() KeyKind { return k.kind }

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k.kind == KeyNone }

// DocID returns the document of a chunk key, and "" for the other kinds.
func (k Key) DocID() string {
	if k.kind == KeyChunk {
		return k.id
	}
	return ""
}

// Index returns the chunk index of a chunk key, and -1 for the other kinds.
func (k Key) Index() int {
	if k.kind == KeyChunk {
		return k.index
	}
	return -1
}

// String prints the key. Distinct keys print differently, and ParseKey reads each back. A docId prints as it is, with
// one exception that keeps the printed form injective: where it begins with "vector" or "content" followed by ':' or
// '%', that one byte is percent-escaped.
func (k Key) String() string {
	switch k.kind {
	case KeyChunk:
		return EscapeDocID(k.id) + chunkMark + strconv.Itoa(k.index)
	case KeyVector:
		return "vector:" + k.id
	case KeyContent:
		return "content:" + k.id
	}
	return ""
}

// EscapeDocID returns the docId as it stands in a printed key: unchanged, unless it begins with "vector" or "content"
// followed by ':' or '%', whose one byte is then percent-escaped.
func EscapeDocID(docID string) string {
	for _, word := range [...]string{"vector", "content"} {
		rest, ok := strings.CutPrefix(docID, word)
		if !ok || rest == "" {
			continue
		}
		switch rest[0] {
		case ':':
			return word + "%3A" + rest[1:]
		case '%':
			return word + "%25" + rest[1:]
		}
	}
	return docID
}

func unescapeDocID(s string) (string, error) {
	for _, word := range [...]string{"vector", "content"} {
		rest, ok := strings.CutPrefix(s, word)
		if !ok || rest == "" || rest[0] != '%' {
			continue
		}
		switch {
		case strings.HasPrefix(rest, "%3A"):
			return word + ":" + rest[3:], nil
		case strings.HasPrefix(rest, "%25"):
			return word + "%" + rest[3:], nil
		}
		return "", fmt.Errorf("docId %q begins with %q and must go on with %%3A or %%25", s, word+"%")
	}
	return s, nil
}

// ParseKey reads a printed key. It accepts exactly what String prints; anything else is an error that wraps
// ErrMalformed.
func ParseKey(s string) (Key, error) {
	if id, ok := strings.CutPrefix(s, "vector:"); ok {
		if id == "" {
			return Key{}, malformedKey(s, "the id after vector: is empty")
		}
		return VectorKey(id), nil
	}
	if digits, ok := strings.CutPrefix(s, "content:"); ok {
		if !isHex(digits, 16) {
			return Key{}, malformedKey(s, "content: takes 16 lower-case hex digits")
		}
		return Key{kind: KeyContent, id: digits}, nil
	}
	at := strings.LastIndex(s, chunkMark)
	if at < 0 {
		return Key{}, malformedKey(s, "it has no #chunk-N")
	}
	index, ok := parseIndex(s[at+len(chunkMark):])
	if !ok {
		return Key{}, malformedKey(s, "the chunk index is not a plain number from 0")
	}
	docID, err := unescapeDocID(s[:at])
	if err != nil {
		return Key{}, malformedKey(s, err.Error())
	}
	if docID == "" {
		return Key{}, malformedKey(s, "the docId is empty")
	}
	return ChunkKey(docID, index), nil
}

func malformedKey(s, why string) error {
	return &Error{Op: "parse key", Source: s, Kind: ErrMalformed, Err: errors.New(why),
		Hint: "a key looks like docs/leave.md#chunk-2, vector:ID or content:0123456789abcdef"}
}

// parseIndex reads an index in its one canonical spelling: no sign, no leading zero, at most MaxChunkIndex.
func parseIndex(s string) (int, bool) {
	if s == "" || len(s) > 16 || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n <= MaxChunkIndex
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// ValidDocID reports whether s can be a docId: not empty and valid UTF-8. Everything else is allowed: slashes, '#',
// spaces, newlines, NUL.
func ValidDocID(s string) bool { return s != "" && utf8.ValidString(s) }

// ContentHash returns the content hash of a chunk: the SHA-256 of its UTF-8 text as 64 lower-case hex digits.
func ContentHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
