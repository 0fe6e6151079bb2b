package chunk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Version counts the changes of the rules by which texts are cut. It is part of [Config.Hash], so that documents cut by older rules are
// known to be stale.
const Version = 2

const (
	// DefaultMaxTokens is the target size of a piece in encoder tokens.
	DefaultMaxTokens = 256
	// EncoderTokens bounds a piece together with its heading path and context: the default encoder reads 510 tokens at once, and the
	// rest is kept for its prefix and the document's title.
	EncoderTokens = 480

	minMaxTokens = 16
	maxMaxTokens = 8192
)

// Config holds the settings of the chunker. The zero value means the defaults.
type Config struct {
	// MaxTokens is the size aimed at, in encoder tokens; default 256, from 16 to 8192. A section of up to three quarters more stays
	// whole rather than being cut in two halves far below the target. Above EncoderTokens it also replaces that bound, for encoders that read more at once.
	MaxTokens int
	// OverlapTokens is how much of a piece is repeated, in whole sentences or rows, at the start of the next piece of the same
	// section; default 0, at most half of MaxTokens. A section of more than 65,536 sentences or rows has a few places without.
	OverlapTokens int
}

// Validate returns an error that names the setting, its value and what is allowed, or nil.
func (c Config) Validate() error {
	d := c.withDefaults()
	if d.MaxTokens < minMaxTokens || d.MaxTokens > maxMaxTokens {
		return fmt.Errorf("chunk.max-tokens is %d; it must be from %d to %d", c.MaxTokens, minMaxTokens, maxMaxTokens)
	}
	if d.OverlapTokens < 0 || d.OverlapTokens > d.MaxTokens/2 {
		return fmt.Errorf("chunk.overlap-tokens is %d; it must be from 0 to %d, half of chunk.max-tokens", c.OverlapTokens, d.MaxTokens/2)
	}
	return nil
}

// Hash returns the first 12 hex digits of the SHA-256 of the settings and of [Version]. Two configurations with one hash cut alike.
func (c Config) Hash() string {
	c = c.withDefaults()
	sum := sha256.Sum256(fmt.Appendf(nil, "chunk version=%d max-tokens=%d overlap-tokens=%d", Version, c.MaxTokens, c.OverlapTokens))
	return hex.EncodeToString(sum[:])[:12]
}

// withDefaults also brings values outside the valid range into it, so that Cut never misbehaves on an unvalidated Config.
func (c Config) withDefaults() Config {
	if c.MaxTokens == 0 {
		c.MaxTokens = DefaultMaxTokens
	}
	return c
}

// bound is the most tokens that a piece, its heading path and its context may have together.
func (c Config) bound() int { return max(EncoderTokens, c.MaxTokens) }

// whole is the size up to which a section is not cut. On SciFact, whose abstracts have 200 to 450 tokens, 5/4, 3/2 and 7/4 of the target gave
// nDCG@10 .654, .654 and .660 by vectors alone and .742, .737 and .736 with words (cmd/measure quality): what the encoder can read at once
// is better embedded at once, and a cut costs the reader its context.
func (c Config) whole() int { return c.MaxTokens * 7 / 4 }

// tiny is the size below which a section's last piece is joined to the one before.
func (c Config) tiny() int { return c.MaxTokens / 8 }
