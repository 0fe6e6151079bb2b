package measure

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Percentile returns the smallest value that at least p (0 to 1) of the values do not exceed (nearest rank). It is the
// zero value where there are none.
func Percentile[T cmp.Ordered](values []T, p float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Median is the 50th percentile.
func Median[T cmp.Ordered](values []T) T { return Percentile(values, .5) }

// Repeat runs f once unmeasured and then for at least the given time and three times, and returns the median duration
// and how many runs it is of.
func Repeat(least time.Duration, f func() error) (time.Duration, int, error) {
	if err := f(); err != nil {
		return 0, 0, err
	}
	var took []time.Duration
	for end := time.Now().Add(least); len(took) < 3 || time.Now().Before(end); {
		start := time.Now()
		if err := f(); err != nil {
			return 0, 0, err
		}
		took = append(took, time.Since(start))
	}
	return Median(took), len(took), nil
}
