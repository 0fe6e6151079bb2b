// Package embed turns texts into vectors: by the encoder that the program carries, or by a server over HTTP.
//
// Every embedder here implements [exhibit.Embedder]. What an embedder answers is checked before anyone sees it: one
// vector a text, of the model's dimension, finite, of length 1.
package embed
