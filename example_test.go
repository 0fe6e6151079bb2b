package exhibit_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/exhibit-rag/exhibit"
)

// rows stands for a search that a program already has: it knows nothing of Exhibit.
type rows []struct {
	doc   string
	index int
	text  string
	score float64
}

// Search puts the rows behind the port. The identity travels in the metadata, under whatever of the usual names the
// store has.
func (r rows) Search(_ context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	var hits []exhibit.Hit
	for _, row := range r {
		if len(hits) < req.K && strings.Contains(row.text, "leave") {
			hits = append(hits, exhibit.Hit{Text: row.text, Score: row.score,
				Metadata: exhibit.Metadata{"doc_id": exhibit.String(row.doc), "chunk_index": exhibit.Int(row.index)}})
		}
	}
	return hits, nil
}

// A pipeline over a search port of one's own: identity, cap and ledger, without the embedded store.
func ExampleRetriever() {
	port := rows{
		{"leave.md", 0, "Every employee has paid leave from the first day.", 0.91},
		{"leave.md", 4, "Each parent has 16 weeks of paid leave.", 0.88},
		{"leave.md", 7, "Unpaid leave is agreed with the manager.", 0.83},
		{"travel.md", 2, "Travel on the first day of leave is not work.", 0.70},
	}
	retriever := exhibit.NewRetriever(port, nil)
	answer, err := retriever.Lookup(context.Background(), exhibit.LookupRequest{Query: "paid leave"})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range answer.Evidence {
		fmt.Println(e.Handle, e.Key, e.Score)
	}
	fmt.Println(answer.Ledger.String())
	// Output:
	// [1] leave.md#chunk-0 0.91
	// [2] leave.md#chunk-4 0.88
	// [3] travel.md#chunk-2 0.7
	// 4 retrieved = 3 returned + 1 dropped (document-cap 1)
}
