package main

import "testing"

func TestArgumentThatIsNotUTF8IsRefused(t *testing.T) {
	b := newBench(t, nil)
	_, errs, code := b.run(t, "lookup", "leave \xff bad")
	if want := "exhibit: error: \"leave \\xff bad\": this argument is not valid UTF-8\nexhibit: hint: convert it to UTF-8; of a file whose name is not, name the folder\n"; code != 2 || errs != want {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
