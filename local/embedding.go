package local

import (
	"context"
	"errors"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/embed"
	"github.com/exhibit-rag/exhibit/internal/store"
)

// embedAtOnce is how many texts are embedded between two commits: about a second's work of the built-in encoder on
// two cores, so that an interruption loses little.
const embedAtOnce = 64

// embedInput is one text to embed and the hash under which its vector is kept.
type embedInput struct {
	hash store.Hash
	text string
}

// embedInputs gathers the texts of chunks, equal ones once, in the order in which they come.
type embedInputs struct {
	list []embedInput
	seen map[store.Hash]bool
}

func (e *embedInputs) add(c *store.Chunk) {
	if e.seen[c.EmbedHash] {
		return
	}
	if e.seen == nil {
		e.seen = map[store.Hash]bool{}
	}
	e.seen[c.EmbedHash] = true
	e.list = append(e.list, embedInput{c.EmbedHash, c.IndexText()})
}

// embedVersions embeds what document versions need before they replace older ones.
func (run *syncRun) embedVersions(ctx context.Context, versions []store.Version) error {
	if run.s.embedder == nil {
		return nil
	}
	var all embedInputs
	for _, v := range versions {
		for i := range v.Chunks {
			all.add(&v.Chunks[i])
		}
	}
	hashes := make([]store.Hash, len(all.list))
	for i, in := range all.list {
		hashes[i] = in.hash
	}
	have, err := run.w.HaveEmbeddings(ctx, run.s.embedder.Model().Name, hashes)
	if err != nil {
		return storeError("look up vectors", "", err)
	}
	var inputs []embedInput
	for _, in := range all.list {
		if !have[in.hash] {
			inputs = append(inputs, in)
		}
	}
	for len(inputs) > 0 {
		n := min(embedAtOnce, len(inputs))
		if err := run.embed(ctx, inputs[:n]); err != nil {
			return err
		}
		inputs = inputs[n:]
	}
	return nil
}

// embedPending embeds every chunk of the collection that has no vector, oldest first.
func (run *syncRun) embedPending(ctx context.Context) error {
	if run.s.embedder == nil {
		return nil
	}
	if _, err := run.w.PublishDerived(ctx, run.collection, false); err != nil {
		return storeError("write derived files", "", err)
	}
	total, err := run.withoutVector(ctx)
	if err != nil || total == 0 {
		return err
	}
	done, after := 0, int64(0)
	for {
		rows, err := run.w.PendingVectors(ctx, run.collection, after, embedAtOnce)
		if err != nil {
			return storeError("look up chunks without a vector", "", err)
		}
		if len(rows) == 0 {
			return nil
		}
		var inputs embedInputs
		for i := range rows {
			inputs.add(&rows[i].Chunk)
		}
		after = rows[len(rows)-1].ID
		run.s.progress(Progress{Stage: "embed", Done: done, Total: total, Current: rows[0].DocID})
		if err := run.embed(ctx, inputs.list); err != nil {
			return err
		}
		if err := run.publishNow(ctx); err != nil {
			return err
		}
		done += len(rows)
		run.s.progress(Progress{Stage: "embed", Done: done, Total: total, Current: rows[len(rows)-1].DocID})
	}
}

// publishEvery is how often a long sync writes derived files, so that a lookup of another process need not analyse
// everything stored since the last time.
const publishEvery = 30 * time.Second

func (run *syncRun) publishNow(ctx context.Context) error {
	if time.Since(run.published) < publishEvery {
		return nil
	}
	_, err := run.w.PublishDerived(ctx, run.collection, false)
	run.published = time.Now()
	return storeError("write derived files", "", err)
}

func (run *syncRun) withoutVector(ctx context.Context) (int, error) {
	snap, err := run.s.snapshot(ctx, run.collection)
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	return snap.WithoutVector(nil), nil
}

// tryEmbedder asks for one vector, before the vectors that there are make way for new ones, and returns its dimension.
func (run *syncRun) tryEmbedder(ctx context.Context) (int, error) {
	vectors, err := run.vectors(ctx, []string{"exhibit"})
	if err != nil {
		return 0, err
	}
	return len(vectors[0]), nil
}

// vectors embeds passages and checks the answer.
func (run *syncRun) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := run.s.embedder.Embed(ctx, exhibit.Passage, texts)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var known *exhibit.Error
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, &exhibit.Error{Op: "embed", Source: run.s.embedder.Model().Name, Kind: exhibit.ErrEmbedder, Err: err,
			Hint: "what was stored is served on; the next sync goes on from here"}
	}
	return vectors, embed.Normalise(run.s.embedder.Model(), len(texts), vectors)
}

// embed embeds texts and stores their vectors.
func (run *syncRun) embed(ctx context.Context, inputs []embedInput) error {
	texts := make([]string, len(inputs))
	for i, in := range inputs {
		texts[i] = in.text
	}
	vectors, err := run.vectors(ctx, texts)
	if err != nil {
		return err
	}
	stamps := run.s.stamps()
	stamps.Dimension = len(vectors[0])
	if err := run.w.EnsureCollection(ctx, run.collection, stamps); err != nil {
		return storeError("embed", stamps.Model, err)
	}
	list := make([]store.Embedding, len(inputs))
	for i, in := range inputs {
		list[i] = store.Embedding{Hash: in.hash, Vector: vectors[i]}
	}
	if err := run.w.PutEmbeddings(ctx, stamps.Model, list); err != nil {
		return storeError("store vectors", "", err)
	}
	run.report.Chunks.Embedded += len(inputs)
	return nil
}
