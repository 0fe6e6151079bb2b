package bitset

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNewIsNeverNil(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 64, 65} {
		s := New(n)
		if s.All() || s.Has(0) {
			t.Errorf("New(%d): All %v, Has(0) %v; want an empty set", n, s.All(), s.Has(0))
		}
	}
}

func TestNilHoldsEverything(t *testing.T) {
	var s Set
	s.Add(3)
	if !s.All() || !s.Has(0) || !s.Has(1<<40) || s.Has(-1) || s.Count(70) != 70 {
		t.Errorf("nil set: All %v, Has(0) %v, Count(70) %d", s.All(), s.Has(0), s.Count(70))
	}
	if got := slices.Collect(s.Rows(3)); !cmp.Equal(got, []int{0, 1, 2}) {
		t.Errorf("nil set: Rows(3) = %v", got)
	}
	if s.And(nil) != nil {
		t.Error("nil and nil is not nil")
	}
	if got := s.And(New(0)); got.All() {
		t.Error("nil and an empty set holds everything")
	}
}

func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		draw := func(name string) (Set, map[int]bool) {
			m, s := map[int]bool{}, New(n)
			for _, r := range rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, name) {
				m[r] = true
				s.Add(r)
			}
			return s, m
		}
		a, ma := draw("a")
		b, mb := draw("b")
		both, upto := a.And(b), rapid.IntRange(0, n+70).Draw(t, "upto")
		var rows []int
		count := 0
		for i := range upto {
			if a.Has(i) != ma[i] || both.Has(i) != (ma[i] && mb[i]) {
				t.Fatalf("row %d: has %v want %v; both %v want %v", i, a.Has(i), ma[i], both.Has(i), ma[i] && mb[i])
			}
			if ma[i] {
				rows = append(rows, i)
				count++
			}
		}
		if got := a.Count(upto); got != count {
			t.Fatalf("Count(%d) = %d, want %d", upto, got, count)
		}
		if got := slices.Collect(a.Rows(upto)); !slices.Equal(got, rows) {
			t.Fatalf("Rows(%d) = %v, want %v", upto, got, rows)
		}
		for _, r := range rows {
			a.Remove(r)
		}
		if got := a.Count(upto); got != 0 {
			t.Fatalf("after removing all rows below %d, Count = %d", upto, got)
		}
	})
}
