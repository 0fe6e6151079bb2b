package fuse_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit/internal/fuse"
)

// Any finite scores give finite values of mean 0 and deviation 1, in the order of the scores, or only zeros.
func TestStandardise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOf(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64)).Draw(t, "scores")
		z, mean, deviation := fuse.Standardise(scores)
		if len(z) != len(scores) || math.IsNaN(mean) || math.IsInf(mean, 0) || math.IsNaN(deviation) || math.IsInf(deviation, 0) || deviation < 0 {
			t.Fatalf("%d of %d scores, mean %v, deviation %v", len(z), len(scores), mean, deviation)
		}
		sum, squares := 0.0, 0.0
		for i, x := range z {
			if math.IsNaN(x) || math.IsInf(x, 0) || x != fuse.StandardiseOne(scores[i], mean, deviation) {
				t.Fatalf("score %v became %v, alone %v", scores[i], x, fuse.StandardiseOne(scores[i], mean, deviation))
			}
			sum += x
			squares += x * x
			for j := range z {
				if scores[i] < scores[j] && z[i] > z[j] {
					t.Fatalf("%v and %v became %v and %v", scores[i], scores[j], z[i], z[j])
				}
			}
		}
		n := float64(len(z))
		if deviation > math.SmallestNonzeroFloat64*1e6 && (math.Abs(sum) > 1e-6*n || math.Abs(squares-n) > 1e-6*n) {
			t.Fatalf("mean %v, mean square %v", sum/n, squares/n)
		}
	})
}

func TestStandardiseEqualScores(t *testing.T) {
	for _, x := range []float64{0, 0.1, -7, 1e-300, 1e300, math.MaxFloat64} {
		z, _, deviation := fuse.Standardise([]float64{x, x, x})
		if deviation != 0 || !slices.Equal(z, []float64{0, 0, 0}) {
			t.Errorf("three times %v gave %v with deviation %v", x, z, deviation)
		}
	}
	// Scores that differ by no more than rounding are equal.
	if z, _, _ := fuse.Standardise([]float64{1, 1 + 1e-15, 1}); !slices.Equal(z, []float64{0, 0, 0}) {
		t.Errorf("rounding became %v", z)
	}
	if z, mean, deviation := fuse.Standardise(nil); len(z) != 0 || mean != 0 || deviation != 0 {
		t.Errorf("nothing became %v, %v, %v", z, mean, deviation)
	}
}

func TestReciprocalRanks(t *testing.T) {
	got := fuse.ReciprocalRanks([][]int{{1, 2, 0}, {3, 0, 0}})
	if want := []float64{1.0/61 + 1.0/63, 1.0 / 62, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if fuse.ReciprocalRanks(nil) != nil {
		t.Error("no legs gave scores")
	}
}
