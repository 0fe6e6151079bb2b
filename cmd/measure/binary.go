package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/exhibit-rag/exhibit/internal/measure"
)

type binaryCmd struct {
	Question string `default:"How much parental leave do I get?" help:"The question that it must answer in an empty root folder."`
}

// Run looks at the program file, and runs it where there is nothing else.
func (c *binaryCmd) Run(ctx context.Context, b *bench) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	needs, err := measure.Static(program)
	if err != nil {
		return err
	}
	b.say("%d bytes (%.1f MB); beyond the kernel it needs: %s", info.Size(), mb(info.Size()), orNone(needs))
	s := &measure.Section{Name: "binary", Title: "The program", Rows: []measure.Row{
		{What: "size of the binary", Goal: "≤ 130 MB", Found: fmt.Sprintf("%.1f MB", mb(info.Size())), Met: info.Size() <= 130e6},
		{What: "interpreter, dynamic section or libraries", Goal: "none", Found: orNone(needs), Met: len(needs) == 0},
	}, Notes: []string{"`CGO_ENABLED=0 go build -trimpath ./cmd/exhibit`, symbols kept."}}
	row, err := c.jailed(ctx, b, program)
	if err != nil {
		return err
	}
	s.Rows = append(s.Rows, row)
	return b.finish(s)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// jailed runs the program with a root folder that holds it, the handbook and nothing else, and no environment.
func (c *binaryCmd) jailed(ctx context.Context, b *bench, program string) (measure.Row, error) {
	row := measure.Row{What: "answers in a root folder that holds it and the handbook alone", Goal: "yes"}
	root, err := os.MkdirTemp("", "jail-")
	if err != nil {
		return row, err
	}
	defer os.RemoveAll(root)
	if err := copyFile(filepath.Join(root, "exhibit"), program, 0o755); err != nil {
		return row, err
	}
	if err := os.CopyFS(filepath.Join(root, "handbook"), os.DirFS(filepath.Join(b.repository, "examples", "handbook"))); err != nil {
		return row, err
	}
	cmd := measure.Command(ctx, "/", "/exhibit", []string{"--store", "/store", "lookup", "--in", "/handbook", c.Question})
	if !measure.Jail(cmd, root) {
		row.Found = "not tried: it takes root on Linux"
		b.say("%s", row.Found)
		return row, nil
	}
	p, err := measure.RunProcess(cmd)
	if err != nil {
		b.say("in an empty root: %v", err)
		row.Found = "no: " + err.Error()
		return row, nil
	}
	first, _, _ := strings.Cut(string(p.Stdout), "\n")
	row.Found, row.Met = fmt.Sprintf("yes, in %.1f s", p.Wall.Seconds()), strings.HasPrefix(first, "[1]")
	b.say("in an empty root, exit 0 after %.2f s; its first line: %s", p.Wall.Seconds(), first)
	return row, nil
}

func copyFile(to, from string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
