package eval

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
)

// MaxLineBytes is the longest line of a file of questions, judgements or rankings.
const MaxLineBytes = 1 << 20

// lines calls f with each line that is not blank, without its end and without a byte order mark, and puts name and
// line number before an error of f.
func lines(r io.Reader, name string, f func(line []byte) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), MaxLineBytes)
	n := 0
	for sc.Scan() {
		n++
		line := sc.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return lineError(name, n, errors.New("it is not valid UTF-8"), "convert the file to UTF-8")
		}
		if err := f(line); err != nil {
			return lineError(name, n, err, exhibit.HintOf(err))
		}
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return lineError(name, n+1, fmt.Errorf("the line is longer than %d bytes", MaxLineBytes), "")
	}
	if sc.Err() != nil {
		return fileError(name, sc.Err(), "")
	}
	return nil
}

func lineError(name string, n int, err error, hint string) error {
	return &exhibit.Error{Source: fmt.Sprintf("%s:%d", name, n), Kind: exhibit.ErrMalformed, Err: err, Hint: hint}
}

// hinted is an error with a hint, to be given its place by lines.
func hinted(hint, format string, args ...any) error {
	return &exhibit.Error{Err: fmt.Errorf(format, args...), Hint: hint}
}

// fields splits a line at ASCII white space, as trec_eval does.
func fields(line []byte) [][]byte {
	return bytes.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\v' || r == '\f' })
}
