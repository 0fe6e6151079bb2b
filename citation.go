package exhibit

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

const (
	citationScheme = "exhibit://"
	// CitationHashDigits is how many hex digits of the content hash a citation carries.
	CitationHashDigits = 12
	// DefaultCollection is the collection that is used where none is named.
	DefaultCollection = "default"
	maxCollectionName = 64
)

// Citation is the durable name of a piece of evidence: it outlives the lookup, says which collection and chunk is
// meant, and by the hash which text. Its printed form is
//
//	exhibit://{collection}/{key, percent-encoded}@{first 12 hex digits of the content hash}
//
// Without a hash it names the newest text of the chunk; with DocID in place of Key it names a document.
type Citation struct {
	Collection string
	Key        Key    // zero where the citation names a whole document
	DocID      string // set only where Key is zero
	Hash       string // 12 lower-case hex digits, or "" for the newest text
}

// Cite returns the citation of the text that stands under a key. The content hash is the full one or its first
// twelve digits.
func Cite(collection string, key Key, contentHash string) Citation {
	if len(contentHash) > CitationHashDigits {
		contentHash = contentHash[:CitationHashDigits]
	}
	return Citation{Collection: collection, Key: key, Hash: contentHash}
}

// String prints the citation; ParseCitation reads it back.
func (c Citation) String() string {
	var b strings.Builder
	b.WriteString(citationScheme)
	b.WriteString(c.Collection)
	b.WriteByte('/')
	switch {
	case c.Key.kind == KeyChunk:
		printed := c.Key.String()
		at := strings.LastIndex(printed, chunkMark)
		escapePath(&b, printed[:at])
		b.WriteString(printed[at:])
	case c.Key.IsZero():
		escapePath(&b, EscapeDocID(c.DocID))
	default:
		escapePath(&b, c.Key.String())
	}
	if c.Hash != "" {
		b.WriteByte('@')
		b.WriteString(c.Hash)
	}
	return b.String()
}

// escapePath percent-encodes all bytes but '/' and RFC 3986's pchar without '@'
// (https://www.rfc-editor.org/rfc/rfc3986#section-3.3).
func escapePath(b *strings.Builder, s string) {
	const hexDigits = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~!$&'()*+,;=:/", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
}

// ParseCitation reads a printed citation. It does no normalising: only what String prints is read back, and anything
// else is an error that wraps ErrMalformed.
func ParseCitation(s string) (Citation, error) {
	c, err := parseCitation(s)
	if err != nil {
		return Citation{}, &Error{Op: "parse citation", Source: s, Kind: ErrMalformed, Err: err,
			Hint: "a citation looks like exhibit://company/handbook/leave.md#chunk-2@efee2c2727a9"}
	}
	return c, nil
}

func parseCitation(s string) (Citation, error) {
	rest, ok := strings.CutPrefix(s, citationScheme)
	if !ok {
		return Citation{}, errors.New("it does not begin with exhibit://")
	}
	collection, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return Citation{}, errors.New("no / ends the collection")
	}
	if err := CheckCollection(collection); err != nil {
		return Citation{}, err
	}
	body, hash, hasHash := strings.Cut(rest, "@")
	if hasHash && !isHex(hash, CitationHashDigits) {
		return Citation{}, fmt.Errorf("the hash after @ is not %d lower-case hex digits", CitationHashDigits)
	}
	decoded, err := url.PathUnescape(body)
	if err != nil {
		return Citation{}, err
	}
	c := Citation{Collection: collection, Hash: hash}
	if strings.Contains(body, "#") || strings.HasPrefix(decoded, "vector:") || strings.HasPrefix(decoded, "content:") {
		if c.Key, err = ParseKey(decoded); err != nil {
			return Citation{}, errors.New("it names no key")
		}
	} else if c.DocID, err = unescapeDocID(decoded); err != nil {
		return Citation{}, err
	} else if !ValidDocID(c.DocID) {
		return Citation{}, errors.New("it names no document")
	}
	if c.String() != s {
		return Citation{}, fmt.Errorf("it is not in its one printed form, %s", c)
	}
	return c, nil
}

// CheckCollection reports whether name can name a collection: one to 64 of a-z, 0-9, '.', '_' and '-', beginning with
// a letter or digit. The error wraps ErrInvalid.
func CheckCollection(name string) error {
	ok := name != "" && len(name) <= maxCollectionName && strings.IndexByte("._-", name[0]) < 0
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0
	}
	if !ok {
		return &Error{Op: "collection", Source: name, Kind: ErrInvalid, Err: errors.New("not a collection name"),
			Hint: "use 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit"}
	}
	return nil
}
