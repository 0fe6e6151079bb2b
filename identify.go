package exhibit

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Names under which hits carry their identity, the first that is usable winning.
func docIDNames() []string      { return []string{"docId", "doc_id"} }
func chunkIndexNames() []string { return []string{"chunkIndex", "chunk_index"} }

// Aliases are further metadata names under which an existing store keeps the identity of its chunks. They come after
// the standard names.
type Aliases struct {
	DocID      []string
	ChunkIndex []string
}

// identity is what identify found out about a hit.
type identity struct {
	key        Key
	docID      string
	chunkIndex int // -1 for none
	notes      []string
}

// identify derives the evidence key of a hit: docId and chunk index where both are usable, else the store's id, else
// the text. The zero key means that the hit is unusable.
func identify(h *Hit, aliases Aliases) identity {
	id := identity{chunkIndex: -1}
	id.docID = pick(h.Metadata, append(docIDNames(), aliases.DocID...), &id.notes, usableDocID)
	index := pick(h.Metadata, append(chunkIndexNames(), aliases.ChunkIndex...), &id.notes, usableIndex)
	if index != "" {
		id.chunkIndex, _ = strconv.Atoi(index)
	}
	switch {
	case id.docID != "" && id.chunkIndex >= 0:
		id.key = ChunkKey(id.docID, id.chunkIndex)
	case ValidDocID(h.ID):
		id.key = VectorKey(h.ID)
	default:
		id.key = ContentKey(id.docID, h.Text)
	}
	return id
}

// pick returns the first usable value among the names, and notes where a later name holds another usable one.
func pick(m Metadata, names []string, notes *[]string, usable func(Value) (string, string)) string {
	found, under := "", ""
	for _, name := range names {
		v, ok := m[name]
		if !ok {
			continue
		}
		s, note := usable(v)
		if note != "" {
			*notes = append(*notes, name+" "+note)
		}
		switch {
		case s == "" || s == found:
		case found == "":
			found, under = s, name
		default:
			*notes = append(*notes, fmt.Sprintf("%s is %q and %s is %q: %s wins", under, found, name, s, under))
		}
	}
	return found
}

// usableDocID takes a string or a number; of a list the first member, which the note says.
func usableDocID(v Value) (docID, note string) {
	if v.Kind() == ListValue {
		members := v.Members()
		if len(members) == 0 {
			return "", ""
		}
		v = members[0]
		if len(members) > 1 {
			note = fmt.Sprintf("has %d values: the first is taken", len(members))
		}
	}
	switch v.Kind() {
	case StringValue:
		docID = v.Text()
	case NumberValue:
		docID = v.Text()
		if n, _ := v.Float(); n == math.Trunc(n) && math.Abs(n) <= MaxChunkIndex {
			docID = strconv.FormatInt(int64(n), 10)
		}
	}
	if !ValidDocID(docID) {
		if docID != "" {
			note = "is not valid UTF-8: not used"
		}
		return "", note
	}
	return docID, note
}

// usableIndex takes an integer from 0, as a number or as a string that spells one: "3", 3 and 3.0 are 3; -1, 2.5,
// 1e21, NaN, true and "" are no index.
func usableIndex(v Value) (index, note string) {
	n, ok := v.Float()
	if v.Kind() == StringValue {
		n, ok = decimal(v.Text())
	}
	if !ok || n != math.Trunc(n) || n < 0 || n > MaxChunkIndex {
		return "", ""
	}
	return strconv.FormatInt(int64(n), 10), ""
}

// decimal reads a string of digits, or of digits with a fraction or an exponent as JSON spells numbers. A fraction that
// is lost in rounding is still a fraction.
func decimal(s string) (float64, bool) {
	const longest = 32
	if len(s) > longest || !json.Valid([]byte(s)) {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	if whole, fraction, ok := strings.Cut(s, "."); ok && whole != "" && strings.Trim(fraction, "0123456789") == "" && strings.Trim(fraction, "0") != "" {
		return 0, false
	}
	return n, true
}
