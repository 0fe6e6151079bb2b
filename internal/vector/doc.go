// Package vector searches vectors of float32 exactly, by going through all of them.
//
// Vectors have length 1, so their inner product is the cosine. A product is summed in a fixed order that depends on the
// dimension alone: in 16 lanes, then lanes 8, 4, 2 and 1 apart, then what is left of a dimension that is no multiple of 16.
// A row's score is therefore the same bits whatever is searched with it, with any number of workers, and with the AVX2 and the
// AVX-512 kernel alike. The portable kernel does not fuse and differs in the last digits.
//
// Start with [NewMatrix] or [Load], then [Matrix.Search].
package vector
