package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilesAreFresh compares what the generator writes with what is in the package.
func TestFilesAreFresh(t *testing.T) {
	for name, want := range Files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what asmgen writes: run go generate ./internal/bert", name)
		}
	}
}
