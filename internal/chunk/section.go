package chunk

import (
	"strings"
	"unicode/utf8"
)

// section is a run of body blocks under one path of headings.
type section struct {
	path []string
	body []Block
}

// sections groups blocks by the headings above them. A heading that heads nothing, neither text nor a deeper heading, becomes a body
// block of the section before it, or where there is none, of the one after it.
func sections(text string, blocks []Block) []section {
	blocks = sound(text, blocks)
	var (
		out     []section
		stack   []Block
		pending []Block // headings without a body, before the first section
		open    bool    // out's last section takes further blocks
	)
	for i, b := range blocks {
		if b.Kind == Heading && !headsNothing(blocks, i) {
			stack = push(stack, b)
			open = false
			continue
		}
		if b.Kind == Heading {
			stack = push(stack, b)
			stack = stack[:len(stack)-1]
			if len(out) == 0 {
				pending = append(pending, b)
			} else {
				join(text, &out, b)
			}
			open = false
			continue
		}
		if !open {
			out = append(out, section{path: titles(stack), body: append(pending, b)})
			pending, open = nil, true
			continue
		}
		join(text, &out, b)
	}
	if len(pending) > 0 {
		out = append(out, section{path: titles(stack), body: pending})
	}
	return out
}

// join appends a block to the last section, or to a new one of its path where that ends too far off.
func join(text string, out *[]section, b Block) {
	last := &(*out)[len(*out)-1]
	if !near(text, last.body, b) {
		*out = append(*out, section{path: last.path, body: []Block{b}})
		return
	}
	last.body = append(last.body, b)
}

// maxGap is how many bytes of what is in no block, such as a comment, a piece may hold between two blocks.
const maxGap = 256

// near tells whether a block may stand in one piece with the blocks before it.
func near(text string, body []Block, b Block) bool {
	start, end := trim(text, body[len(body)-1].End, b.Start)
	return end-start <= maxGap
}

// headsNothing tells whether the heading at i is followed by the end or by a heading that is not below it.
func headsNothing(blocks []Block, i int) bool {
	if i+1 == len(blocks) {
		return true
	}
	next := blocks[i+1]
	return next.Kind == Heading && next.Level <= blocks[i].Level
}

func push(stack []Block, b Block) []Block {
	for len(stack) > 0 && stack[len(stack)-1].Level >= b.Level {
		stack = stack[:len(stack)-1]
	}
	return append(stack, b)
}

func titles(stack []Block) []string {
	var path []string
	for _, b := range stack {
		if t := strings.Join(strings.Fields(b.Title), " "); t != "" {
			path = append(path, t)
		}
	}
	return path
}

// sound leaves out blocks that do not describe the text (see Check), and those that are white.
func sound(text string, blocks []Block) []Block {
	out := make([]Block, 0, len(blocks))
	end := 0
	for _, b := range blocks {
		if checkOne(text, b, end) != nil {
			continue
		}
		end = b.End
		if s, e := trim(text, b.Start, b.End); s < e {
			out = append(out, b)
		}
	}
	return out
}

func boundary(text string, i int) bool {
	return i == len(text) || utf8.RuneStart(text[i])
}
