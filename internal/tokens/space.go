package tokens

import (
	"container/heap"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Both encodings cut a text into pieces by a regular expression, one alternative of which is \s*[\r\n]+: white space up
// to the last line break of its run is one piece. The library's compiled expression ends the piece at the first line
// break instead, which gives another count where more white space and a further break follow, and takes quadratic time
// on long runs. Such pieces are therefore found and merged here, and the library is given the text around them.

// brokenRun is white space that holds a line break, further white space and a line break again.
type brokenRun struct {
	start, end int // of the one piece that the encoding makes of it
}

// nextBrokenRun returns the first such piece at or after from.
func nextBrokenRun(text string, from int, marksAreLetters bool) (brokenRun, bool) {
	for i := from; i < len(text); {
		n := strings.IndexAny(text[i:], "\r\n")
		if n < 0 {
			return brokenRun{}, false
		}
		first := i + n
		after := first
		for after < len(text) && isBreak(text[after]) {
			after++
		}
		end, last := after, -1
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !unicode.IsSpace(r) {
				break
			}
			if isBreak(text[end]) {
				last = end + size
			}
			end += size
		}
		if last >= 0 {
			return brokenRun{pieceStart(text, from, first, after, marksAreLetters), last}, true
		}
		i = end
	}
	return brokenRun{}, false
}

// pieceStart returns where the piece begins that holds the line breaks between first and after: at the white space
// before them, or behind them where they belong to a sign that stands before.
func pieceStart(text string, from, first, after int, marksAreLetters bool) int {
	start := first
	for start > from {
		r, size := utf8.DecodeLastRuneInString(text[from:start])
		if !unicode.IsSpace(r) {
			if start < first || unicode.IsLetter(r) || unicode.IsNumber(r) || marksAreLetters && unicode.IsMark(r) {
				return start
			}
			return after
		}
		start -= size
	}
	return start
}

func isBreak(c byte) bool { return c == '\n' || c == '\r' }

// spaceTokens returns the tokens that are made of bytes of white space alone, with their ranks.
func (l *lazy) spaceTokens() map[string]int {
	l.spaceOnce.Do(func() {
		var inSpace [256]bool
		for _, table := range unicode.White_Space.R16 {
			for r := rune(table.Lo); r <= rune(table.Hi); r += rune(table.Stride) {
				for _, b := range []byte(string(r)) {
					inSpace[b] = true
				}
			}
		}
		l.space = map[string]int{}
		for id := range l.tokens {
			token, err := l.codec.Decode([]uint{uint(id)})
			if err != nil {
				continue
			}
			blank := true
			for i := 0; i < len(token) && blank; i++ {
				blank = inSpace[token[i]]
			}
			if blank {
				l.space[token] = id
			}
		}
	})
	return l.space
}

// mergeCount returns into how many tokens byte-pair encoding merges a piece: again and again the leftmost pair of the
// lowest rank becomes one (https://github.com/openai/tiktoken, byte_pair_merge).
func mergeCount(piece string, ranks map[string]int) int {
	next := make([]int, len(piece)+1) // of each part that still begins there, where the next begins
	prev := make([]int, len(piece)+1)
	for i := range next {
		next[i], prev[i] = i+1, i-1
	}
	rank := func(i int) int {
		if i < 0 || next[i] >= len(piece) {
			return math.MaxInt
		}
		if r, ok := ranks[piece[i:next[next[i]]]]; ok {
			return r
		}
		return math.MaxInt
	}
	var queue pairs
	push := func(i int) {
		if r := rank(i); r < math.MaxInt {
			heap.Push(&queue, pair{r, i, next[next[i]]})
		}
	}
	for i := range len(piece) {
		push(i)
	}
	gone := make([]bool, len(piece)+1)
	count := len(piece)
	for len(queue) > 0 {
		p := heap.Pop(&queue).(pair)
		if gone[p.at] || next[p.at] >= len(piece) || next[next[p.at]] != p.end {
			continue
		}
		gone[next[p.at]] = true
		next[p.at] = p.end
		prev[p.end] = p.at
		count--
		push(p.at)
		if prev[p.at] >= 0 {
			push(prev[p.at])
		}
	}
	return count
}

// pair is two parts beside each other: where the first begins, where the second ends, and the rank of both as one.
type pair struct {
	rank, at, end int
}

// pairs is a heap, lowest rank first, leftmost among equals.
type pairs []pair

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	return p[i].rank < p[j].rank || p[i].rank == p[j].rank && p[i].at < p[j].at
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
