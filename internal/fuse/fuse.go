// Package fuse combines the scores or ranks that several legs gave to the same candidates.
//
// Everything is computed in a fixed order over slices, so equal input gives equal bits. A positive infinity or NaN
// must not be passed in.
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
	low, high := scores[0], scores[0]
	for _, s := range scores {
		mean += s
		low, high = math.Min(low, s), math.Max(high, s)
	}
	mean /= float64(len(scores))
	for _, s := range scores {
		deviation += (s - mean) * (s - mean)
	}
	deviation = math.Sqrt(deviation / float64(len(scores)))
	if low == high || deviation <= 1e-12*math.Max(math.Abs(low), math.Abs(high)) {
		return z, mean, 0
	}
	for i, s := range scores {
		z[i] = (s - mean) / deviation
	}
	return z, mean, deviation
}

// Scores adds the standardised scores of the legs in equal parts. legs[l][i] is the completed score that leg l gave
// to candidate i; all legs have one score a candidate.
func Scores(legs [][]float64) []float64 {
	if len(legs) == 0 {
		return nil
	}
	sum := make([]float64, len(legs[0]))
	for _, scores := range legs {
		z, _, _ := Standardise(scores)
		for i, v := range z {
			sum[i] += v / float64(len(legs))
		}
	}
	return sum
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
