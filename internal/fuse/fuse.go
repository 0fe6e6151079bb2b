// Package fuse combines the scores or ranks that several legs gave to the same candidates.
//
// Everything is computed in a fixed order over slices, so equal input gives equal bits. An infinity or NaN must not be
// passed in; any finite scores give finite results.
package fuse

import "math"

// RRFConstant is the k of reciprocal rank fusion, from Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion
// outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009.
const RRFConstant = 60

// Standardise returns (x − mean) / deviation for each score, with the population standard deviation. Scores that are
// all equal say nothing, and standardise to 0; so does a deviation that is lost in rounding.
func Standardise(scores []float64) (z []float64, mean, deviation float64) {
	z = make([]float64, len(scores))
	if len(scores) == 0 {
		return z, 0, 0
	}
	size := 0.0
	for _, s := range scores {
		size = math.Max(size, math.Abs(s))
	}
	// Squares of very large and very small scores leave the range of a float64; a power of two as a factor changes no
	// other bit.
	_, exponent := math.Frexp(size)
	if exponent > -scaleFrom && exponent < scaleFrom {
		exponent = 0
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range scores {
		s = math.Ldexp(s, -exponent)
		mean += s
		low, high = math.Min(low, s), math.Max(high, s)
	}
	mean /= float64(len(scores))
	for _, s := range scores {
		d := math.Ldexp(s, -exponent) - mean
		deviation += d * d
	}
	deviation = math.Sqrt(deviation / float64(len(scores)))
	mean, deviation = math.Ldexp(mean, exponent), math.Ldexp(deviation, exponent)
	if low == high || deviation <= 1e-12*size {
		return z, mean, 0
	}
	for i, s := range scores {
		z[i] = StandardiseOne(s, mean, deviation)
	}
	return z, mean, deviation
}

// scaleFrom is the binary exponent from which scores are scaled before they are squared.
const scaleFrom = 400

// StandardiseOne returns (x − mean) / deviation for a further score, and 0 where the deviation is 0.
func StandardiseOne(x, mean, deviation float64) float64 {
	if deviation == 0 {
		return 0
	}
	if math.Abs(x) > math.MaxFloat64/4 || math.Abs(mean) > math.MaxFloat64/4 {
		return (x/2 - mean/2) / (deviation / 2) // the difference itself may be out of range
	}
	return (x - mean) / deviation
}

// ReciprocalRanks adds 1 / (RRFConstant + rank) over the legs. ranks[l][i] is the rank from 1 that leg l gave to
// candidate i, 0 where the leg did not find it.
func ReciprocalRanks(ranks [][]int) []float64 {
	if len(ranks) == 0 {
		return nil
	}
	sum := make([]float64, len(ranks[0]))
	for _, leg := range ranks {
		for i, rank := range leg {
			if rank > 0 {
				sum[i] += 1 / float64(RRFConstant+rank)
			}
		}
	}
	return sum
}
