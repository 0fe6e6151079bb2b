package chunk

import "strings"

// section appends the pieces of one section to pieces.
func (c *cutter) section(pieces []Piece, path []string) []Piece {
	if len(c.blocks) == 0 {
		return pieces
	}
	first, last := c.blocks[0], c.blocks[len(c.blocks)-1]
	start, end := trim(c.text, first.Start, last.End)
	// Fewer bytes than the target are fewer tokens too: no need to count.
	if end-start <= c.cfg.MaxTokens {
		return append(pieces, Piece{Start: start, End: end, HeadingPath: path, Kind: c.kind(0, len(c.blocks)-1)})
	}
	c.limit = c.pieceLimit(path)
	c.cutBlocks()
	for _, r := range c.pack() {
		pieces = append(pieces, c.piece(r, path))
	}
	return pieces
}

// pieceLimit is what is left of the bound beside the heading path. A path may take a third of it; what is longer is the embedder's to
// shorten.
func (c *cutter) pieceLimit(path []string) int {
	bound := c.cfg.bound()
	used := 0
	if len(path) > 0 {
		joined := strings.Join(path, " › ")
		if used = bound / 3; len(joined) < 16*used {
			used = min(used, c.count(joined)+1)
		}
	}
	return min(bound-used, c.cfg.whole())
}

// span is a run of atoms, half-open, with the tokens of the context that it needs.
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
	out = c.joinTail(out)
	return c.overlap(out)
}

// next returns where a piece that begins at the atom from ends, with left tokens to the end of the section: at the boundary with the
// least sum of its penalty and its distance from the target, both in shares of the target.
func (c *cutter) next(from, left int) int {
	context := c.headerTokens(from)
	limit := c.limit - context
	aim := c.cfg.MaxTokens
	if len(c.atoms) > 0 && from > 0 {
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
	if b.Header == 0 || a.start < b.Header || i == 0 || c.atoms[i-1].block != a.block {
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

func (c *cutter) piece(s span, path []string) Piece {
	a, z := c.atoms[s.from], c.atoms[s.to-1]
	start, end := trim(c.text, a.start, z.end)
	context, _ := c.header(s.from)
	return Piece{Start: start, End: end, HeadingPath: path, Context: context, Kind: c.kind(int(a.block), int(z.block))}
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
