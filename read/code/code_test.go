package code

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/exhibit-rag/exhibit"
)

func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		name, mediaType, text string
		want                  exhibit.Block
	}{
		{"code", "text/x-go", "a\n\nb\n", exhibit.Block{Kind: exhibit.BlockCode, End: 5, Rows: []int{2, 3}}},
		{"table", "text/csv", "h,i\n1,2\n3,4", exhibit.Block{Kind: exhibit.BlockTable, End: 11, Header: 4, Rows: []int{4, 8}}},
		{"table with a line break in quotes", "text/csv", "h,i\n\"1\n\"\"x\",2\n3,4\n", exhibit.Block{Kind: exhibit.BlockTable, End: 18, Header: 4, Rows: []int{4, 14}}},
		{"table with quotes that do not balance", "text/csv", "h,i\n5\",2\n3,4\n", exhibit.Block{Kind: exhibit.BlockTable, End: 13, Header: 4, Rows: []int{4, 9}}},
		{"table of one row", "text/tab-separated-values", "a\tb", exhibit.Block{Kind: exhibit.BlockTable, End: 3}},
	} {
		doc, err := Reader{}.Read(context.Background(), exhibit.Source{DocID: "x", MediaType: c.mediaType, Data: []byte(c.text)})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]exhibit.Block{c.want}, doc.Blocks); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
