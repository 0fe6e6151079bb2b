//go:build !amd64

package vector

// nativeKernels returns none: this architecture has no assembly yet.
func nativeKernels() []kernel { return nil }
