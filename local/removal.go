package local

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
)

// removeMissing removes the documents of a root whose source is no longer there, but none whose source failed.
func (run *syncRun) removeMissing(ctx context.Context, plans []*plan) error {
	return run.remove(ctx, run.missing(plans))
}

func (run *syncRun) missing(plans []*plan) []string {
	if run.req.KeepMissing {
		return nil
	}
	var gone []string
	for _, p := range plans {
		if !p.complete {
			continue
		}
		for id, f := range run.prints {
			if _, still := run.seen[id]; !still && f.Root == p.name && !p.hides(id) {
				gone = append(gone, id)
			}
		}
	}
	slices.Sort(gone)
	return gone
}

// hides reports whether a docId lies below a folder that could not be read.
func (p *plan) hides(id string) bool {
	for _, prefix := range p.unknown {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}

func (run *syncRun) countMissing(plans []*plan) error {
	run.report.Removed = run.missing(plans)
	run.report.Documents.Removed = len(run.report.Removed)
	return nil
}

// dropMoved forgets a root that is no longer there and whose documents this sync all found elsewhere, so that a later
// sync of all roots does not miss it.
func (run *syncRun) dropMoved(ctx context.Context, plans []*plan) error {
	moved := map[string]bool{}
	for id, f := range run.prints {
		if _, seen := run.seen[id]; seen && f.Root != "" {
			moved[f.Root] = true
		}
	}
	for id, f := range run.prints {
		if _, seen := run.seen[id]; !seen {
			delete(moved, f.Root)
		}
	}
	for _, p := range plans {
		delete(moved, p.name)
	}
	for _, root := range slices.Sorted(maps.Keys(moved)) {
		if _, err := os.Stat(run.s.rootPath(root)); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := run.w.DropRoot(ctx, run.collection, root); err != nil {
			return storeError("roots", run.collection, err)
		}
	}
	return nil
}

func (run *syncRun) remove(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	removed, chunks, err := run.w.Remove(ctx, run.collection, ids)
	slices.Sort(removed)
	run.report.Removed = append(run.report.Removed, removed...)
	run.report.Documents.Removed += len(removed)
	run.report.Chunks.Removed += chunks
	return storeError("remove documents", run.collection, err)
}
