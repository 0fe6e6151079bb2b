// Package exhibittest helps those who write parts for Exhibit to test them: a conformance suite for search ports, a
// table of deliberately broken ports that the suite must catch, fakes for every port, the specification's scenarios
// over a port of one's own, and a helper that makes lookups and checks each answer.
//
// A writer of an adapter begins with
//
//	func TestPort(t *testing.T) {
//		exhibittest.TestSearchPort(t, func(t *testing.T, docs []exhibittest.Doc) exhibit.KnowledgeSearchPort {
//			return newPortOver(t, docs)
//		}, nil)
//	}
//
// Nothing here opens a socket, reads a file or depends on time, apart from the deadlines that keep a hung port from
// hanging the test.
package exhibittest

import (
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
)

// Doc is one document that a factory puts into the engine under test, cut into chunks in whatever way the engine cuts.
type Doc struct {
	DocID    string
	Title    string
	Text     string // UTF-8; paragraphs stand between blank lines
	Metadata exhibit.Metadata
}

// Field returns the value of a filter's key for the document, and whether it has one. It knows the reserved keys
// doc_id and title.
func (d *Doc) Field(key string) (exhibit.Value, bool) {
	switch key {
	case "doc_id":
		return exhibit.String(d.DocID), true
	case "title":
		return exhibit.String(d.Title), d.Title != ""
	}
	v, ok := d.Metadata[key]
	return v, ok
}

// Paragraphs returns the pieces of the text between blank lines, in order.
func (d *Doc) Paragraphs() []string {
	var list []string
	for _, p := range strings.Split(d.Text, "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, p)
		}
	}
	return list
}

// Factory builds a port over an engine that holds the given documents and no others.
type Factory func(t *testing.T, docs []Doc) exhibit.KnowledgeSearchPort

// Corpus returns the documents that the suite searches: eleven of three teams, of one to three paragraphs, with words
// that tell them apart. The slice and what it holds are the caller's.
func Corpus() []Doc {
	doc := func(id, title, team string, year int, paragraphs ...string) Doc {
		return Doc{DocID: id, Title: title, Text: strings.Join(paragraphs, "\n\n") + "\n",
			Metadata: exhibit.Metadata{"team": exhibit.String(team), "year": exhibit.Int(year), "tags": exhibit.Strings(team, "handbook")}}
	}
	return []Doc{
		doc("people/leave.md", "Leave", "people", 2024,
			"Full-time staff have twenty-eight days of annual leave. Unused days lapse at the end of March.",
			"Each parent has sixteen weeks of paid parental leave. Tell your manager eight weeks before it begins.",
			"Leave for moving house is one day, and is asked for in the same form."),
		doc("people/sickness.md", "Sickness", "people", 2023,
			"Report sickness before ten in the morning. A doctor's note is due on the fourth day."),
		doc("people/pay.md", "Pay", "people", 2025,
			"Salaries are paid on the last working day of the month.",
			"The pension scheme takes five percent of the salary and the company doubles it."),
		doc("people/#chunk-1 odd", "Bicycles", "people", 2022,
			"A leased bicycle is taxed like a company car, at a quarter of its list price."),
		doc("it/vpn.md", "Remote access", "it", 2025,
			"The VPN needs a hardware key. A lost key is blocked by the helpdesk within the hour.",
			"Split tunnelling is off, so video calls are slow from abroad."),
		doc("it/passwords.md", "Passwords", "it", 2021,
			"A password has sixteen characters and never expires. The vault makes and keeps them."),
		doc("it/laptops.md", "Laptops", "it", 2024,
			"Laptops are replaced after four years. Disks are encrypted and wiped before resale.",
			"A broken screen is repaired by the vendor in three days."),
		doc("it/vector:backup", "Backups", "it", 2020,
			"Backups run every night and are restored on trial each quarter."),
		doc("finance/expenses.md", "Expenses", "finance", 2025,
			"Expenses are claimed within sixty days with a receipt.",
			"Hotels cost at most one hundred and forty euros a night, breakfast included."),
		doc("finance/travel.md", "Travel", "finance", 2023,
			"Trains are booked in second class. Flights under six hours are in economy class."),
		doc("finance/invoices.md", "Invoices", "finance", 2022,
			"Invoices are approved by two people and paid after thirty days."),
	}
}

// questions are what the suite asks of the corpus: words of one chunk, words of several, and the whole text of one.
func questions() []string {
	return []string{
		"parental leave weeks",
		"lost hardware key VPN",
		"when is the salary paid",
		"days",
		"Backups run every night and are restored on trial each quarter.",
	}
}
