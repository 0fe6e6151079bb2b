// Package bert runs a BERT encoder (post-layer-norm, GELU, learned positions) over token ids and returns one vector a text:
// the mean of the last layer over all tokens, at length 1.
//
// Start with [Open] and [Encoder.Embed]. Weights stay at 4 bits, as the file holds them: the word table is read in
// place, the layers' matrices are regrouped once for the kernels (13 MB for multilingual-e5-small) and expanded, panel by
// panel, while they are multiplied. The expansion is exact, so this is the fp32 computation over the file's own weights.
//
// What it does not do: it does not tokenise, pad, or cut. A text longer than the model's positions is an error; [Windows]
// and [Mean] are there for callers who want long texts embedded in parts.
package bert
