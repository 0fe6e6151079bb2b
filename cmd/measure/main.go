// Command measure runs the measurements of this repository and writes their figures to docs/measurements.md.
//
//	go run ./cmd/measure --write quality --sets xquad-en,scifact
//
// It needs the folder of data sets that lies beside the repository, and is no part of the product.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/exhibit-rag/exhibit/internal/measure"
)

// cli is the command line: global flags and one field a suite, in the order of the document.
type cli struct {
	Shared string `placeholder:"DIR" default:"../shared" help:"Folder of data sets. Default: ../shared."`
	Cache  string `placeholder:"DIR" help:"Where stores and the built binary are kept between runs. Default: exhibit-measure in the user's cache folder."`
	Binary string `placeholder:"FILE" help:"The program to measure. Default: built from this working tree."`
	Write  bool   `help:"Replace the suite's section of docs/measurements.md."`
	Strict bool   `help:"Exit 1 where a goal is missed."`

	Quality      qualityCmd      `cmd:"" help:"nDCG@10 and others of each leg and of both, on data sets with judgements."`
	Tokenizer    tokenizerCmd    `cmd:"" help:"Token ids against those of the sentencepiece package."`
	Encoder      encoderCmd      `cmd:"" help:"Vectors against those of ONNX Runtime."`
	EncoderSpeed encoderSpeedCmd `cmd:"" help:"Speed of the encoder beside ONNX Runtime, taking turns."`
	WarmLookup   warmLookupCmd   `cmd:"" help:"Time of a lookup in an open store, question's vector given, on one core."`
	ColdLookup   coldLookupCmd   `cmd:"" help:"Time and memory of the program answering one question over an existing store."`
	FirstLookup  firstLookupCmd  `cmd:"" help:"Time of lookup --in examples/handbook with nothing stored."`
	Resync       resyncCmd       `cmd:"" help:"Time of a sync that finds nothing changed."`
	Binary_      binaryCmd       `cmd:"" name:"binary" help:"Size of the program, and what it needs to run."`
	Kill         killCmd         `cmd:"" help:"kill -9 at random moments of a sync."`
}

// order is that of the sections in the document.
func order() []string {
	return []string{"quality", "tokenizer", "encoder", "encoder-speed", "warm-lookup", "cold-lookup", "first-lookup", "resync", "binary", "kill"}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure: error:", err)
		os.Exit(1)
	}
}

// bench is what every suite works with.
type bench struct {
	cli        *cli
	args       []string
	repository string // root of the working tree
	shared     string
	cache      string
	raw        bytes.Buffer
	host       measure.Host
}

func run(ctx context.Context, args []string) error {
	b := &bench{cli: &cli{}, args: args}
	parser, err := kong.New(b.cli, kong.Name("measure"), kong.Description("Measure this repository."), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(b))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	if err := b.findFolders(); err != nil {
		return err
	}
	b.host = measure.ThisHost(ctx, b.repository)
	return parsed.Run()
}

func (b *bench) findFolders() error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for b.repository = here; ; b.repository = filepath.Dir(b.repository) {
		if _, err := os.Stat(filepath.Join(b.repository, "go.mod")); err == nil {
			break
		}
		if b.repository == filepath.Dir(b.repository) {
			return errors.New("run it inside of the repository")
		}
	}
	b.shared = b.cli.Shared
	if !filepath.IsAbs(b.shared) {
		b.shared = filepath.Join(b.repository, b.shared)
	}
	b.cache = b.cli.Cache
	if b.cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		b.cache = filepath.Join(user, "exhibit-measure")
	}
	if b.cache, err = filepath.Abs(b.cache); err != nil {
		return err
	}
	return os.MkdirAll(b.cache, 0o755)
}

// dataset returns the folder of a data set, which must be there.
func (b *bench) dataset(name string) (string, error) {
	dir := filepath.Join(b.shared, "datasets", name)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("data set %s: no folder of this name under the shared folder; --shared names another", name)
	}
	return dir, nil
}

// say prints a line of the record, for people now and for the document later.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(io.MultiWriter(os.Stdout, &b.raw), format+"\n", args...)
}

// progress prints what is no part of the record.
func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// program returns the path of the program to measure, built where none was named.
func (b *bench) program(ctx context.Context) (string, error) {
	if b.cli.Binary != "" {
		return filepath.Abs(b.cli.Binary)
	}
	path := filepath.Join(b.cache, "exhibit")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "./cmd/exhibit")
	build.Dir, build.Env = b.repository, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
}

// finish prints the figures and, where asked to, writes the section.
func (b *bench) finish(s *measure.Section) error {
	s.Host, s.Raw = b.host.Ended(), b.plain(b.raw.String())
	s.Command = b.plain("go run ./cmd/measure " + strings.Join(b.args, " "))
	for _, r := range s.Rows {
		verdict := ""
		if r.Goal != "" {
			verdict = fmt.Sprintf("  (goal %s: %s)", r.Goal, map[bool]string{true: "reached", false: "MISSED"}[r.Met])
		}
		fmt.Printf("%-44s %s%s\n", r.What, r.Found, verdict)
	}
	if b.cli.Write {
		if err := b.write(s); err != nil {
			return err
		}
	}
	if short := s.Short(); b.cli.Strict && len(short) > 0 {
		return fmt.Errorf("%d of %d goals are missed", len(short), len(s.Rows))
	}
	return nil
}

func (b *bench) write(s *measure.Section) error {
	path := filepath.Join(b.repository, "docs", "measurements.md")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	doc, err := measure.Replace(string(old), s, order())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(doc), 0o644)
}

// plain takes the paths of this machine out of a text.
func (b *bench) plain(s string) string {
	return strings.NewReplacer(b.cache, "CACHE", b.shared, "../shared", b.repository, ".", strings.TrimRight(os.TempDir(), "/"), "TMP").Replace(s)
}
