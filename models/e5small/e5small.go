// Package e5small carries the weights of multilingual-e5-small, the encoder that is used when no other is named: 384
// dimensions, up to 512 tokens, some hundred languages, at 4 bits. See README.md for where they come from and LICENSE for
// their terms.
//
// The weights are part of the program that imports this package, about 72 MB of it, read in place and only where they are
// touched. A program that does not import it does not carry them; so nothing but the default assembly should, and as few
// test packages as can be.
package e5small

import _ "embed"

const (
	// Name is the model's name, stamped into stores and shown to users.
	Name = "multilingual-e5-small"
	// Dimension is the length of its vectors.
	Dimension = 384
	// MaxTokens is the longest input in tokens, begin and end marks included.
	MaxTokens = 512
	// SHA256 is the hash of the string that Weights returns, in hexadecimal.
	SHA256 = "5349ba2805ca1acdb9c4567237041fba0feaeb5105164c17fec9494e2a9985b3"
)

//go:embed e5small.bin
var container string

// Weights returns the container that internal/weights opens. It costs nothing: the string is the program's own read-only data.
func Weights() string { return container }
