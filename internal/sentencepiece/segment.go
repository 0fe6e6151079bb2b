package sentencepiece

import "slices"

// window is how many bytes of normalised text are gathered before they are cut into tokens, and how long a stretch without
// a certain boundary may be before one is searched for.
const window = 1 << 13

// hanging is how long a stretch without a place where all ways meet may become. In one that is longer, and only there, the
// best way so far is taken, which need not be what the sentencepiece package finds, for it keeps all of it in memory.
const hanging = 1 << 20

// rebase is the sum of scores, either way, beyond which sums start anew at 0, so that they do not lose the precision that
// tells good from better. The value is that of the sentencepiece package, which does so from 0.2.2 on; it decides
// ties in long texts.
const rebase = 100_000

// keep bounds the buffers of a run that is kept for the next text.
const keep = 1 << 18

// wants says what a run makes.
type wants int

const (
	wantIDs wants = iota
	wantSpans
	wantCount
)

// node is the best way to reach a place of the normalised text: its sum of scores and its last token. Length 0 means that
// no way is known yet.
type node struct {
	score  float32
	id     int32
	length int32
}

// run is the work on one text. The buffers norm, source and nodes hold the stretch of normalised text whose tokens are not
// certain yet; whatever is certain leaves them.
type run struct {
	t    *Tokenizer
	want wants

	ids    []int32
	tokens []Token
	count  int

	norm      []byte // normalised text
	source    []int  // by byte of norm, the offset of the source text it came from; only for spans
	pending   int    // white space seen, not yet followed by text
	pendingAt int    // its offset in the source
	end       int    // offset in the source where the text without trailing white space ends, once last is set
	last      bool   // no more text follows

	nodes   []node // by place of norm; the first is where all ways meet
	next    int    // first place of norm from which tokens were not tried yet
	reach   int    // farthest place of norm that a token from before next reaches
	ready   int    // length of norm from which segment is worth calling
	certain []int  // places of ways, scratch of converge
	prevUnk bool   // the last token is unknown
}

// start takes a run out of the pool.
func (t *Tokenizer) start(want wants) *run {
	r, ok := t.runs.Get().(*run)
	if !ok {
		r = &run{t: t}
	}
	r.want, r.ready = want, window
	r.nodes = append(r.nodes[:0], node{})
	return r
}

// finish puts a run back, without what it made and without buffers that one odd text has blown up.
func (t *Tokenizer) finish(r *run) {
	clean := run{t: t, norm: r.norm[:0], source: r.source[:0], nodes: r.nodes[:0], certain: r.certain[:0]}
	if cap(clean.nodes) > keep {
		clean = run{t: t}
	}
	*r = clean
	t.runs.Put(r)
}

// segment tries all tokens from every place that has its longest possible token in the buffer, and emits what is certain.
func (r *run) segment() {
	for len(r.nodes) <= len(r.norm) {
		r.nodes = append(r.nodes, node{})
	}
	tryUntil := len(r.norm)
	if !r.last {
		tryUntil -= max(r.t.maxPiece, 4)
	}
	sure := 0
	for r.next < tryUntil {
		if r.reach <= r.next { // no token reaches beyond: all ways meet here
			sure = r.next
		}
		r.extend()
	}
	switch {
	case r.last:
		sure = len(r.norm)
	case sure == 0 && r.next > window:
		if sure = r.converge(); sure == 0 && r.next > hanging {
			sure = r.next
			r.forget(sure)
		}
	}
	r.emit(sure)
	r.ready = 2*len(r.norm) + window
}

// extend tries all tokens that start at the next place, and goes on by one character. The order of the trials, shorter
// pieces first, and of the additions decides ties and is that of the sentencepiece package.
func (r *run) extend() {
	t, at := r.t, r.next
	here := r.nodes[at].score
	if here < -rebase || here > rebase {
		for p := at; p <= r.reach; p++ {
			r.nodes[p].score -= here
		}
		here = 0
	}
	char := charLen(r.norm[at])
	covered := false
	unit, ok := t.trie.root()
	base := children(0, unit)
	for i := at; ok && i < len(r.norm); {
		var pos uint32
		pos, unit, ok = t.trie.step(base, r.norm[i])
		if !ok {
			break
		}
		i++
		base = children(pos, unit)
		id, isPiece := t.trie.value(base, unit)
		if !isPiece || id >= t.pieces {
			continue
		}
		r.offer(i, i-at, int32(id), t.score(id)+here)
		covered = covered || i-at == char
	}
	r.next = min(at+char, len(r.norm))
	if !covered {
		r.offer(r.next, r.next-at, t.unk, t.unkScore+here)
	}
}

// offer proposes a way to a place; it is taken when it is the first or better than the best so far.
func (r *run) offer(place, length int, id int32, score float32) {
	n := &r.nodes[place]
	if n.length == 0 || score > n.score {
		*n = node{score: score, id: id, length: int32(length)}
	}
	r.reach = max(r.reach, place)
}

// charLen is the length of the UTF-8 character that starts with b; the normalised text is valid.
func charLen(b byte) int {
	switch {
	case b < 0xc0:
		return 1
	case b < 0xe0:
		return 2
	case b < 0xf0:
		return 3
	}
	return 4
}

// converge returns the last place through which the best ways to all places still open lead, 0 if there is none but the first.
func (r *run) converge() int {
	ways := r.certain[:0]
	for p := r.next; p <= r.reach; p++ {
		if r.nodes[p].length > 0 {
			ways = append(ways, p)
		}
	}
	// Going back from the farthest place, step by step, all ways come together in the end, at the first place at the latest.
	for len(ways) > 1 {
		p := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		p -= int(r.nodes[p].length)
		if i, met := slices.BinarySearch(ways, p); !met {
			ways = slices.Insert(ways, i, p)
		}
	}
	r.certain = ways
	return ways[0]
}

// forget drops the ways to places beyond place that do not lead through it.
func (r *run) forget(place int) {
	for p := place + 1; p <= r.reach; p++ {
		if p-int(r.nodes[p].length) < place {
			r.nodes[p] = node{}
		}
	}
}

// emit makes the tokens of the best way up to a place that is certain, and removes their text from the buffers.
func (r *run) emit(place int) {
	if place == 0 {
		return
	}
	path := r.certain[:0]
	for p := place; p > 0; p -= int(r.nodes[p].length) {
		path = append(path, p)
	}
	for _, p := range slices.Backward(path) {
		r.token(p)
	}
	r.certain = path
	r.norm = r.norm[:copy(r.norm, r.norm[place:])]
	r.nodes = r.nodes[:copy(r.nodes, r.nodes[place:])]
	if r.want == wantSpans {
		r.source = r.source[:copy(r.source, r.source[place:])]
	}
	r.next, r.reach = r.next-place, r.reach-place
}

// token adds the token that ends at a place, or lengthens the last one when both are unknown.
func (r *run) token(place int) {
	n := r.nodes[place]
	merge := r.prevUnk && n.id == r.t.unk
	r.prevUnk = n.id == r.t.unk
	switch r.want {
	case wantCount:
		if !merge {
			r.count++
		}
	case wantIDs:
		if !merge {
			r.ids = append(r.ids, n.id)
		}
	case wantSpans:
		end := r.end
		if place < len(r.source) {
			end = r.source[place]
		}
		if merge {
			r.tokens[len(r.tokens)-1].End = end
			return
		}
		r.tokens = append(r.tokens, Token{ID: n.id, Start: r.source[place-int(n.length)], End: end})
	}
}
