// Package ignore matches paths against the patterns of .gitignore files, by the rules of gitignore(5).
package ignore

import (
	"strings"
	"unicode/utf8"
)

// List holds the patterns of one file. The zero value matches nothing. It is immutable and safe for concurrent use.
type List struct{ patterns []pattern }

type pattern struct {
	literal  string   // what stands before the first wildcard of an anchored pattern
	parts    []string // of the rest, split at slashes; ** stands for any number of folders
	negate   bool
	dirOnly  bool
	anchored bool // relative to the folder of the file; else it matches at any depth
}

// Parse reads the lines of an ignore file. A line that is no valid pattern matches nothing.
func Parse(text string) List {
	var l List
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.Lines(text) {
		if p, ok := parseLine(strings.TrimRight(line, "\r\n")); ok {
			l.patterns = append(l.patterns, p)
		}
	}
	return l
}

func parseLine(line string) (pattern, bool) {
	if strings.HasPrefix(line, "#") {
		return pattern{}, false
	}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	var p pattern
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		p.negate, line = true, rest
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		p.dirOnly, line = true, rest
	}
	if line == "" {
		return p, false
	}
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if p.anchored {
		// As git does, which makes the ** of a**/b stand for any number of folders, though the manual asks for a slash before it.
		if at := strings.IndexAny(line, `*?[\`); at >= 0 {
			p.literal, line = line[:at], line[at:]
		} else {
			p.literal, line = line, ""
		}
	}
	p.parts = strings.Split(line, "/")
	for i, part := range p.parts {
		if p.anchored && len(part) > 2 && strings.Trim(part, "*") == "" {
			p.parts[i] = "**"
		}
	}
	return p, true
}

// Match tells what the list says of a path: ok is false where no pattern matches, else ignored is the verdict of the last one that does.
// The path is relative to the folder of the list's file, with slashes. Of the folders above it nothing is said: see [Stack].
func (l List) Match(path string, dir bool) (ignored, ok bool) {
	for i := len(l.patterns) - 1; i >= 0; i-- {
		if p := l.patterns[i]; p.match(path, dir) {
			return !p.negate, true
		}
	}
	return false, false
}

func (p pattern) match(path string, dir bool) bool {
	if p.dirOnly && !dir {
		return false
	}
	if !p.anchored {
		return Part(p.parts[0], path[strings.LastIndexByte(path, '/')+1:])
	}
	rest, ok := strings.CutPrefix(path, p.literal)
	return ok && parts(p.parts, strings.Split(rest, "/"))
}

// Glob tells whether a slash path as a whole matches a pattern in which * and ? match within a folder and ** across folders. A pattern
// without a slash is matched against the last part of the path.
func Glob(glob, path string) bool {
	if !strings.Contains(glob, "/") {
		return Part(glob, path[strings.LastIndexByte(path, '/')+1:])
	}
	return parts(strings.Split(strings.TrimPrefix(glob, "/"), "/"), strings.Split(path, "/"))
}

// parts matches pattern parts against path parts. It is the usual greedy match with one point to go back to, so it takes at most
// len(pattern) × len(path) steps.
func parts(pattern, path []string) bool {
	p, s, backP, backS := 0, 0, -1, 0
	for s < len(path) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			if p == len(pattern)-1 {
				return true // everything inside
			}
			backP, backS = p, s
			p++
		case p < len(pattern) && Part(pattern[p], path[s]):
			p++
			s++
		case backP >= 0:
			backS++
			p, s = backP+1, backS
		default:
			return false
		}
	}
	return p == len(pattern)
}

// Part tells whether one part of a path matches a pattern of *, ?, [classes] and \escapes.
func Part(pattern, name string) bool {
	p, s, backP, backS := 0, 0, -1, 0
	for s < len(name) || p < len(pattern) {
		if p < len(pattern) && pattern[p] == '*' {
			backP, backS = p, s
			p++
			continue
		}
		if p < len(pattern) && s < len(name) {
			if pn, sn, ok := one(pattern[p:], name[s:]); ok {
				p += pn
				s += sn
				continue
			}
		}
		if backP < 0 || backS >= len(name) {
			return false
		}
		_, n := utf8.DecodeRuneInString(name[backS:])
		backS += n
		p, s = backP+1, backS
	}
	return true
}

// one matches the first element of a pattern against the first character of a name and returns the length of both.
func one(pattern, name string) (int, int, bool) {
	r, n := utf8.DecodeRuneInString(name)
	switch pattern[0] {
	case '?':
		return 1, n, true
	case '[':
		size, ok := class(pattern, r)
		return size, n, ok
	case '\\':
		if len(pattern) == 1 {
			return 0, 0, false
		}
		q, m := utf8.DecodeRuneInString(pattern[1:])
		return m + 1, n, q == r && pattern[1:1+m] == name[:n]
	}
	q, m := utf8.DecodeRuneInString(pattern)
	return m, n, q == r && pattern[:m] == name[:n]
}

// class matches [abc], [a-z], [!abc] and [[:alpha:]]; it returns the length of the class. One that is not closed matches nothing.
func class(pattern string, r rune) (int, bool) {
	i, negate, in := 1, false, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		negate = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(pattern) {
			return 0, false
		}
		if pattern[i] == ']' && !first {
			return i + 1, in != negate
		}
		if end := strings.Index(pattern[i:], ":]"); strings.HasPrefix(pattern[i:], "[:") && end > 0 {
			in = in || named(pattern[i+2:i+end], r)
			i += end + 2
			continue
		}
		low, n := literal(pattern[i:])
		i += n
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, n = literal(pattern[i+1:])
			i += n + 1
		}
		in = in || low <= r && r <= high
	}
}

func literal(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}

func named(class string, r rune) bool {
	digit, lower, upper := r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z'
	switch class {
	case "alpha":
		return lower || upper
	case "digit":
		return digit
	case "alnum":
		return digit || lower || upper
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return r == ' ' || r >= '\t' && r <= '\r'
	case "xdigit":
		return digit || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
	case "punct":
		return r > ' ' && r < 0x7f && !digit && !lower && !upper
	}
	return false
}

// Stack is what the ignore files of a folder and of those above it say. The zero value ignores nothing; a Stack is immutable.
type Stack struct {
	up     *Stack
	prefix string // path of the folder, with a final slash; "" for the root
	lists  []List // in ascending order of weight
}

// Push returns the stack of a folder (its path, "" for the root) below one that s is the stack of, with its ignore files' lists in
// ascending order of weight.
func (s *Stack) Push(folder string, lists ...List) *Stack {
	if folder != "" {
		folder += "/"
	}
	return &Stack{up: s, prefix: folder, lists: lists}
}

// Ignored tells whether a path in the folder of the stack is ignored: a list of greater weight rules over one of less weight in any
// folder, and among lists of one weight that of the deeper folder. Folders above the path are taken not to be ignored: who walks does
// not enter those that are.
func (s *Stack) Ignored(path string, dir bool) bool {
	weights := 0
	for at := s; at != nil; at = at.up {
		weights = max(weights, len(at.lists))
	}
	for w := weights - 1; w >= 0; w-- {
		for at := s; at != nil; at = at.up {
			if w < len(at.lists) {
				if ignored, ok := at.lists[w].Match(strings.TrimPrefix(path, at.prefix), dir); ok {
					return ignored
				}
			}
		}
	}
	return false
}
