package project

import (
	"sort"
	"unicode/utf8"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/tokens"
)

// size is a length in both measures. Tokens stay 0 where none are counted.
type size struct {
	tokens, characters int
}

var size0 = size{}

func (s size) plus(t size) size { return size{s.tokens + t.tokens, s.characters + t.characters} }

// block is one block of evidence as it is rendered.
type block struct {
	evidence exhibit.Evidence // Text and Span cut where it was cut
	whole    string           // the text before any cut
}

// keptBlock is a block of the answer.
type keptBlock struct {
	block
	index    int
	followed size // with what separates it from the next
}

// fitter chooses the blocks of one answer.
//
// It never renders the answer as a whole until the end. A line break before one of the signs with which blocks begin is
// a place that no token crosses, so the sizes of blocks add up; and the nonce stands between a space and ">>", so that
// blocks are measured with a nonce of zeros and the difference of the true one, which depends on all blocks, is added.
type fitter struct {
	req       exhibit.ProjectionRequest
	form      form
	counter   *tokens.Counter // nil without a budget of tokens: blocks are then chosen without counting any
	reported  *tokens.Counter // counts the answer; nil where its tokens are not told
	frame     size            // what opens the answer
	zeroNonce int             // tokens of the nonce that blocks are measured with

	kept    []keptBlock
	sum     size // of the kept blocks, each with what follows it
	over    []exhibit.OverBudget
	stopped bool
}

func (f *fitter) measure(s string) (size, error) { return measure(f.counter, s) }

func measure(counter *tokens.Counter, s string) (size, error) {
	out := size{characters: characters(s)}
	if counter == nil {
		return out, nil
	}
	var err error
	out.tokens, err = counter.Count(s)
	return out, err
}

func (f *fitter) nonceTokens(nonce string) (int, error) {
	if f.counter == nil || !f.form.fenced {
		return 0, nil
	}
	return f.counter.Count("evidence " + nonce + ">>")
}

func (f *fitter) within(s size) bool {
	return (f.req.MaxTokens == 0 || s.tokens <= f.req.MaxTokens) && (f.req.MaxCharacters == 0 || s.characters <= f.req.MaxCharacters)
}

func (f *fitter) overrun(s size) exhibit.OverBudget {
	var o exhibit.OverBudget
	if f.req.MaxTokens > 0 {
		o.Tokens = max(0, s.tokens-f.req.MaxTokens)
	}
	if f.req.MaxCharacters > 0 {
		o.Characters = max(0, s.characters-f.req.MaxCharacters)
	}
	return o
}

// add takes one block into the answer, whole or cut, or says by how much it does not fit.
func (f *fitter) add(index int, e exhibit.Evidence) error {
	b := block{evidence: e, whole: e.Text}
	last, followed, err := f.sizes(&b)
	if err != nil {
		return err
	}
	total, err := f.total(f.kept, f.sum, last, e.ContentHash)
	if err != nil {
		return err
	}
	if !f.stopped && f.within(total) {
		f.keep(keptBlock{b, index, followed})
		return nil
	}
	if f.req.Overflow == exhibit.OverflowCut && !f.stopped {
		shorter, ok, err := f.cut(&b, f.kept, f.sum)
		if err != nil {
			return err
		}
		if ok {
			_, followed, err := f.sizes(&shorter)
			f.keep(keptBlock{shorter, index, followed})
			f.stopped = true
			return err
		}
	}
	f.stopped = f.stopped || f.req.Overflow == exhibit.OverflowStrict
	o := f.overrun(total)
	o.Index = index
	o.Alone, err = f.tooLargeAlone(&b, last)
	f.over = append(f.over, o)
	return err
}

func (f *fitter) keep(k keptBlock) {
	f.kept = append(f.kept, k)
	f.sum = f.sum.plus(k.followed)
}

// tooLargeAlone reports whether the block would not fit even as the only one: no later page could hold it.
func (f *fitter) tooLargeAlone(b *block, last size) (bool, error) {
	total, err := f.total(nil, size0, last, b.evidence.ContentHash)
	if err != nil || f.within(total) {
		return false, err
	}
	if f.req.Overflow != exhibit.OverflowCut {
		return true, nil
	}
	_, ok, err := f.cut(b, nil, size0)
	return !ok, err
}

// total returns the size of the answer that has the kept blocks and a further one at its end.
func (f *fitter) total(kept []keptBlock, sum, last size, hash string) (size, error) {
	total := f.frame.plus(sum).plus(last)
	if f.counter == nil || !f.form.fenced {
		return total, nil
	}
	hashes := make([]string, 0, len(kept)+1)
	for _, k := range kept {
		hashes = append(hashes, k.evidence.ContentHash)
	}
	hashes = append(hashes, hash)
	n, err := f.nonceTokens(Nonce(f.req.Secret, f.req.LookupID, hashes))
	total.tokens += noncesPerBlock * len(hashes) * (n - f.zeroNonce)
	return total, err
}

// sizes measures a block under the nonce of zeros, as the last of the answer and as one that others follow.
func (f *fitter) sizes(b *block) (last, followed size, err error) {
	text, err := f.form.render(b, zeroNonce)
	if err != nil {
		return size0, size0, err
	}
	if last, err = f.measure(text + f.form.close); err != nil {
		return size0, size0, err
	}
	// Both differ in their ends alone. A letter or digit of ASCII and a sign after it are never in one token.
	tail := text[signsAtEnd(text):]
	if len(tail) == len(text) {
		followed, err = f.measure(text + f.form.between)
		return last, followed, err
	}
	closing, err := f.measure(tail + f.form.close)
	if err != nil {
		return size0, size0, err
	}
	separating, err := f.measure(tail + f.form.between)
	followed = size{last.tokens - closing.tokens + separating.tokens, last.characters - closing.characters + separating.characters}
	return last, followed, err
}

// signsAtEnd returns where the ASCII signs and spaces at the end of s begin, and 0 where what stands before them is not
// an ASCII letter or digit.
func signsAtEnd(s string) int {
	i := len(s)
	for i > 0 {
		c := s[i-1]
		switch {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z':
			return i
		case c >= 0x80:
			return 0
		}
		i--
	}
	return 0
}

// cut returns the longest beginning of the block that fits behind the kept ones, and whether there is any.
func (f *fitter) cut(b *block, kept []keptBlock, sum size) (shorter block, ok bool, err error) {
	fits := func(end int) bool {
		if err != nil {
			return false
		}
		s := b.cutAt(end)
		last, _, e := f.sizes(&s)
		if e == nil {
			last, e = f.total(kept, sum, last, s.evidence.ContentHash)
		}
		err = e
		return e == nil && f.within(last)
	}
	c := newCuts(b.whole, f.reach())
	for grade, ends := range c.grades() {
		if n := longest(len(ends), func(i int) bool { return fits(ends[i]) }); n > 0 {
			end := ends[n-1]
			if grade == gradeGrapheme {
				if word := c.wordEnd(end); word > 0 && fits(word) {
					end = word
				}
			}
			return b.cutAt(end), err == nil, err
		}
		if err != nil {
			break
		}
	}
	return block{}, false, err
}

// maxTokenBytes is the length of the longest token of both encodings.
const maxTokenBytes = 128

// reach returns how many bytes of a text could fit at all.
func (f *fitter) reach() int {
	reach := int(^uint(0) >> 1)
	if f.req.MaxCharacters > 0 && f.req.MaxCharacters < reach/utf8.UTFMax {
		reach = utf8.UTFMax * f.req.MaxCharacters
	}
	if f.req.MaxTokens > 0 && f.req.MaxTokens < reach/maxTokenBytes {
		reach = maxTokenBytes * f.req.MaxTokens
	}
	return reach
}

// longest returns how many of n ascending lengths fit. It asks about short ones first, so that its cost depends on what
// fits and not on how much there is.
func longest(n int, fits func(int) bool) int {
	high := 1
	for high <= n && fits(high-1) {
		high *= 2
	}
	low := high / 2
	high = min(high-1, n)
	return low + sort.Search(high-low, func(i int) bool { return !fits(low + i) })
}
