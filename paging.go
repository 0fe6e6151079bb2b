package exhibit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// project gives the page its handles and, where a format was asked for, renders it inside the budgets.
func (run *lookup) project(ctx context.Context, projector Projector) error {
	list := make([]Evidence, len(run.paged))
	for i, c := range run.paged {
		list[i] = c.evidence(run.req.Collection, run.legs)
		list[i].Handle = fmt.Sprintf("[%d]", i+1)
	}
	run.res.Evidence = list
	if run.req.Format == "" {
		return nil
	}
	p, err := projector.Project(ctx, ProjectionRequest{
		Format: run.req.Format, MaxTokens: run.set.MaxTokens.Value, MaxCharacters: run.set.MaxCharacters.Value,
		Overflow: Overflow(run.set.Overflow.Value), Tokenizer: run.set.Tokenizer.Value,
		LookupID: run.res.LookupID, Secret: run.opt.Secret,
	}, list)
	if err != nil {
		return err
	}
	if len(p.Kept)+len(p.Over) != len(list) {
		return fmt.Errorf("projection: %d blocks became %d kept and %d over budget", len(list), len(p.Kept), len(p.Over))
	}
	for _, o := range p.Over {
		run.paged[o.Index].drop(OverBudgetDrop)
		run.paged[o.Index].over = o
	}
	run.res.Evidence, run.res.Projection = p.Kept, &p
	return nil
}

// cursorBody is what a cursor carries: which question it belongs to, and which survivors are done with.
type cursorBody struct {
	Base     string `json:"b"`
	Revision string `json:"r"`
	Done     []int  `json:"d"`
}

const cursorMAC = 16

func cursorSum(secret, payload []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("cursor\x00"))
	mac.Write(payload)
	return mac.Sum(nil)[:cursorMAC]
}

// nextCursor names what return-n and the budget left out. A block that would not fit even alone is done with: no page
// under the same budget could deliver it.
func (run *lookup) nextCursor() string {
	body := cursorBody{Base: run.base, Revision: run.opt.Revision}
	left := false
	for i, c := range run.survived {
		if c.reason == "" || c.reason == EarlierPage || c.reason == OverBudgetDrop && c.over.Alone {
			body.Done = append(body.Done, i)
		} else {
			left = true
		}
	}
	if !left {
		return ""
	}
	payload, err := json.Marshal(body)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(cursorSum(run.opt.Secret, payload), payload...))
}

// openCursor returns the survivors that earlier pages are done with.
func openCursor(cursor, base, revision string, secret []byte) (map[int]bool, error) {
	if cursor == "" {
		return nil, nil
	}
	fail := func(kind error, what, hint string) error {
		return &Error{Op: "cursor", Kind: kind, Err: errors.New(what), Hint: hint}
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) <= cursorMAC || !hmac.Equal(raw[:cursorMAC], cursorSum(secret, raw[cursorMAC:])) {
		return nil, fail(ErrMalformed, "it was not made by this store", "pass next_cursor as the earlier answer gave it")
	}
	var body cursorBody
	if err := json.Unmarshal(raw[cursorMAC:], &body); err != nil {
		return nil, fail(ErrMalformed, "it cannot be read", "pass next_cursor as the earlier answer gave it")
	}
	if body.Revision != revision {
		return nil, fail(ErrConflict, "the collection changed since the earlier answer", "ask again without the cursor")
	}
	if body.Base != base {
		return nil, fail(ErrInvalid, "it belongs to another question or other settings", "repeat the earlier question and settings with the cursor")
	}
	done := make(map[int]bool, len(body.Done))
	for _, i := range body.Done {
		done[i] = true
	}
	return done, nil
}
