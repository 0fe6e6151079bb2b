// Package sharedtest finds the data sets, documents and models that tests and benchmarks read but the project does not carry.
package sharedtest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Root returns the folder `shared` that lies beside the repository, or the one named by EXHIBIT_SHARED, and whether it exists.
func Root() (string, bool) {
	root := os.Getenv("EXHIBIT_SHARED")
	if root == "" {
		_, file, _, ok := runtime.Caller(0)
		if !ok {
			return "", false
		}
		root = filepath.Join(filepath.Dir(file), "..", "..", "..", "shared")
	}
	info, err := os.Stat(root)
	return root, err == nil && info.IsDir()
}

// Dir returns the path of an element below the shared folder and skips the test, saying what it lacks, when it is not there.
func Dir(t testing.TB, elem ...string) string {
	t.Helper()
	root, ok := Root()
	if !ok {
		t.Skipf("needs the folder shared beside the repository (or EXHIBIT_SHARED)")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("needs %s in the folder shared beside the repository", filepath.Join(elem...))
	}
	return path
}
