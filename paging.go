package exhibit

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	if err := checkProjection(&p, list); err != nil {
		return err
	}
	for _, o := range p.Over {
		run.paged[o.Index].drop(OverBudgetDrop)
		run.paged[o.Index].over = o
	}
	run.res.Evidence, run.res.Projection = p.Kept, &p
	return nil
}

// checkProjection holds a Projector to its contract, since the account is written from what it says: every block is
// either kept, in order, or over budget.
func checkProjection(p *Projection, list []Evidence) error {
	over := map[int]bool{}
	for _, o := range p.Over {
		if o.Index < 0 || o.Index >= len(list) || over[o.Index] {
			return fmt.Errorf("projection: block %d of %d is over budget, or is so twice", o.Index+1, len(list))
		}
		over[o.Index] = true
	}
	if len(p.Kept)+len(over) != len(list) {
		return fmt.Errorf("projection: %d blocks became %d kept and %d over budget", len(list), len(p.Kept), len(over))
	}
	kept := 0
	for i := range list {
		if over[i] {
			continue
		}
		if p.Kept[kept].Key != list[i].Key {
			return fmt.Errorf("projection: block %s was kept where %s stands", p.Kept[kept].Key, list[i].Key)
		}
		kept++
	}
	return nil
}

// A cursor is, in unpadded base64url: a MAC of 16 bytes over what follows; the question it belongs to, the revision it
// was made at and the order of the survivors, 6 bytes each; and a bit for each survivor that is done with. With
// rag.retrieve-k at its limit of 1000 that is 212 characters.
const (
	cursorMAC  = 16
	cursorID   = 6
	cursorHead = cursorMAC + 3*cursorID
)

// opened is a cursor that was held to its question and revision.
type opened struct {
	order []byte       // what orderSum gave when the cursor was made
	done  map[int]bool // survivors that earlier pages are done with
}

func cursorSum(secret, payload []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("cursor\x00"))
	mac.Write(payload)
	return mac.Sum(nil)[:cursorMAC]
}

func shortSum(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:cursorID]
}

// nextCursor names what return-n and the budget left out; never what a cap or a floor took. A block that would not fit
// even alone is done with: no page under the same budget could deliver it.
func (run *lookup) nextCursor() string {
	done := make([]byte, (len(run.survived)+7)/8)
	left := false
	for i, c := range run.survived {
		switch {
		case c.reason == BelowReturnN, c.reason == OverBudgetDrop && !c.over.Alone:
			left = true
		default:
			done[i/8] |= 1 << (i % 8)
		}
	}
	if !left {
		return ""
	}
	payload := slices.Concat(shortSum(run.base), shortSum(run.opt.Revision), run.orderSum(), done)
	return base64.RawURLEncoding.EncodeToString(append(cursorSum(run.opt.Secret, payload), payload...))
}

// orderSum stands for the survivors in their order. Over one revision only a reranker that answers otherwise, or a leg
// that fails, changes it.
func (run *lookup) orderSum() []byte {
	var b strings.Builder
	for _, c := range run.survived[:run.strict] {
		fmt.Fprintf(&b, "%d:%s", len(c.printed), c.printed)
	}
	return shortSum(b.String())
}

func cursorError(kind error, what, hint string) error {
	return &Error{Op: "cursor", Kind: kind, Err: errors.New(what), Hint: hint}
}

// openCursor reads a cursor and holds it to the question and the revision.
func openCursor(cursor, base, revision string, secret []byte) (opened, error) {
	if cursor == "" {
		return opened{}, nil
	}
	fail := func(kind error, what, hint string) (opened, error) { return opened{}, cursorError(kind, what, hint) }
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) < cursorHead || !hmac.Equal(raw[:cursorMAC], cursorSum(secret, raw[cursorMAC:])) {
		return fail(ErrMalformed, "it was not made by this store", "pass next_cursor as the earlier answer gave it")
	}
	if !bytes.Equal(raw[cursorMAC+cursorID:cursorMAC+2*cursorID], shortSum(revision)) {
		return fail(ErrConflict, "the collection changed since the earlier answer", "ask again without the cursor")
	}
	if !bytes.Equal(raw[cursorMAC:cursorMAC+cursorID], shortSum(base)) {
		return fail(ErrMalformed, "it belongs to another question or other settings", "repeat the earlier question and settings with the cursor")
	}
	done := map[int]bool{}
	for i := range 8 * (len(raw) - cursorHead) {
		if raw[cursorHead+i/8]&(1<<(i%8)) != 0 {
			done[i] = true
		}
	}
	return opened{order: raw[cursorMAC+2*cursorID : cursorHead], done: done}, nil
}
