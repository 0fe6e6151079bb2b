package lexical

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// TestHitsAreThoseOfFTS5 compares with another implementation: the same documents are found, and where no term is in more than half of the
// documents, so that FTS5's idf (without the 1) is not cut off, in nearly the same order.
func TestHitsAreThoseOfFTS5(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`create virtual table docs using fts5(text)`)
	r := rand.New(rand.NewPCG(5, 5))
	z := rand.NewZipf(r, 1.3, 40, 3000)
	b := NewBuilder()
	exec(`begin`)
	for ord := range 2000 {
		doc := make([]string, 5+r.IntN(120))
		for i := range doc {
			doc[i] = fmt.Sprintf("t%d", z.Uint64())
		}
		b.Add(doc)
		exec(`insert into docs(rowid, text) values (?, ?)`, ord, strings.Join(doc, " "))
	}
	exec(`commit`)
	var data strings.Builder
	if err := b.Write(&data); err != nil {
		t.Fatal(err)
	}
	s := open(t, []byte(data.String()))
	shared, ranked := 0, 0
	for range 40 {
		var terms []string
		for range 1 + r.IntN(6) {
			terms = append(terms, fmt.Sprintf("t%d", 15+z.Uint64()))
		}
		want := fts5(t, db, terms)
		q := NewQuery(terms)
		var got []int
		for _, h := range s.Search(q, s.Stats(q, nil), s.Len(), nil, nil) {
			got = append(got, h.Ord)
		}
		top := min(20, len(got), len(want))
		for _, ord := range got[:top] {
			ranked++
			if slices.Contains(want[:top], ord) {
				shared++
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%v: %d hits, FTS5 has %d", terms, len(got), len(want))
		}
	}
	if ranked < 400 || float64(shared) < 0.9*float64(ranked) {
		t.Errorf("of %d among the first 20 of a question, %d are also among FTS5's", ranked, shared)
	}
}

func fts5(t *testing.T, db *sql.DB, terms []string) []int {
	t.Helper()
	rows, err := db.Query(`select rowid from docs where docs match ? order by rank, rowid`, strings.Join(terms, " OR "))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ords []int
	for rows.Next() {
		var ord int
		if err := rows.Scan(&ord); err != nil {
			t.Fatal(err)
		}
		ords = append(ords, ord)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ords
}
