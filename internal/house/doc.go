// Package house holds the tests of the house rules: what may import what, what packages are called, where state, flags
// and exits may be, what is documented. It reads the files themselves and has no code of its own.
package house
