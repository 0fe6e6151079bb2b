package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/local"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

// Run prints the script; each asks the hidden verb __complete for what may come next.
func (c *completionCmd) Run(a *app) error {
	_, err := a.out.WriteString(completionScripts()[c.Shell])
	return err
}

func completionScripts() map[string]string {
	return map[string]string{
		"bash": `_exhibit() {
    local IFS=$'\n'
    COMPREPLY=($(exhibit __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _exhibit exhibit
`,
		"zsh": `#compdef exhibit
_exhibit() {
    local -a found
    found=("${(@f)$(exhibit __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        compadd -Q -- "${(@q)found}"
    else
        _files
    fi
}
if [[ "$funcstack[1]" == "_exhibit" ]]; then _exhibit "$@"; else compdef _exhibit exhibit; fi
`,
		"fish": `function __exhibit_complete
    set -l words (commandline -opc) (commandline -ct)
    exhibit __complete $words[2..-1] 2>/dev/null
end
complete -c exhibit -a '(__exhibit_complete)'
`,
		"powershell": `Register-ArgumentCompleter -Native -CommandName exhibit -ScriptBlock {
    param($word, $ast, $position)
    $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($word -eq '') { $words += '' }
    exhibit __complete @words 2>$null | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
`,
	}
}

// complete prints, one a line, what may stand in place of the last word. It never fails: where it knows nothing it
// prints nothing, and the shell offers files.
func (a *app) complete(ctx context.Context, words []string) {
	defer a.out.Flush()
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	a.globals(before)
	for _, s := range a.candidates(ctx, before, last) {
		if strings.HasPrefix(s, last) {
			fmt.Fprintln(a.out, oneLine(s))
		}
	}
}

// globals takes from half a command line what says which store and collection it is about.
func (a *app) globals(words []string) {
	a.cli.Collection = exhibit.DefaultCollection
	for i := range words {
		flag, value, joined := strings.Cut(words[i], "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		switch flag {
		case "--store":
			a.cli.Store = value
		case "-c", "--collection":
			if value != "" {
				a.cli.Collection = value
			}
		case "--config":
			a.cli.Config = value
		}
	}
}

func (a *app) candidates(ctx context.Context, before []string, last string) []string {
	parser, err := a.parser(func(int) {})
	if err != nil {
		return nil
	}
	verb := verbOf(parser.Model, before)
	if len(before) > 0 {
		if values, ok := a.valuesOf(ctx, before[len(before)-1]); ok {
			return values
		}
	}
	switch {
	case strings.HasPrefix(last, "-"):
		return flagsOf(parser.Model, verb)
	case verb == nil:
		return verbsOf(parser.Model)
	case verb.Name == "completion":
		return []string{"bash", "fish", "powershell", "zsh"}
	case verb.Name == "fetch" || verb.Name == "delete":
		return a.docIDs(ctx, last)
	}
	return nil
}

func verbOf(model *kong.Application, words []string) *kong.Node {
	for _, w := range words {
		for _, n := range model.Children {
			if n.Name == w {
				return n
			}
		}
	}
	return nil
}

func verbsOf(model *kong.Application) []string {
	var out []string
	for _, n := range model.Children {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

func flagsOf(model *kong.Application, verb *kong.Node) []string {
	var out []string
	add := func(n *kong.Node) {
		for _, f := range n.Flags {
			out = append(out, "--"+f.Name)
		}
	}
	add(model.Node)
	if verb != nil {
		add(verb)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// valuesOf answers what may follow a flag that takes a value of a known set.
func (a *app) valuesOf(ctx context.Context, flag string) ([]string, bool) {
	switch flag {
	case "-o", "--output":
		return []string{"json", "jsonl", "markdown", "text", "xml"}, true
	case "--color":
		return []string{"always", "auto", "never"}, true
	case "--state":
		return []string{"current", "failed", "gone", "stale"}, true
	case "--rebuild":
		return []string{"chunks", "index", "vectors"}, true
	case "--set":
		var keys []string
		for _, s := range table() {
			keys = append(keys, s.key+"=")
		}
		return keys, true
	case "-c", "--collection":
		return a.collections(ctx), true
	}
	if key, ok := strings.CutPrefix(flag, "--"); ok {
		for _, s := range table() {
			if s.flag && s.kind == kindChoice && strings.HasSuffix(s.key, "."+key) {
				return s.choices, true
			}
		}
	}
	return nil, false
}

func (a *app) quietStore(ctx context.Context) *local.Store {
	env, err := a.environment(nil)
	if err != nil || !env.exists {
		return nil
	}
	store, _, err := a.open(ctx, env, false)
	if err != nil {
		return nil
	}
	return store
}

func (a *app) collections(ctx context.Context) []string {
	store := a.quietStore(ctx)
	if store == nil {
		return nil
	}
	defer store.Close()
	names, err := store.Collections(ctx)
	if err != nil {
		return nil
	}
	return names
}

// docIDs lists documents of the collection that begin with what was typed, at most a screenful.
func (a *app) docIDs(ctx context.Context, prefix string) []string {
	store := a.quietStore(ctx)
	if store == nil {
		return nil
	}
	defer store.Close()
	rows, err := store.Documents(ctx, local.ListRequest{Collection: a.cli.Collection, Prefix: prefix, Limit: 200})
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range rows {
		out = append(out, d.DocID)
	}
	return out
}
