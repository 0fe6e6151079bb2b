package read

import (
	"bytes"
	"errors"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"github.com/exhibit-rag/exhibit/read/internal/charset"
)

// binary is the media type of data that is neither text nor of a known format.
const binary = "application/octet-stream"

// sniffed is how many bytes of a file are looked at to tell its type.
const sniffed = 64 << 10

// Detect names the media type of a file by its content, and where that is text of no certain kind, by the extension of its path. It
// never fails: what nothing is known about is text/plain or application/octet-stream.
//
// Markdown, MDX and source code are told by their extension, since they look like plain text (or begin like a web page); a text without
// a known extension is a web page, JSON or XML if it begins like one. The mark of a binary format, such as MZ or GIF89a, in a file that
// is named as text counts for nothing where all of the sample is text.
func Detect(path string, data []byte) string {
	data = data[:min(len(data), sniffed)]
	m := mimetype.Detect(data)
	if !isText(m) {
		switch {
		case m.Is(binary) && decodes(data):
			return byName(path, "text/plain")
		case typeOfName(path) != "" && isClean(data) && !bytes.HasPrefix(data, []byte("%PDF-")):
			return byName(path, plainType(m.String()))
		}
		return plainType(m.String())
	}
	return byName(path, plainType(m.String()))
}

// byName settles the type of a text that looks like found.
func byName(name, found string) string {
	named := typeOfName(name)
	switch {
	case named == "" || named == "text/plain" && found == "text/html":
		return textType(found)
	case named == "text/html" && found == "application/xhtml+xml":
		return found
	case found == "text/rtf" || found == "image/svg+xml" && !isLines(named):
		return found // no one reads the markup of these as text
	}
	return named
}

// textType maps what the content looks like to a type that some reader reads.
func textType(found string) string {
	switch found {
	case "text/rtf", "image/svg+xml", "text/html", "application/xhtml+xml", "text/vtt", "application/x-subrip":
		return found
	}
	if isLines(found) {
		return found
	}
	return "text/plain"
}

// decodes tells whether data that looks binary is text in some encoding. A sample may end inside a character.
func decodes(data []byte) bool {
	t, err := charset.Decode(data, "")
	if errors.Is(err, charset.ErrBinary) {
		return false
	}
	control := 0
	for _, r := range t.Text {
		if isControl(r) {
			control++
		}
	}
	return control*100 <= len(t.Text)
}

// isClean tells whether data is UTF-8 without control characters, which no file of a binary format is. Its last character may be cut.
func isClean(data []byte) bool {
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 {
			return !utf8.FullRune(data)
		}
		if isControl(r) {
			return false
		}
		data = data[n:]
	}
	return true
}

func isControl(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != 0x1b
}

func isText(m *mimetype.MIME) bool {
	for ; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
}

func plainType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return s
}

// isLines tells whether a media type is read by lines: source code, configuration, data and logs.
func isLines(mediaType string) bool {
	switch mediaType {
	case "application/json", "application/x-ndjson", "application/geo+json", "application/xml", "text/xml", "application/yaml", "application/toml", "text/csv",
		"text/tab-separated-values", "text/javascript", "application/javascript", "text/x-log", "text/css":
		return true
	case "text/x-rst", "text/x-asciidoc", "text/x-org", "text/x-tex":
		return false
	}
	return strings.HasPrefix(mediaType, "text/x-")
}

// typeOfName returns the type that a file's name stands for, or "" where it tells nothing.
func typeOfName(name string) string {
	base := strings.ToLower(path.Base(filepath.ToSlash(name)))
	ext := strings.TrimPrefix(path.Ext(base), ".")
	switch ext {
	case "md", "markdown", "mdown", "mkd", "mkdn", "qmd", "rmd":
		return "text/markdown"
	case "mdx":
		return "text/mdx"
	case "html", "htm", "xhtml":
		return "text/html"
	case "txt", "text":
		return "text/plain"
	case "rst", "rest":
		return "text/x-rst"
	case "adoc", "asciidoc":
		return "text/x-asciidoc"
	case "org":
		return "text/x-org"
	case "tex", "latex", "ltx", "sty", "bib":
		return "text/x-tex"
	case "csv":
		return "text/csv"
	case "tsv", "tab":
		return "text/tab-separated-values"
	case "json", "json5", "jsonc", "webmanifest":
		return "application/json"
	case "jsonl", "ndjson":
		return "application/x-ndjson"
	case "ipynb":
		return "application/x-ipynb+json"
	case "xml", "xsd", "xsl", "xslt", "rss", "atom", "plist", "wsdl":
		return "application/xml"
	case "yaml", "yml":
		return "application/yaml"
	case "toml":
		return "application/toml"
	case "eml":
		return "message/rfc822"
	case "srt":
		return "application/x-subrip"
	case "vtt":
		return "text/vtt"
	case "log":
		return "text/x-log"
	case "css":
		return "text/css"
	}
	if l := language(ext); l != "" {
		return "text/x-" + l
	}
	switch base {
	case "makefile", "gnumakefile", "dockerfile", "containerfile", "vagrantfile", "rakefile", "gemfile", "procfile", "jenkinsfile", "justfile", "cmakelists.txt":
		return "text/x-" + strings.TrimSuffix(base, "s.txt")
	}
	return ""
}

// language returns the language of source code or configuration that a file extension stands for, or "".
func language(ext string) string {
	switch ext {
	case "go", "java", "scala", "swift", "lua", "php", "dart", "zig", "nim", "sql", "proto", "graphql", "vue", "svelte", "astro", "r", "d", "diff", "patch",
		"awk", "sed", "tcl", "ini", "conf", "cfg", "properties", "env", "gradle", "groovy", "cmake", "nix", "tf", "hcl", "vb", "pas", "f90", "f", "asm", "bat", "v",
		"sol", "elm", "cr", "coffee", "less", "scss", "sass", "thrift", "rego", "cue", "dhall", "bzl", "mod", "sum", "service", "editorconfig", "gitignore":
		return ext
	case "py", "pyi", "pyx":
		return "python"
	case "js", "mjs", "cjs", "jsx":
		return "javascript"
	case "ts", "tsx", "mts", "cts":
		return "typescript"
	case "c", "h":
		return "c"
	case "cc", "cpp", "cxx", "hpp", "hh", "hxx", "ino":
		return "cpp"
	case "cs":
		return "csharp"
	case "rs":
		return "rust"
	case "rb":
		return "ruby"
	case "kt", "kts":
		return "kotlin"
	case "sh", "bash", "zsh", "fish", "ksh":
		return "shell"
	case "ps1", "psm1":
		return "powershell"
	case "pl", "pm":
		return "perl"
	case "hs", "lhs":
		return "haskell"
	case "ml", "mli":
		return "ocaml"
	case "fs", "fsx":
		return "fsharp"
	case "ex", "exs":
		return "elixir"
	case "erl", "hrl":
		return "erlang"
	case "clj", "cljs", "cljc", "edn":
		return "clojure"
	case "lisp", "el", "scm", "rkt":
		return "lisp"
	case "jl":
		return "julia"
	case "m", "mm":
		return "objc"
	case "s":
		return "asm"
	}
	return ""
}
