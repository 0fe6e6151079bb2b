package local_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/local"
)

// A whole program: open a store, sync a folder, look up, and range over the evidence.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "exhibit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	docs := filepath.Join(dir, "docs")
	if err := os.Mkdir(docs, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "leave.md"), []byte("# Leave\n\n## Parental leave\n\nEach parent has 16 weeks of paid leave.\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	store, err := local.Open(ctx, filepath.Join(dir, ".exhibit"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Sync(ctx, local.SyncRequest{Roots: []local.Root{{Path: docs}}}); err != nil {
		log.Fatal(err)
	}
	answer, err := store.Lookup(ctx, exhibit.LookupRequest{Query: "how long is parental leave?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range answer.Evidence {
		fmt.Printf("%s %s:%d %s\n", e.Key, e.Source, e.Span.StartLine, e.Text)
	}
	fmt.Println(answer.Ledger.String())
	// Output:
	// leave.md#chunk-0 leave.md:5 Each parent has 16 weeks of paid leave.
	// 1 retrieved = 1 returned + 0 dropped
}
