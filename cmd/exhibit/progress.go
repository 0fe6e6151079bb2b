package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/exhibit-rag/exhibit/local"
)

// Progress shows on a terminal only, after progressAfter, at most every progressEvery.
const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
	clearLine     = "\r\x1b[K"
)

// progressLine is one rewritten line on standard error: what is done, of how much, how fast, and how long it still
// takes.
type progressLine struct {
	w       io.Writer
	width   int
	started time.Time
	stage   string
	since   time.Time // of the stage
	from    int       // done when the stage began to be seen
	last    time.Time
	shown   bool
}

// newProgress returns nil where nobody watches.
func (a *app) newProgress() *progressLine {
	f, ok := a.err.(*os.File)
	if !ok || a.cli.Quiet || !term.IsTerminal(int(f.Fd())) || a.env("TERM") == "dumb" {
		return nil
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return &progressLine{w: f, width: width, started: time.Now()}
}

func (p *progressLine) show(now local.Progress) {
	t := time.Now()
	if now.Stage != p.stage {
		p.stage, p.since, p.from = now.Stage, t, now.Done
	}
	if t.Sub(p.started) < progressAfter || t.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = t, true
	fmt.Fprint(p.w, clearLine, fit(p.line(now, t), p.width-1))
}

func (p *progressLine) line(now local.Progress, t time.Time) string {
	unit := "documents"
	if now.Stage == "embed" {
		unit = "chunks"
	}
	s := fmt.Sprintf("%s %d/%d %s", now.Stage, now.Done, now.Total, unit)
	if elapsed := t.Sub(p.since).Seconds(); elapsed > 0.5 && now.Done > p.from {
		rate := float64(now.Done-p.from) / elapsed
		left := time.Duration(float64(now.Total-now.Done) / rate * float64(time.Second))
		s += fmt.Sprintf("  %.0f/s  %s left", rate, left.Round(time.Second))
	}
	return s + "  " + oneLine(now.Current)
}

// fit cuts a line to a number of code points, so that it does not wrap.
func fit(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width || width < 1 {
		return s
	}
	return string(runes[:width-1]) + "…"
}

func (p *progressLine) end() {
	if p != nil && p.shown {
		fmt.Fprint(p.w, clearLine)
	}
}
