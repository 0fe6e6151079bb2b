// Package bitset holds sets of small non-negative integers (row numbers) as bits.
//
// The nil [Set] means "every row": it is what a search without a filter passes. A set
// that holds nothing is empty but not nil, and [New] never returns nil, so the two cannot be confused.
package bitset

import (
	"iter"
	"math/bits"
	"slices"
)

// A Set is a set of row numbers, one bit each: row i is bit i%64 of word i/64.
// The nil Set holds every row. Rows beyond the last word are not in a non-nil Set.
// Reading is safe from several goroutines; [Set.Add] and [Set.Remove] are not.
type Set []uint64

// New returns an empty set with room for rows 0 to n-1. It is never nil, not even for n <= 0.
func New(n int) Set {
	return make(Set, (max(n, 0)+63)/64)
}

// Of returns a set with room for rows 0 to n-1 that holds rows. It panics if a row is outside that room.
func Of(n int, rows ...int) Set {
	s := New(n)
	for _, r := range rows {
		s.Add(r)
	}
	return s
}

// All reports whether s is nil, the set that holds every row.
func (s Set) All() bool { return s == nil }

// Has reports whether row i is in s. The nil Set holds every i >= 0.
func (s Set) Has(i int) bool {
	if i < 0 {
		return false
	}
	if s == nil {
		return true
	}
	return i>>6 < len(s) && s[i>>6]>>(i&63)&1 == 1
}

// Add puts row i into s, which must have been made with room for it; adding beyond the room
// panics like an index out of range. The nil Set already holds every row: Add leaves it alone.
func (s Set) Add(i int) {
	if s != nil {
		s[i>>6] |= 1 << (i & 63)
	}
}

// Remove takes row i out of s. It panics on the nil Set, which has no bounds to write down without it.
func (s Set) Remove(i int) {
	if s == nil {
		panic("bitset: remove from the set of all rows")
	}
	if i>>6 < len(s) {
		s[i>>6] &^= 1 << (i & 63)
	}
}

// Count returns how many of the rows 0 to n-1 are in s; for the nil Set that is n.
func (s Set) Count(n int) int {
	if n <= 0 {
		return 0
	}
	if s == nil {
		return n
	}
	whole, c := min(n>>6, len(s)), 0
	for _, w := range s[:whole] {
		c += bits.OnesCount64(w)
	}
	if rest := n & 63; rest != 0 && n>>6 < len(s) {
		c += bits.OnesCount64(s[n>>6] & (1<<rest - 1))
	}
	return c
}

// And returns the rows that are in both s and t. With a nil Set on one side it is a copy of the other;
// of two nil Sets it is nil.
func (s Set) And(t Set) Set {
	switch {
	case s == nil:
		return slices.Clone(t)
	case t == nil:
		return slices.Clone(s)
	}
	out := make(Set, min(len(s), len(t)))
	for i := range out {
		out[i] = s[i] & t[i]
	}
	return out
}

// Rows yields the rows 0 to n-1 that are in s, ascending; for the nil Set all of them.
func (s Set) Rows(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if s == nil {
			for i := range n {
				if !yield(i) {
					return
				}
			}
			return
		}
		for w, word := range s {
			for ; word != 0; word &= word - 1 {
				i := w<<6 + bits.TrailingZeros64(word)
				if i >= n || !yield(i) {
					return
				}
			}
		}
	}
}
