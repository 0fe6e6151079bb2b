// Command exhibit turns a folder into evidence for agents: it syncs documents into a store and answers questions with
// chunks of them, each with a stable key, an exact place and an account of what was left out.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/exhibit-rag/exhibit"
)

func main() { os.Exit(run()) }

// run is the program; it returns the exit code: 0 done, 1 failed or the judgement is bad, 2 wrong usage.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	a := &app{in: os.Stdin, out: newOutput(os.Stdout), err: os.Stderr, environ: os.Environ()}
	return a.run(ctx, os.Args[1:])
}

// app is one run of the program: its streams, and what the flags said.
type app struct {
	in      *os.File
	out     *output
	err     io.Writer
	environ []string
	cli     cli
	args    []string
	jobs    int // files that a sync reads at once; 0 is one a core
}

// judged says that a verb printed its result and that the result is bad: exit 1 without an error line.
var errJudged = errors.New("judged bad")

func (a *app) run(ctx context.Context, args []string) int {
	a.args = args
	if len(args) > 0 && args[0] == "__complete" {
		a.complete(ctx, args[1:])
		return 0
	}
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return a.fail(&exhibit.Error{Source: fmt.Sprintf("%q", arg), Kind: exhibit.ErrInvalid, Err: errors.New("this argument is not valid UTF-8"),
				Hint: "convert it to UTF-8; of a file whose name is not, name the folder"})
		}
	}
	exit := -1
	parser, err := a.parser(func(code int) { exit = code; panic(exitNow{}) })
	if err != nil {
		return a.fail(err)
	}
	kctx, err := parse(parser, args)
	if exit >= 0 {
		if err := a.flush(); err != nil {
			return a.fail(err)
		}
		return exit
	}
	if err != nil {
		return a.fail(usageError(err, kctx))
	}
	if a.cli.Timeout < 0 {
		return a.fail(&exhibit.Error{Source: "--timeout=" + a.cli.Timeout.String(), Kind: exhibit.ErrInvalid, Err: errors.New("must be more than 0"), Hint: "leave it out to have none"})
	}
	if a.cli.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.cli.Timeout)
		defer cancel()
	}
	kctx.BindTo(ctx, (*context.Context)(nil))
	err = a.ended(ctx, kctx.Run(a))
	if flush := a.flush(); flush != nil {
		err = flush
	}
	return a.fail(err)
}

// ended names the end of ctx as the cause of an error, whatever the step that it cut short made of it.
func (a *app) ended(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, errJudged):
		return err
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &exhibit.Error{Source: "--timeout=" + a.cli.Timeout.String(), Kind: context.DeadlineExceeded, Err: errors.New("the time is over; what was done is kept, and the next run goes on from there"),
			Hint: "raise --timeout, or leave it out"}
	}
	return err
}

// exitNow unwinds kong when --help or --version has printed.
type exitNow struct{}

func parse(parser *kong.Kong, args []string) (kctx *kong.Context, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exitNow); !ok {
				panic(r)
			}
		}
	}()
	return parser.Parse(args)
}

// usageError makes kong's complaint an error of this program, with the help of the verb as its hint.
func usageError(err error, kctx *kong.Context) error {
	hint := "exhibit --help lists the verbs"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			hint = "exhibit " + strings.Fields(node.Path() + " ")[0] + " --help shows how it is used"
		}
	}
	return &exhibit.Error{Kind: exhibit.ErrInvalid, Err: errors.New(err.Error()), Hint: hint}
}

// fail prints an error and its hint on standard error and returns the exit code.
func (a *app) fail(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errJudged):
		return 1
	case isClosedPipe(err):
		return 0
	}
	code := 0
	for _, one := range flatten(err) {
		code = max(code, a.exitCode(one))
		if errors.Is(one, context.Canceled) {
			fmt.Fprintln(a.err, "exhibit: error: interrupted; what was done is kept, and the next run goes on from there")
			continue
		}
		fmt.Fprintf(a.err, "exhibit: error: %s\n", oneLine(one.Error()))
		if hint := exhibit.HintOf(one); hint != "" {
			fmt.Fprintf(a.err, "exhibit: hint: %s\n", oneLine(hint))
		}
	}
	return code
}

// exitCode follows the table of failures; on the command line a question that is too large is wrong usage.
func (a *app) exitCode(err error) int {
	var e *exhibit.Error
	if errors.As(err, &e) && e.Op == "question" {
		return 2
	}
	return exhibit.FailureOf(err).Exit
}

// flatten takes apart errors that were joined, so that each gets its own line and hint.
func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if _, single := err.(*exhibit.Error); !single {
			var out []error
			for _, e := range joined.Unwrap() {
				out = append(out, flatten(e)...)
			}
			return out
		}
	}
	return []error{err}
}

// oneLine keeps a message on its line: control characters, also those of file names, are shown escaped.
func oneLine(s string) string { return escapeControls(s, "") }

// escapeControls shows the control characters that are not in keep as \x1b and the like.
func escapeControls(s, keep string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) && !strings.ContainsRune(keep, r) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (a *app) warn(format string, args ...any) {
	if !a.cli.Quiet {
		fmt.Fprintf(a.err, "exhibit: warning: %s\n", oneLine(fmt.Sprintf(format, args...)))
	}
}

// version is the module's version, or the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && (v == "" || v == "(devel)") {
			v = "devel-" + s.Value[:12]
		}
	}
	return v
}
