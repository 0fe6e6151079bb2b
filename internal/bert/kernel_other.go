//go:build !amd64

package bert

// nativeKernels returns none: this architecture has no assembly yet.
func nativeKernels() []kernel { return nil }
