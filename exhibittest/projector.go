package exhibittest

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
)

// FakeProjector renders one line a block, "[1] key: text", inside a budget of characters, and treats every fourth
// character begun as a token. It skips what does not fit, or stops there with OverflowStrict; it never cuts.
type FakeProjector struct{}

// Project renders the evidence.
func (FakeProjector) Project(_ context.Context, req exhibit.ProjectionRequest, evidence []exhibit.Evidence) (exhibit.Projection, error) {
	p := exhibit.Projection{Format: req.Format, Tokenizer: "quarter", Nonce: "fake"}
	var text strings.Builder
	stopped := false
	for i, e := range evidence {
		line := fmt.Sprintf("%s %s: %s\n", e.Handle, e.Key, e.Text)
		size := utf8.RuneCountInString(line)
		over := overBy(p.Characters+size, req)
		over.Index = i
		if alone := overBy(size, req); alone.Characters > 0 || alone.Tokens > 0 {
			over.Alone = true
		}
		if stopped || over.Characters > 0 || over.Tokens > 0 {
			stopped = req.Overflow == exhibit.OverflowStrict
			p.Over = append(p.Over, over)
			continue
		}
		text.WriteString(line)
		p.Characters += size
		p.Kept = append(p.Kept, e)
	}
	p.Text, p.Tokens = text.String(), (p.Characters+3)/4
	return p, nil
}

func overBy(characters int, req exhibit.ProjectionRequest) exhibit.OverBudget {
	var o exhibit.OverBudget
	if req.MaxCharacters > 0 {
		o.Characters = max(0, characters-req.MaxCharacters)
	}
	if req.MaxTokens > 0 {
		o.Tokens = max(0, (characters+3)/4-req.MaxTokens)
	}
	return o
}

var _ exhibit.Projector = FakeProjector{}
