package store

import (
	"cmp"
	"slices"
)

// A Held is an index of a document with the hash of a text that it holds, or once held, and where it stands.
type Held struct {
	Index    int
	Position int // of the version before; not looked at for texts that are gone
	Hash     Hash
}

// Assign gives every chunk of a document's new version its index (contract §2). It is a pure function of its arguments.
//
//   - current: the chunks of the version before, each index once
//   - past: what any index of the document ever held; what current holds may be among it
//   - next: an index above all that were ever given
//   - texts: content hashes of the new version, in order of position
//
// A text that the version before has keeps its index; of n equal texts the first n in order of position, one to one. A text that an
// index once held which is now free gets that index back, the smallest first. Every other text gets the next unused index.
// So no index ever holds two texts. The second result is the counter after it.
func Assign(current, past []Held, next int, texts []Hash) ([]int, int) {
	current = slices.Clone(current)
	slices.SortFunc(current, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Index, b.Index))
	})
	standing := map[Hash][]int{}
	for _, h := range current {
		standing[h.Hash] = append(standing[h.Hash], h.Index)
	}
	out := make([]int, len(texts))
	used := map[int]bool{}
	var rest []int
	for i, hash := range texts {
		if free := standing[hash]; len(free) > 0 {
			out[i], standing[hash] = free[0], free[1:]
			used[out[i]] = true
		} else {
			rest = append(rest, i)
		}
	}
	if len(rest) == 0 {
		return out, next
	}
	once := map[Hash][]int{}
	for _, h := range past {
		if !used[h.Index] {
			once[h.Hash] = append(once[h.Hash], h.Index)
		}
	}
	for _, free := range once {
		slices.Sort(free)
	}
	for _, i := range rest {
		free := once[texts[i]]
		for len(free) > 0 && used[free[0]] { // taken just now by another text that it once held
			free = free[1:]
		}
		if len(free) > 0 {
			out[i] = free[0]
			once[texts[i]] = free[1:]
		} else {
			out[i] = next
			next++
		}
		used[out[i]] = true
	}
	return out, next
}
