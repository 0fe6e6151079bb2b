package exhibit_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/exhibittest"
)

// pages follows cursors to their end and returns the keys of each page.
func pages(t exhibittest.TB, r *exhibit.Retriever, req exhibit.LookupRequest) [][]string {
	t.Helper()
	var all [][]string
	for range 2000 {
		res := exhibittest.Lookup(t, r, req)
		all = append(all, keysOf(res))
		if len(res.NextCursor) > 512 {
			t.Errorf("a cursor of %d characters", len(res.NextCursor))
		}
		if req.Cursor = res.NextCursor; req.Cursor == "" {
			return all
		}
	}
	t.Fatalf("the cursors have no end")
	return nil
}

func TestPagesCoverAllSurvivorsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words, vectors := drawHits(rt, "lexical"), drawHits(rt, "dense")
		s := exhibit.LookupSettings{RetrieveK: set(rapid.IntRange(5, 60).Draw(rt, "k")), ReturnN: set(rapid.IntRange(1, 5).Draw(rt, "n")),
			MaxChunksPerDocument: set(rapid.IntRange(1, 4).Draw(rt, "cap"))}
		opt := exhibit.RetrieverOptions{Projector: exhibittest.FakeProjector{}}
		if rapid.Bool().Draw(rt, "rerank") {
			opt.Reranker = &exhibittest.FakeReranker{ScoreOf: backwards}
		}
		r := over(hybrid(lexical(words...), dense(vectors...)), &opt)
		whole := s
		whole.ReturnN, whole.RetrieveK = set(100), set(100)
		got := slices.Concat(pages(rt, r, exhibit.LookupRequest{Query: "q", Settings: s})...)
		seen := map[string]bool{}
		for _, key := range got {
			if seen[key] {
				rt.Fatalf("%s is delivered twice: %q", key, got)
			}
			seen[key] = true
		}
		// The same candidates, all on one page, where retrieve-k leaves room for them.
		if s.RetrieveK.Value >= len(words)+len(vectors) {
			if want := keysOf(exhibittest.Lookup(rt, r, exhibit.LookupRequest{Query: "q", Settings: whole})); !slices.Equal(got, want) {
				rt.Fatalf("pages give %q, one page %q", got, want)
			}
		}
	})
}

func TestPagesUnderABudget(t *testing.T) {
	var hits []exhibit.Hit
	for i := range 12 {
		h := chunk(fmt.Sprint("doc", i), 0, 1-float64(i)/100)
		h.Text = strings.Repeat("x", 10+(i*37)%90)
		hits = append(hits, h)
	}
	hits[5].Text = strings.Repeat("y", 500) // does not fit even alone
	for _, overflow := range []string{"skip", "strict"} {
		r := over(dense(hits...), &exhibit.RetrieverOptions{Projector: exhibittest.FakeProjector{}})
		req := exhibit.LookupRequest{Query: "q", Format: "text", Settings: exhibit.LookupSettings{ReturnN: set(4), MaxCharacters: set(160), Overflow: set(overflow)}}
		all := pages(t, r, req)
		got := slices.Sorted(slices.Values(slices.Concat(all...)))
		if len(got) != 11 || len(slices.Compact(slices.Clone(got))) != 11 || slices.Contains(got, "doc5#chunk-0") {
			t.Errorf("%s: pages deliver %q", overflow, all)
		}
	}
}

func TestCursorInSoftMode(t *testing.T) {
	hits := chunks("x 0", "x 1", "x 2", "y 0", "y 1", "z 0")
	r := over(dense(hits...), nil)
	soft := func(n int) exhibit.LookupRequest {
		return exhibit.LookupRequest{Query: "q", Settings: caps(1, n, exhibit.CapSoft)}
	}
	// A cursor goes on with what return-n left, and refills nothing.
	if got := fmt.Sprint(pages(t, r, soft(2))); got != "[[x#chunk-0 y#chunk-0] [z#chunk-0]]" {
		t.Errorf("pages of two: %s", got)
	}
	next := soft(2)
	next.Cursor = exhibittest.Lookup(t, r, next).NextCursor
	if got := exhibittest.Lookup(t, r, next).Ledger.String(); got != "6 retrieved = 1 returned + 5 dropped (document-cap 3, earlier-page 2)" {
		t.Errorf("ledger of the second page %q", got)
	}
	if got := fmt.Sprint(pages(t, r, soft(4))); got != "[[x#chunk-0 y#chunk-0 z#chunk-0 x#chunk-1]]" {
		t.Errorf("pages of four: %s", got)
	}
	// A refill that the budget left out is left over like any other block.
	budget := over(dense(hits...), &exhibit.RetrieverOptions{Projector: exhibittest.FakeProjector{}})
	req := soft(5)
	req.Format, req.Settings.MaxCharacters = "text", set(120)
	if got := fmt.Sprint(pages(t, budget, req)); got != "[[x#chunk-0 y#chunk-0 z#chunk-0 x#chunk-1] [y#chunk-1]]" {
		t.Errorf("pages under a budget: %s", got)
	}
}

func TestCursorsRefused(t *testing.T) {
	hits := chunks("a 0", "b 0", "c 0", "d 0")
	req := exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{ReturnN: set(2)}}
	opt := func(revision, secret string) *exhibit.RetrieverOptions {
		return &exhibit.RetrieverOptions{Revision: revision, Secret: []byte(secret)}
	}
	cursor := exhibittest.Lookup(t, over(dense(hits...), opt("r1", "s")), req).NextCursor
	if cursor == "" {
		t.Fatal("no cursor")
	}
	with := func(change func(*exhibit.LookupRequest)) exhibit.LookupRequest {
		other := req
		other.Cursor = cursor
		change(&other)
		return other
	}
	plain := func(*exhibit.LookupRequest) {}
	filter := exhibit.Eq("a", exhibit.Int(1))
	for name, c := range map[string]struct {
		opt  *exhibit.RetrieverOptions
		req  exhibit.LookupRequest
		kind error
	}{
		"its own":            {opt("r1", "s"), with(plain), nil},
		"other revision":     {opt("r2", "s"), with(plain), exhibit.ErrConflict},
		"other store":        {opt("r1", "other"), with(plain), exhibit.ErrMalformed},
		"other question":     {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Query = "p" }), exhibit.ErrMalformed},
		"other settings":     {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Settings.ReturnN = set(3) }), exhibit.ErrMalformed},
		"other collection":   {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Collection = "c" }), exhibit.ErrMalformed},
		"other caller":       {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Caller = "eve" }), exhibit.ErrMalformed},
		"other filter":       {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Filter = &filter }), exhibit.ErrMalformed},
		"other access rule":  {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Access = &filter }), exhibit.ErrMalformed},
		"not base64":         {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Cursor = "!!" }), exhibit.ErrMalformed},
		"cut short":          {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Cursor = cursor[:20] }), exhibit.ErrMalformed},
		"lengthened":         {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Cursor += "AAAA" }), exhibit.ErrMalformed},
		"of no one":          {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Cursor = base64.RawURLEncoding.EncodeToString(make([]byte, 40)) }), exhibit.ErrMalformed},
		"padded, other bits": {opt("r1", "s"), with(func(r *exhibit.LookupRequest) { r.Cursor += "=" }), exhibit.ErrMalformed},
	} {
		_, err := over(dense(hits...), c.opt).Lookup(t.Context(), c.req)
		if c.kind == nil && err != nil || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want %v", name, err, c.kind)
		}
		if err != nil && exhibit.HintOf(err) == "" {
			t.Errorf("%s: no hint", name)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] ^= 1
		_, err := over(dense(hits...), opt("r1", "s")).Lookup(t.Context(), with(func(r *exhibit.LookupRequest) { r.Cursor = base64.RawURLEncoding.EncodeToString(raw) }))
		if !errors.Is(err, exhibit.ErrMalformed) {
			t.Errorf("byte %d of the cursor was changed: %v", i, err)
		}
		raw[i] ^= 1
	}
}

func TestCursorStaysSmall(t *testing.T) {
	var hits []exhibit.Hit
	for i := range 1000 {
		hits = append(hits, chunk(fmt.Sprint("doc", i), 0, -float64(i)))
	}
	r := over(dense(hits...), &exhibit.RetrieverOptions{Revision: strings.Repeat("long", 1000)})
	req := exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{RetrieveK: set(1000), ReturnN: set(100)}}
	all := pages(t, r, req)
	if len(all) != 10 || len(slices.Concat(all...)) != 1000 {
		t.Errorf("%d pages of %d blocks", len(all), len(slices.Concat(all...)))
	}
}

func TestSecondPage(t *testing.T) {
	r := over(dense(chunks("a 0", "a 1", "a 2", "b 0", "c 0", "d 0")...), nil)
	req := exhibit.LookupRequest{Query: "q", Settings: exhibit.LookupSettings{ReturnN: set(3)}}
	first := exhibittest.Lookup(t, r, req)
	req.Cursor = first.NextCursor
	second := exhibittest.Lookup(t, r, req)
	wantKeys(t, first, "a#chunk-0", "a#chunk-1", "b#chunk-0")
	wantKeys(t, second, "c#chunk-0", "d#chunk-0")
	if got := second.Ledger.String(); got != "6 retrieved = 2 returned + 4 dropped (document-cap 1, earlier-page 3)" {
		t.Errorf("ledger %q", got)
	}
	if second.NextCursor != "" || second.Evidence[0].Handle != "[1]" || second.LookupID == first.LookupID {
		t.Errorf("cursor %q, handle %s, ids %s %s", second.NextCursor, second.Evidence[0].Handle, first.LookupID, second.LookupID)
	}
}

// badProjector answers what it is told to.
type badProjector func([]exhibit.Evidence) exhibit.Projection

func (b badProjector) Project(_ context.Context, _ exhibit.ProjectionRequest, list []exhibit.Evidence) (exhibit.Projection, error) {
	return b(slices.Clone(list)), nil
}

func TestProjectorsThatLoseBlocks(t *testing.T) {
	for name, p := range map[string]badProjector{
		"keeps none":     func([]exhibit.Evidence) exhibit.Projection { return exhibit.Projection{} },
		"keeps one more": func(l []exhibit.Evidence) exhibit.Projection { return exhibit.Projection{Kept: append(l, l[0])} },
		"another order":  func(l []exhibit.Evidence) exhibit.Projection { slices.Reverse(l); return exhibit.Projection{Kept: l} },
		"out of range": func(l []exhibit.Evidence) exhibit.Projection {
			return exhibit.Projection{Kept: l[1:], Over: []exhibit.OverBudget{{Index: 9}}}
		},
		"negative": func(l []exhibit.Evidence) exhibit.Projection {
			return exhibit.Projection{Kept: l[1:], Over: []exhibit.OverBudget{{Index: -1}}}
		},
		"over twice": func(l []exhibit.Evidence) exhibit.Projection {
			return exhibit.Projection{Kept: l[2:], Over: []exhibit.OverBudget{{Index: 0}, {Index: 0}}}
		},
		"kept and over": func(l []exhibit.Evidence) exhibit.Projection {
			return exhibit.Projection{Kept: l[1:], Over: []exhibit.OverBudget{{Index: 1}}}
		},
	} {
		r := over(dense(chunks("a 0", "b 0", "c 0")...), &exhibit.RetrieverOptions{Projector: p})
		if res, err := r.Lookup(t.Context(), exhibit.LookupRequest{Query: "q", Format: "text"}); err == nil {
			t.Errorf("%s: no error, %s", name, res.Ledger.String())
		}
	}
}

func TestCase_55_overflow_policies(t *testing.T) {
	big := chunk("big", 0, 0.99)
	big.Text = strings.Repeat("x", 300)
	hits := append([]exhibit.Hit{chunk("first", 0, 1), big}, chunks("small 0", "small 1")...)
	hits[2].Score, hits[3].Score = 0.5, 0.4
	for overflow, want := range map[string]string{"skip": "[first#chunk-0 small#chunk-0 small#chunk-1]", "strict": "[first#chunk-0]", "cut": "[first#chunk-0 small#chunk-0 small#chunk-1]"} {
		r := over(dense(hits...), &exhibit.RetrieverOptions{Projector: exhibittest.FakeProjector{}})
		res := exhibittest.Lookup(t, r, exhibit.LookupRequest{Query: "q", Format: "text", Settings: exhibit.LookupSettings{MaxCharacters: set(200), Overflow: set(overflow)}})
		if got := fmt.Sprint(keysOf(res)); got != want {
			t.Errorf("%s: %s, want %s", overflow, got, want)
		}
		e := entryOf(t, res, "big#chunk-0")
		if _, characters := e.Over(); e.Reason != exhibit.OverBudgetDrop || characters == 0 {
			t.Errorf("%s: %+v over by %d", overflow, e, characters)
		}
		if asks := overflow != "cut"; res.Short == nil || strings.Contains(res.Short.Hint, "project.overflow: cut") != asks || !strings.Contains(res.Short.Hint, "raise project.max-characters") {
			t.Errorf("%s: %+v", overflow, res.Short)
		}
		if res.Projection == nil || res.Projection.Characters > 200 {
			t.Errorf("%s: %+v", overflow, res.Projection)
		}
	}
}
