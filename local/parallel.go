package local

import (
	"context"
	"iter"
)

// inOrder loads entries on several goroutines and yields their results in the order of the entries. At most a few
// results a goroutine wait to be taken, so memory is bounded by them. It ends early when ctx does.
func inOrder(ctx context.Context, jobs int, entries iter.Seq[entry]) iter.Seq2[entry, readResult] {
	type future struct {
		entry  entry
		result chan readResult
	}
	return func(yield func(entry, readResult) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		queue := make(chan future, 2*jobs)
		slots := make(chan struct{}, jobs)
		go func() {
			defer close(queue)
			for e := range entries {
				f := future{entry: e, result: make(chan readResult, 1)}
				select {
				case queue <- f:
				case <-ctx.Done():
					return
				}
				select {
				case slots <- struct{}{}:
				case <-ctx.Done():
					return
				}
				go func() {
					defer func() { <-slots }()
					f.result <- f.entry.load(ctx)
				}()
			}
		}()
		for f := range queue {
			select {
			case r := <-f.result:
				if !yield(f.entry, r) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
