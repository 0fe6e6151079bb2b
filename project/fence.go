package project

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/exhibit-rag/exhibit"
)

const (
	nonceDigits    = 16
	noncesPerBlock = 2
	zeroNonce      = "0000000000000000"
	fenceWord      = "evidence"
)

// Nonce returns the nonce of an answer: the first 16 hex digits of HMAC-SHA-256, keyed with the secret, over the id of
// the lookup and the content hashes of the blocks in order. Who does not know the secret cannot know the nonce; the same
// answer always has the same one.
func Nonce(secret []byte, lookupID string, contentHashes []string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(lookupID))
	for _, h := range contentHashes {
		mac.Write([]byte(h))
	}
	return hex.EncodeToString(mac.Sum(nil))[:nonceDigits]
}

func fenceOpen(nonce string) string  { return "<<" + fenceWord + " " + nonce + ">>\n" }
func fenceClose(nonce string) string { return "\n<</" + fenceWord + " " + nonce + ">>" }

// fence writes a text between its two fence lines, without a line break at the end.
func fence(out *strings.Builder, text, nonce string) {
	out.WriteString(fenceOpen(nonce))
	out.WriteString(neutralise(text))
	out.WriteString(fenceClose(nonce))
}

// lookAlike reports whether at i there stands '<', some backslashes, '<', an optional '/' and "evidence" in any case
// of its ASCII letters, and how many backslashes there are.
func lookAlike(s string, i int) (backslashes int, ok bool) {
	j := i + 1
	for j < len(s) && s[j] == '\\' {
		j++
	}
	backslashes = j - i - 1
	if j >= len(s) || s[j] != '<' {
		return 0, false
	}
	rest := strings.TrimPrefix(s[j+1:], "/")
	return backslashes, len(rest) >= len(fenceWord) && strings.EqualFold(rest[:len(fenceWord)], fenceWord)
}

// neutralise puts one backslash more into everything that looks like a fence. restore undoes it.
func neutralise(s string) string {
	return rewrite(s, func(out *strings.Builder, _ int) int {
		out.WriteString(`<\`)
		return 1
	})
}

func restore(s string) string {
	return rewrite(s, func(out *strings.Builder, backslashes int) int {
		out.WriteByte('<')
		return 1 + min(backslashes, 1)
	})
}

// rewrite copies s; at each look-alike it lets write put something in place of as many bytes as write returns.
func rewrite(s string, write func(out *strings.Builder, backslashes int) int) string {
	var out strings.Builder
	from := 0
	for i := 0; ; {
		n := strings.IndexByte(s[i:], '<')
		if n < 0 {
			break
		}
		i += n
		if k, ok := lookAlike(s, i); ok {
			out.WriteString(s[from:i])
			i += write(&out, k)
			from = i
		} else {
			i++
		}
	}
	if from == 0 {
		return s
	}
	out.WriteString(s[from:])
	return out.String()
}

// Unfence returns the exact texts of the blocks in what was rendered as markdown, text or xml under a nonce. The error
// wraps ErrMalformed where fences do not come in well-formed pairs.
func Unfence(rendered, nonce string) ([]string, error) {
	texts, err := unfence(rendered, nonce)
	if err != nil {
		return nil, &exhibit.Error{Op: "unfence", Kind: exhibit.ErrMalformed, Err: err, Hint: "pass text and nonce of one projection, unchanged"}
	}
	return texts, nil
}

func unfence(rendered, nonce string) ([]string, error) {
	if rendered == "" || rendered == xmlEmpty+"\n" {
		return nil, nil
	}
	if len(nonce) != nonceDigits {
		return nil, fmt.Errorf("the nonce %q does not have %d digits", nonce, nonceDigits)
	}
	if strings.HasPrefix(rendered, xmlOpen+"\n") {
		return unfenceXML(rendered, nonce)
	}
	return unfencePlain(rendered, nonce)
}

func unfencePlain(rendered, nonce string) ([]string, error) {
	open, closing := fenceOpen(nonce), fenceClose(nonce)
	var texts []string
	for rest := "\n" + rendered; ; {
		before, inside, found := strings.Cut(rest, "\n"+open)
		if strings.Contains(before, closing) {
			return nil, errors.New("a fence is closed that was not opened")
		}
		if !found {
			if len(texts) == 0 {
				return nil, errors.New("no fence has this nonce")
			}
			return texts, nil
		}
		text, after, found := strings.Cut(inside, closing)
		if !found || after != "" && after[0] != '\n' {
			return nil, errors.New("a fence is not closed")
		}
		if strings.HasPrefix(text, open) || strings.Contains(text, "\n"+open) {
			return nil, errors.New("a fence is opened inside another")
		}
		texts = append(texts, restore(text))
		rest = after
	}
}
