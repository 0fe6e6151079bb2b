package main

import (
	"fmt"
	"time"

	"github.com/alecthomas/kong"
)

// cli is the command line: global flags and one field a verb.
type cli struct {
	Store      string        `placeholder:"PATH" help:"Store folder. Default: .exhibit here, or in the nearest parent that has one."`
	Collection string        `short:"c" placeholder:"NAME" default:"default" help:"Collection."`
	Output     string        `short:"o" placeholder:"FORMAT" default:"text" help:"text, json or jsonl; lookup and fetch also markdown and xml."`
	JSON       bool          `name:"json" help:"Same as -o json."`
	Config     string        `placeholder:"FILE" help:"Settings file. Default: exhibit.yaml beside the store, then the user's own."`
	Set        []string      `placeholder:"KEY=VALUE" sep:"none" help:"One setting; may be repeated. exhibit doctor lists all."`
	Timeout    time.Duration `placeholder:"DURATION" help:"For the whole command. Default: none."`
	Quiet      bool          `short:"q" help:"No progress and no warnings."`
	Verbose    bool          `short:"v" help:"Say more on standard error."`
	Color      string        `placeholder:"WHEN" enum:"auto,always,never" default:"auto" help:"auto, always or never."`

	Version kong.VersionFlag `help:"Print the version."`

	Sync       syncCmd       `cmd:"" help:"Bring the store into step with folders, files or records."`
	Lookup     lookupCmd     `cmd:"" help:"Answer a question with evidence."`
	Fetch      fetchCmd      `cmd:"" help:"Print chunks or documents by key, citation or docId."`
	List       listCmd       `cmd:"" help:"List documents."`
	Delete     deleteCmd     `cmd:"" help:"Remove documents; their keys are never given to other text."`
	Status     statusCmd     `cmd:"" help:"Counts, revision and stamps of a collection."`
	Eval       evalCmd       `cmd:"" help:"Measure retrieval on a BEIR folder."`
	Doctor     doctorCmd     `cmd:"" help:"Check the store and list every setting with its origin."`
	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`
}

// examples end the help of each verb.
func examples() map[string]string {
	return map[string]string{
		"sync":       "exhibit sync --id-root . handbook -c company",
		"lookup":     `exhibit lookup --in examples/handbook "How much parental leave do I get?"`,
		"fetch":      "exhibit fetch people/leave.md#chunk-2",
		"list":       "exhibit list --prefix people/ --json",
		"delete":     "exhibit delete people/old-policy.md",
		"status":     "exhibit status -c company",
		"eval":       "exhibit eval datasets/scifact --measures nDCG@10,R@100 --run-out scifact.run",
		"doctor":     "exhibit doctor --deep",
		"completion": "source <(exhibit completion bash)",
	}
}

func (a *app) parser(exit func(int)) (*kong.Kong, error) {
	return kong.New(&a.cli,
		kong.Name("exhibit"),
		kong.Description("Evidence for agents: chunks with a stable key, an exact place, and an account of what was left out."),
		kong.Writers(a.out, a.err),
		kong.Exit(exit),
		kong.WithHyphenPrefixedParameters(true), // a cursor may begin with '-', and -3 gets the message of its setting
		kong.Vars{"version": "exhibit " + version()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Help(func(options kong.HelpOptions, ctx *kong.Context) error {
			if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
				return err
			}
			example := examples()["lookup"]
			if n := ctx.Selected(); n != nil {
				example = examples()[n.Name]
			}
			_, err := fmt.Fprintf(a.out, "\nExample:\n  %s\n", example)
			return err
		}),
	)
}
