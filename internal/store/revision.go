package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// A document's digest is the sum, mod 2^256, of one SHA-256 for the document and one for each of its chunks; a collection's accumulator
// is the sum of the digests of its documents. Sums are independent of order and of batches, and are kept up to date by adding what came and
// subtracting what went (Bellare and Micciancio, "A New Paradigm for Collision-Free Hashing", EUROCRYPT 1997, call it AdHash).
// It is meant to tell states apart, not to withstand someone who makes documents so that sums collide.

// add returns h + x mod 2^256, both taken as big-endian numbers.
func (h Hash) add(x Hash) Hash { return h.sum(x, 0) }

// sub returns h − x mod 2^256.
func (h Hash) sub(x Hash) Hash {
	for i := range x {
		x[i] = ^x[i]
	}
	return h.sum(x, 1)
}

func (h Hash) sum(x Hash, carry uint64) Hash {
	for i := len(h) - 8; i >= 0; i -= 8 {
		var s uint64
		s, carry = bits.Add64(binary.BigEndian.Uint64(h[i:]), binary.BigEndian.Uint64(x[i:]), carry)
		binary.BigEndian.PutUint64(h[i:], s)
	}
	return h
}

// A digester hashes fields so that no two lists of fields give the same bytes: every string is preceded by its length.
type digester struct{ b []byte }

func (d *digester) str(ss ...string) {
	for _, s := range ss {
		d.b = binary.AppendUvarint(d.b, uint64(len(s)))
		d.b = append(d.b, s...)
	}
}

func (d *digester) ints(ns ...int) {
	for _, n := range ns {
		d.b = binary.AppendVarint(d.b, int64(n))
	}
}

func (d *digester) done() Hash { return sha256.Sum256(d.b) }

func documentDigest(docID string, content Hash, title, source, metadata string) Hash {
	d := digester{b: make([]byte, 0, 256)}
	d.str("document", docID, string(content[:]), title, source, metadata)
	return d.done()
}

// chunkDigest hashes one chunk, its key being docID and index.
func chunkDigest(docID, configHash string, index, position int, sp Span, content Hash, vector bool) Hash {
	d := digester{b: make([]byte, 0, 256)}
	d.str("chunk", docID, configHash, string(content[:]))
	d.ints(index, position, sp.StartByte, sp.EndByte, sp.StartLine, sp.EndLine, sp.StartPage, sp.EndPage)
	if vector {
		d.ints(1)
	} else {
		d.ints(0)
	}
	return d.done()
}

// revision returns the 12 hex digits that name a state: accumulator and stamps.
func revision(acc Hash, st Stamps) string {
	d := digester{}
	d.str("revision", string(acc[:]), st.Chunker, st.Analyser, st.Model)
	d.ints(Format, st.Dimension)
	h := d.done()
	return hex.EncodeToString(h[:6])
}
