package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/embed"
	"github.com/exhibit-rag/exhibit/local"
)

const (
	storeName  = ".exhibit"
	configName = "exhibit.yaml"
)

// environment is what a verb works with: the settings in force and the folder of the store.
type environment struct {
	set    settings
	folder string
	exists bool // a store is there

	lockTimeout *time.Duration // in place of store.lock-timeout; nil is that
}

// storeNamed reports whether a flag or variable names the store, so that none of the cache folder is used.
func (a *app) storeNamed() bool {
	set := slices.ContainsFunc(a.cli.Set, func(pair string) bool { return strings.HasPrefix(pair, "store.path=") })
	return set || a.cli.Store != "" || a.env("EXHIBIT_STORE_PATH") != ""
}

// environment reads settings, weakest source first, and finds the store. Flags come from the verb.
func (a *app) environment(flags func(settings, *problems)) (*environment, error) {
	if err := exhibit.CheckCollection(a.cli.Collection); err != nil {
		return nil, err
	}
	folder, given := a.cli.Store, a.cli.Store != ""
	if !given {
		folder, given = a.env("EXHIBIT_STORE_PATH"), a.env("EXHIBIT_STORE_PATH") != ""
	}
	for _, pair := range a.cli.Set {
		if path, ok := strings.CutPrefix(pair, "store.path="); ok && a.cli.Store == "" {
			folder, given = path, true
		}
	}
	set, bad := settings{}, problems{}
	if path, err := os.UserConfigDir(); err == nil {
		if path = filepath.Join(path, "exhibit", "config.yaml"); fileExists(path) {
			set.loadFile(path, exhibit.FromUserFile, &bad)
		}
	}
	if !given {
		folder = set.text("store.path")
	}
	if folder == "" {
		found, err := findStore()
		if err != nil {
			return nil, err
		}
		folder = found
	}
	config := a.cli.Config
	if path := filepath.Join(filepath.Dir(folder), configName); config == "" && fileExists(path) {
		config = path
	}
	if config != "" {
		set.loadFile(config, exhibit.FromFile, &bad)
	}
	if path, ok := set["store.path"]; ok && path.from == exhibit.FromFile && !given {
		// Relative to the file that says it, so that it holds wherever the program is called.
		if folder = path.raw; !filepath.IsAbs(folder) {
			folder = filepath.Join(filepath.Dir(config), folder)
		}
	}
	set.loadEnvironment(a.environ, &bad)
	set.loadSet(a.cli.Set, &bad)
	if flags != nil {
		flags(set, &bad)
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	abs, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	return &environment{set: set, folder: abs, exists: dirExists(abs)}, nil
}

// begin is how a verb without settings of its own begins: the output format that was asked for, and the environment.
func (a *app) begin() (format string, env *environment, err error) {
	if format, err = a.format(); err != nil {
		return "", nil, err
	}
	env, err = a.environment(nil)
	return format, env, err
}

// findStore returns the store folder here or in the nearest parent, and otherwise where a sync would make one.
func findStore() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if path := filepath.Join(dir, storeName); dirExists(path) {
			return path, nil
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(here, storeName), nil
		}
	}
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func dirExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// open opens the store for reading, or for writing too.
func (a *app) open(ctx context.Context, env *environment, write bool) (*local.Store, *progressLine, error) {
	if !write && !dirExists(env.folder) {
		return nil, nil, &exhibit.Error{Op: "store", Source: env.folder, Kind: exhibit.ErrNotFound, Err: errors.New("there is none"),
			Hint: "exhibit sync FOLDER makes one here; or name one with --store"}
	}
	opt := &local.Options{
		ReadOnly: !write, LockTimeout: env.set.duration("store.lock-timeout"), MaxFileSize: env.set.bytes("sync.max-file-size"), Jobs: a.jobs,
		Chunk: local.ChunkOptions{MaxTokens: env.set.int("chunk.max-tokens"), OverlapTokens: env.set.int("chunk.overlap-tokens")},
	}
	if env.lockTimeout != nil {
		opt.LockTimeout = *env.lockTimeout
	}
	if opt.LockTimeout == 0 {
		opt.LockTimeout = -1
	}
	if err := a.chooseEmbedder(env.set, opt); err != nil {
		return nil, nil, err
	}
	if name := env.set.text("project.fence-secret-env"); name != "" {
		secret := a.env(name)
		if secret == "" {
			return nil, nil, &exhibit.Error{Source: "project.fence-secret-env", Kind: exhibit.ErrInvalid, Err: errors.New("the variable " + name + " is not set"), Hint: "set it, or leave the setting out"}
		}
		opt.FenceSecret = []byte(secret)
	}
	line := a.newProgress()
	if line != nil {
		opt.Progress = line.show
	}
	store, err := local.Open(ctx, env.folder, opt)
	return store, line, err
}

// sync opens the store for writing, syncs and shows the progress.
func (a *app) sync(ctx context.Context, env *environment, req local.SyncRequest) (*local.SyncReport, error) {
	store, line, err := a.open(ctx, env, true)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	report, err := store.Sync(ctx, req)
	line.end()
	return report, err
}

// syncFirst brings into step what a verb is about to ask. Sources that fail are warnings: what else there is answers.
func (a *app) syncFirst(ctx context.Context, env *environment, roots []local.Root) error {
	report, err := a.sync(ctx, env, local.SyncRequest{Collection: a.cli.Collection, Roots: roots, Rebuild: local.Rebuild{Stale: true}})
	if err != nil {
		return err
	}
	for _, f := range report.Failures {
		a.warn("%s: %s", f.DocID, f.Reason)
	}
	return nil
}

// chooseEmbedder puts the embedder of the settings into the options. Only embed.provider openai reaches the network.
func (a *app) chooseEmbedder(set settings, opt *local.Options) error {
	switch set.text("embed.provider") {
	case "none":
		opt.WordsOnly = true
	case "openai":
		key := ""
		if name := set.text("embed.api-key-env"); name != "" {
			if key = a.env(name); key == "" {
				return &exhibit.Error{Source: "embed.api-key-env", Kind: exhibit.ErrInvalid, Err: errors.New("the variable " + name + " is not set"), Hint: "set it to the server's key"}
			}
		}
		embedder, err := embed.NewOpenAI(embed.OpenAIOptions{
			BaseURL: set.text("embed.base-url"), Model: set.text("embed.model"), APIKey: key,
			Dimensions: set.int("embed.dimensions"), Timeout: set.duration("embed.timeout"),
		})
		if err != nil {
			return err
		}
		opt.Embedder = embedder
	default:
		if m := set.text("embed.model"); m != "multilingual-e5-small" {
			return &exhibit.Error{Source: "embed.model", Kind: exhibit.ErrInvalid, Err: errors.New("embed.provider local has no model " + m), Hint: "the built-in encoder is multilingual-e5-small; for another set embed.provider and embed.base-url"}
		}
	}
	return nil
}

// cacheStore is the store folder that belongs to sources which are read without a store of their own: in the user's
// cache folder, under a name made from their absolute paths.
func (a *app) cacheStore(sources []string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &exhibit.Error{Op: "cache folder", Kind: exhibit.ErrStorage, Err: err, Hint: "name a store folder with --store"}
	}
	h := sha256.New()
	for _, s := range sources {
		abs, err := filepath.Abs(s)
		if err != nil {
			return "", err
		}
		h.Write([]byte(abs))
		h.Write([]byte{0})
	}
	name := filepath.Base(strings.TrimRight(sources[0], `/\`))
	if abs, err := filepath.Abs(sources[0]); err == nil {
		name = filepath.Base(abs)
	}
	return filepath.Join(cache, "exhibit", plainName(name)+"-"+hex.EncodeToString(h.Sum(nil))[:16]), nil
}

// plainName keeps of a file name what every file system takes.
func plainName(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			b.WriteRune(r)
		}
		if b.Len() >= 40 {
			break
		}
	}
	if b.Len() == 0 {
		return "source"
	}
	return b.String()
}
