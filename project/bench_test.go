package project

import (
	"context"
	"testing"

	"github.com/exhibit-rag/exhibit"
)

func BenchmarkProject(b *testing.B) {
	var list []exhibit.Evidence
	for i := range 100 {
		list = append(list, plain("doc.md", i, paragraph(25)))
	}
	for _, c := range []struct {
		name     string
		blocks   int
		tokens   int
		overflow exhibit.Overflow
	}{{"5 blocks", 5, 0, ""}, {"100 blocks", 100, 0, ""}, {"100 blocks, 4000 tokens, skip", 100, 4000, ""}, {"100 blocks, 4000 tokens, cut", 100, 4000, exhibit.OverflowCut}} {
		b.Run(c.name, func(b *testing.B) {
			p, req := New(), request(Markdown)
			req.MaxTokens, req.Overflow = c.tokens, c.overflow
			if _, err := p.Project(context.Background(), req, list[:1]); err != nil { // loads the tokenizer
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := p.Project(context.Background(), req, list[:c.blocks]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
