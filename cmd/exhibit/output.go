package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/wire"
)

// output is standard output: buffered, and aware of whether a person reads it.
type output struct {
	*bufio.Writer
	terminal bool
}

func newOutput(f *os.File) *output {
	return &output{Writer: bufio.NewWriterSize(f, 64<<10), terminal: term.IsTerminal(int(f.Fd()))}
}

// flush writes what is left; what could not be written is an error even where the verb did not look.
func (a *app) flush() error {
	err := a.out.Flush()
	if err == nil || isClosedPipe(err) {
		return err
	}
	return &exhibit.Error{Op: "standard output", Kind: exhibit.ErrStorage, Err: errors.New(plainPathError(err)), Hint: "make room where it goes, or send it elsewhere"}
}

func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// format is the output format in force, checked against what the verb can print.
func (a *app) format(more ...string) (string, error) {
	f := a.cli.Output
	if a.cli.JSON {
		f = "json"
	}
	allowed := append([]string{"text", "json", "jsonl"}, more...)
	for _, name := range allowed {
		if f == name {
			return f, nil
		}
	}
	return "", &exhibit.Error{Source: "-o " + f, Kind: exhibit.ErrInvalid, Err: errors.New("this verb does not print that"),
		Hint: "formats are " + strings.Join(allowed, ", ")}
}

// printJSON prints one object, indented.
func (a *app) printJSON(v any) error {
	data, err := wire.MarshalIndent(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", data)
	return err
}

// printLine prints one object of a jsonl stream.
func (a *app) printLine(kind string, v any) error {
	data, err := wire.MarshalLine(kind, v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", data)
	return err
}

// printRendered prints a projection. A terminal is never shown a document's control characters, whatever the format.
func (a *app) printRendered(text string) error {
	if a.out.terminal {
		text = escapeControls(text, "\n\t")
	}
	_, err := a.out.WriteString(text)
	return err
}

// colour reports whether standard output is coloured: a flag beats NO_COLOR, which beats the terminal.
func (a *app) colour() bool {
	switch a.cli.Color {
	case "always":
		return true
	case "never":
		return false
	}
	return a.out.terminal && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
}

func (a *app) env(name string) string {
	for _, e := range a.environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// paint wraps text in an SGR sequence where colour is on.
func (a *app) paint(sgr, text string) string {
	if !a.colour() {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// piped reports whether standard input is a pipe or a file, from which a verb without an argument reads.
func (a *app) piped() bool {
	info, err := a.in.Stat()
	return err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular() && info.Size() > 0)
}

// readArgument returns an argument, or for "-" the whole of standard input.
func (a *app) readArgument(arg, what string, limit int64) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	if term.IsTerminal(int(a.in.Fd())) {
		return "", &exhibit.Error{Source: "-", Kind: exhibit.ErrInvalid, Err: errors.New("standard input is a terminal"), Hint: "pipe " + what + " in, or give it as an argument"}
	}
	data, err := io.ReadAll(io.LimitReader(a.in, limit+1))
	if err != nil {
		return "", &exhibit.Error{Source: "standard input", Kind: exhibit.ErrUnreadable, Err: err, Hint: "give " + what + " as an argument, or from a file"}
	}
	if int64(len(data)) > limit {
		return "", &exhibit.Error{Op: what, Source: "standard input", Kind: exhibit.ErrTooLarge, Err: fmt.Errorf("more than %d bytes", limit), Hint: "give less at a time"}
	}
	return string(data), nil
}
