package wire

import (
	"time"

	"github.com/exhibit-rag/exhibit"
)

// Collection is the state of one collection.
type Collection struct {
	Name                string `json:"name"`
	Description         string `json:"description,omitempty"`
	Revision            string `json:"revision"`
	Documents           int    `json:"documents"`
	Chunks              int    `json:"chunks"`
	ChunksWithoutVector int    `json:"chunks_without_vector"`
	StaleDocuments      int    `json:"stale_documents"`
	FailedDocuments     int    `json:"failed_documents"`
	Stamps              Stamps `json:"stamps"`
	SizeBytes           *int64 `json:"size_bytes,omitempty"`
}

// Stamps say with what a store was made. Model and Dimension are absent where nothing is embedded.
type Stamps struct {
	Format    string `json:"format"`
	Chunker   string `json:"chunker"`
	Analyser  string `json:"analyser"`
	Model     string `json:"model,omitempty"`
	Dimension int    `json:"dimension,omitempty"`
}

// Document is one document of a collection. ContentHash is that of its text form.
type Document struct {
	DocID       string           `json:"doc_id"`
	Source      string           `json:"source"`
	Title       string           `json:"title,omitempty"`
	MediaType   string           `json:"media_type"`
	ContentHash string           `json:"content_hash"`
	Chunks      int              `json:"chunks"`
	State       string           `json:"state"`
	Reason      string           `json:"reason,omitempty"`
	Hint        string           `json:"hint,omitempty"`
	SyncedAt    Time             `json:"synced_at"`
	Metadata    exhibit.Metadata `json:"metadata,omitempty"`
}

// Documents is one page of a list of documents.
type Documents struct {
	Documents  List[Document] `json:"documents"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// EvidenceList is what fetch answers.
type EvidenceList struct {
	Evidence   List[Evidence] `json:"evidence"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// SyncReport is what a sync did.
type SyncReport struct {
	Collection string         `json:"collection"`
	Revision   string         `json:"revision"`
	Documents  DocumentCounts `json:"documents"`
	Chunks     ChunkCounts    `json:"chunks"`
	Failures   List[Failure]  `json:"failures"`
	Removed    List[string]   `json:"removed"`
	Skipped    List[Skipped]  `json:"skipped,omitempty"`
	Warnings   List[string]   `json:"warnings"`
}

// Skipped are files that a sync passed over for one reason, such as a type that no reader takes.
type Skipped struct {
	Reason string       `json:"reason"`
	DocIDs List[string] `json:"doc_ids"`
}

// DocumentCounts says what became of the documents of a sync.
type DocumentCounts struct {
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed"`
	Failed    int `json:"failed"`
}

// ChunkCounts says what became of the chunks of a sync.
type ChunkCounts struct {
	Kept     int `json:"kept"`
	Changed  int `json:"changed"`
	New      int `json:"new"`
	Removed  int `json:"removed"`
	Embedded int `json:"embedded"`
}

// Failure is a source that could not be taken.
type Failure struct {
	DocID  string `json:"doc_id"`
	Source string `json:"source"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
	Hint   string `json:"hint"`
}

// Time is a time written as RFC 3339 in UTC, to the second.
type Time time.Time

// MarshalJSON writes the time.
func (t Time) MarshalJSON() ([]byte, error) {
	return Marshal(time.Time(t).UTC().Format(time.RFC3339))
}
