package chunk

import "strings"

// section makes the pieces of the section.
func (c *cutter) section() []Piece {
	if len(c.blocks) == 0 {
		return nil
	}
	first, last := c.blocks[0], c.blocks[len(c.blocks)-1]
	start, end := trim(c.text, first.Start, last.End)
	// Fewer bytes than the target are fewer tokens too: no need to count.
	if end-start <= c.cfg.MaxTokens {
		return []Piece{{Start: start, End: end, HeadingPath: c.path, Kind: c.kind(0, len(c.blocks)-1)}}
	}
	c.limit = c.pieceLimit()
	c.cutBlocks()
	c.emit(c.overlap(c.joinTail(c.pack())))
	return c.pieces
}

// drain makes pieces of the atoms so far, but for those of the last two pieces, which may come out otherwise when more is known. Of an
// overlap, the piece after the drain has none.
func (c *cutter) drain() {
	spans := c.pack()
	if len(spans) < 3 {
		return
	}
	spans = spans[:len(spans)-2]
	c.emit(c.overlap(spans))
	c.atoms = append(c.atoms[:0], c.atoms[spans[len(spans)-1].to:]...)
}

func (c *cutter) emit(spans []span) {
	for _, s := range spans {
		c.pieces = append(c.pieces, c.piece(s))
	}
}

// pieceLimit is what is left of the bound beside the heading path. A path may take a third of it; what is longer is the embedder's to
// shorten.
func (c *cutter) pieceLimit() int {
	bound := c.cfg.bound()
	used := 0
	if len(c.path) > 0 {
		joined := strings.Join(c.path, " › ")
		if used = bound / 3; len(joined) < 16*used {
			used = min(used, c.count(joined)+1)
		}
	}
	return min(bound-used, c.cfg.whole())
}

// span is a run of atoms, half-open.
type span struct{ from, to int }

// pack groups the atoms into pieces of about equal size.
func (c *cutter) pack() []span {
	left := 0
	for _, a := range c.atoms {
		left += int(a.tokens)
	}
	var out []span
	for from := 0; from < len(c.atoms); {
		to := c.next(from, left)
		for _, a := range c.atoms[from:to] {
			left -= int(a.tokens)
		}
		out = append(out, span{from, to})
		from = to
	}
	return out
}

// next returns where a piece that begins at the atom from ends, with left tokens to the end of the section: at the boundary with the
// least sum of its penalty and its distance from the target, both in shares of the target.
func (c *cutter) next(from, left int) int {
	context := c.headerTokens(from)
	limit := c.limit - context
	aim := c.cfg.MaxTokens
	if from > 0 {
		limit -= c.cfg.OverlapTokens
		aim -= c.cfg.OverlapTokens
	}
	if left <= limit {
		return len(c.atoms)
	}
	aim = max(min(aim, limit), 1)
	parts := (left + aim - 1) / aim
	target := float64(left) / float64(parts)
	best, bestCost := from+1, 1e9
	size := 0
	for i := from; i < len(c.atoms); i++ {
		if size += int(c.atoms[i].tokens); size > limit {
			break
		}
		off := float64(size)/target - 1
		cost := c.atoms[i].after.penalty() + max(off, -off)
		if off < -.5 {
			cost += 2
		}
		if cost <= bestCost {
			best, bestCost = i+1, cost
		}
	}
	return best
}

// joinTail joins a tiny last piece to the one before where the two fit the limit.
func (c *cutter) joinTail(out []span) []span {
	n := len(out)
	if n < 2 {
		return out
	}
	tail, before := c.size(out[n-1]), c.size(out[n-2])
	if tail >= c.cfg.tiny() || before+tail+c.headerTokens(out[n-2].from) > c.limit {
		return out
	}
	out[n-2].to = out[n-1].to
	return out[:n-1]
}

// overlap lets each piece but the first begin with the last atoms of the piece before it.
func (c *cutter) overlap(out []span) []span {
	if c.cfg.OverlapTokens == 0 {
		return out
	}
	for i := len(out) - 1; i > 0; i-- {
		room := c.cfg.OverlapTokens
		for out[i].from > out[i-1].from+1 {
			n := int(c.atoms[out[i].from-1].tokens)
			if n > room {
				break
			}
			room -= n
			out[i].from--
		}
	}
	return out
}

func (c *cutter) size(s span) int {
	n := 0
	for _, a := range c.atoms[s.from:s.to] {
		n += int(a.tokens)
	}
	return n
}

// header returns the header rows that a piece beginning at the atom i lacks: those of a table begun before it. Of a header of more than
// a third of the limit only the first line is repeated, and nothing if that is still more.
func (c *cutter) header(i int) (string, int) {
	a := c.atoms[i]
	b := c.blocks[a.block]
	if b.Header == 0 || a.start < b.Header {
		return "", 0
	}
	start, end := trim(c.text, b.Start, b.Header)
	rows := c.text[start:end]
	first, _, _ := strings.Cut(rows, "\n")
	for _, s := range [...]string{rows, strings.TrimSpace(first)} {
		if s == "" || len(s) > 16*c.limit {
			continue
		}
		if n := c.count(s); n <= c.limit/3 {
			return s, n
		}
	}
	return "", 0
}

func (c *cutter) headerTokens(i int) int {
	_, n := c.header(i)
	return n
}

func (c *cutter) piece(s span) Piece {
	a, z := c.atoms[s.from], c.atoms[s.to-1]
	start, end := trim(c.text, a.start, z.end)
	context, _ := c.header(s.from)
	return Piece{Start: start, End: end, HeadingPath: c.path, Context: context, Kind: c.kind(int(a.block), int(z.block))}
}

// kind returns what all blocks from one to another are, or Raw. Headings without a body do not count unless there is nothing else.
func (c *cutter) kind(from, to int) Kind {
	kind := Heading
	for _, b := range c.blocks[from : to+1] {
		switch {
		case b.Kind == Heading || b.Kind == kind:
		case kind == Heading:
			kind = b.Kind
		default:
			return Raw
		}
	}
	return kind
}
