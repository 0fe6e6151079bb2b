package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/wire"
	"github.com/exhibit-rag/exhibit/local"
)

type doctorCmd struct {
	Deep bool `help:"Hash every chunk again, and rebuild and compare what is derived."`
}

// check is one thing that doctor looked at.
type check struct {
	Name   string `json:"name"`
	Result string `json:"result"` // ok, warn or fail
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// effectiveSetting is one setting as doctor prints it.
type effectiveSetting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Run prints checks and settings. It exits 1 where a check fails.
func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	format, env, err := a.begin()
	if err != nil {
		return err
	}
	checks := c.checks(ctx, a, env)
	if err := c.print(a, format, checks, effectiveSettings(a, env)); err != nil {
		return err
	}
	for _, one := range checks {
		if one.Result == "fail" {
			return errJudged
		}
	}
	return nil
}

func failed(name string, err error) check {
	return check{Name: name, Result: "fail", Detail: err.Error(), Hint: exhibit.HintOf(err)}
}

func (c *doctorCmd) checks(ctx context.Context, a *app, env *environment) []check {
	checks := []check{{Name: "version", Result: "ok", Detail: version()}}
	if !env.exists {
		checks = append(checks, check{Name: "store", Result: "warn", Detail: "none at " + env.folder, Hint: "exhibit sync FOLDER makes one"})
		return append(checks, encoderChecks(env)...)
	}
	store, _, err := a.open(ctx, env, false)
	if err != nil {
		return append(checks, failed("store", err))
	}
	defer store.Close()
	checks = append(checks, encoderChecks(env)...)
	found, err := store.Check(ctx, c.Deep)
	if err != nil {
		return append(checks, failed("store", err))
	}
	for _, f := range found {
		checks = append(checks, check{Name: f.Name, Result: f.Level, Detail: f.Detail, Hint: f.Hint})
	}
	names, err := store.Collections(ctx)
	if err != nil {
		return append(checks, failed("collections", err))
	}
	for _, name := range names {
		checks = append(checks, collectionChecks(ctx, env, store, name)...)
		if c.Deep {
			checks = append(checks, windowChecks(ctx, env, store, name)...)
		}
	}
	return checks
}

// encoderChecks opens the embedder and says what it runs on.
func encoderChecks(env *environment) []check {
	switch env.set.text("embed.provider") {
	case "none":
		return []check{{Name: "model", Result: "warn", Detail: "embed.provider is none: lookups search by words only", Hint: "embed.provider local needs no download"}}
	case "openai":
		return []check{{Name: "model", Result: "ok", Detail: env.set.text("embed.model") + " at " + env.set.text("embed.base-url") + " (not asked)"}}
	}
	encoder := local.NewEncoder(nil)
	kernel, err := encoder.Kernel()
	if err != nil {
		return []check{failed("model", err)}
	}
	checks := []check{{Name: "model", Result: "ok", Detail: fmt.Sprintf("%s, built in, %d dimensions", encoder.Model().Name, encoder.Model().Dimension)}}
	k := check{Name: "kernel", Result: "ok", Detail: kernel}
	if strings.HasPrefix(kernel, "portable") {
		k.Result, k.Hint = "warn", "a CPU with AVX2 or AVX-512 embeds several times faster; for large folders let a server embed: embed.provider openai"
	}
	return append(checks, k)
}

// collectionChecks look at one collection: what is stale, failed, or without a vector, and whether one document alone
// fills it.
func collectionChecks(ctx context.Context, env *environment, store *local.Store, name string) []check {
	st, err := store.Status(ctx, name)
	if err != nil {
		return []check{failed("collection "+name, err)}
	}
	checks := []check{{Name: "collection " + name, Result: "ok", Detail: fmt.Sprintf("%d documents, %d chunks, revision %s", st.Documents, st.Chunks, st.Revision)}}
	warn := func(detail, hint string) {
		checks = append(checks, check{Name: "collection " + name, Result: "warn", Detail: detail, Hint: hint})
	}
	if st.Stale > 0 {
		warn(fmt.Sprintf("%d documents are stale: cut by another chunker configuration", st.Stale), "exhibit sync --rebuild chunks -c "+name)
	}
	if st.Failed > 0 {
		warn(fmt.Sprintf("%d sources failed", st.Failed), "exhibit list --state failed -c "+name)
	}
	if st.WithoutVector > 0 {
		warn(fmt.Sprintf("%d chunks have no vector yet and are found by words only", st.WithoutVector), "exhibit sync goes on embedding")
	}
	if model := env.set.text("embed.model"); st.Model != "" && env.set.text("embed.provider") != "none" && model != st.Model {
		checks = append(checks, check{Name: "collection " + name, Result: "fail", Detail: "its vectors are of " + st.Model + ", embed.model is " + model,
			Hint: "exhibit sync --rebuild vectors, or set embed.model to " + st.Model})
	}
	if st.Documents == 1 && st.Chunks > env.set.int(exhibit.KeyMaxChunks) && env.set.text(exhibit.KeyCapMode) != exhibit.CapSoft {
		warn("it is one document: every answer meets rag.max-chunks-per-document", "raise rag.max-chunks-per-document, or set rag.cap-mode: soft")
	}
	return checks
}

// windowChecks counts the chunks that the built-in encoder cannot read at once.
func windowChecks(ctx context.Context, env *environment, store *local.Store, name string) []check {
	if env.set.text("embed.provider") != "local" {
		return nil
	}
	n, err := store.Windowed(ctx, name)
	if err != nil {
		return []check{failed("collection "+name, err)}
	}
	if n == 0 {
		return []check{{Name: "collection " + name, Result: "ok", Detail: "every chunk is embedded in one piece"}}
	}
	return []check{{Name: "collection " + name, Result: "warn", Detail: fmt.Sprintf("%d chunks are longer than the encoder reads at once; their vectors are means of windows", n),
		Hint: "lower chunk.max-tokens and exhibit sync --rebuild chunks -c " + name}}
}

// effectiveSettings lists every setting with its value and origin. A setting that names a variable with a secret says
// only whether that variable is set.
func effectiveSettings(a *app, env *environment) []effectiveSetting {
	var out []effectiveSetting
	for _, row := range table() {
		e := effectiveSetting{Key: row.key, Value: row.def, From: string(exhibit.FromDefault)}
		if v, ok := env.set[row.key]; ok {
			e.Value, e.From = v.raw, string(v.from)
			if row.kind == kindList {
				e.Value = strings.Join(v.list, ", ")
			}
			if strings.HasSuffix(row.key, "-env") {
				state := "unset"
				if a.env(v.raw) != "" {
					state = "set"
				}
				e.Value = v.raw + " (" + state + ")"
			}
		}
		out = append(out, e)
	}
	return out
}

func (c *doctorCmd) print(a *app, format string, checks []check, set []effectiveSetting) error {
	switch format {
	case "json":
		return a.printJSON(struct {
			Checks   wire.List[check]            `json:"checks"`
			Settings wire.List[effectiveSetting] `json:"settings"`
		}{checks, set})
	case "jsonl":
		for _, one := range checks {
			if err := a.printLine("check", one); err != nil {
				return err
			}
		}
		for _, s := range set {
			if err := a.printLine("setting", s); err != nil {
				return err
			}
		}
		return nil
	}
	colours := map[string]string{"ok": "32", "warn": "33", "fail": "31"}
	for _, one := range checks {
		fmt.Fprintf(a.out, "%s  %s: %s\n", a.paint(colours[one.Result], fmt.Sprintf("%-4s", one.Result)), oneLine(one.Name), oneLine(one.Detail))
		if one.Hint != "" {
			fmt.Fprintf(a.out, "      %s\n", oneLine(one.Hint))
		}
	}
	fmt.Fprint(a.out, "\nsettings\n")
	for _, s := range set {
		value := s.Value
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(a.out, "  %-30s %-24s %s\n", s.Key, oneLine(value), s.From)
	}
	return nil
}
