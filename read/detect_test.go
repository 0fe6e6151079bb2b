package read

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/exhibit-rag/exhibit"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct{ path, data, want string }{
		{"a.md", "<p align=center>", "text/markdown"}, {"a.MD", "x", "text/markdown"}, {"a.mdx", "import x", "text/mdx"},
		{"a.txt", "words", "text/plain"}, {"a.txt", "<!DOCTYPE html><html><body>x", "text/html"}, {"a", "<html><body>x", "text/html"}, {"a.html", "just words", "text/html"},
		{"a", "words", "text/plain"}, {"a.unknown", "words", "text/plain"}, {"a", `{"a": [1, 2]}`, "application/json"}, {"a", "<?xml version='1.0'?><a/>", "text/xml"},
		{"a.go", "package a", "text/x-go"}, {"a.py", "#!/usr/bin/env python\n", "text/x-python"}, {"a.ts", "let x", "text/x-typescript"}, {"Makefile", "all:\n", "text/x-makefile"},
		{"a.csv", "a,b\n1,2\n", "text/csv"}, {"a.tsv", "a\tb\n", "text/tab-separated-values"}, {"a.yaml", "a: b", "application/yaml"}, {"a.log", "x", "text/x-log"},
		{"a.svg", "<svg xmlns='http://www.w3.org/2000/svg'></svg>", "image/svg+xml"}, {"a.rtf", `{\rtf1 x}`, "text/rtf"}, {"a.ipynb", "{}", "application/x-ipynb+json"},
		{"a.md", "\x89PNG\r\n\x1a\n\x00\x00", "image/png"}, {"a.txt", "%PDF-1.7\n%\xe2\xe3\n", "application/pdf"}, {"a.md", "PK\x03\x04\x14\x00", "application/zip"},
		{"a.txt", "h\x00e\x00l\x00l\x00o\x00 \x00", "text/plain"}, {"a.md", "\xff\xfeh\x00e\x00l\x00l\x00o\x00", "text/markdown"}, {"a", "\x00\x01\x02\x03\x04", "application/octet-stream"},
		{"a.txt", "caf\xe9 au lait", "text/plain"}, {"a.md", "\xef\xbb\xbf# A", "text/markdown"},
	} {
		if got := Detect(c.path, []byte(c.data)); got != c.want {
			t.Errorf("%s with %.20q: %s, want %s", c.path, c.data, got, c.want)
		}
	}
}

func TestDefaultRefuses(t *testing.T) {
	for _, c := range []struct {
		path, data string
		is         error
		says       string
	}{
		{"a.pdf", "%PDF-1.7\n%\xe2\xe3\n", exhibit.ErrUnsupportedMedia, "application/pdf"},
		{"a.bin", "\x00\x01\x02\x03\x04", exhibit.ErrUnsupportedMedia, "binary"},
		{"a.md", "", exhibit.ErrNoText, "a.md"}, {"a.txt", " \r\n\t", exhibit.ErrNoText, "a.txt"}, {"a.html", "<script>x</script>", exhibit.ErrNoText, "a.html"},
		{"a.go", "\n", exhibit.ErrNoText, "a.go"}, {"a.txt", "\u200b\ufeff", exhibit.ErrNoText, "a.txt"},
	} {
		_, err := Default().Read(context.Background(), exhibit.Source{DocID: c.path, Path: c.path, Data: []byte(c.data)})
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || exhibit.HintOf(err) == "" {
			t.Errorf("%s: %v (hint %q)", c.path, err, exhibit.HintOf(err))
		}
	}
}

func TestCase_40_file_without_text_is_a_failure(t *testing.T) {
	for _, path := range []string{"a.md", "a.txt", "a.html", "a.csv", "a.py"} {
		for _, data := range []string{"", "\n\n", "\ufeff \t"} {
			if _, err := Default().Read(context.Background(), exhibit.Source{DocID: path, Data: []byte(data)}); !errors.Is(err, exhibit.ErrNoText) {
				t.Errorf("%s of %q: %v", path, data, err)
			}
		}
	}
}

func TestDetectTextThatBeginsLikeABinaryFormat(t *testing.T) {
	for _, tc := range []struct{ path, data, want string }{
		{"mz.md", "MZ is the mark of a program.\n", "text/markdown"},
		{"gif.txt", "GIF89a is a format of images.\n", "text/plain"},
		{"swf.md", "FWS and CWS — both are Flash.\n", "text/markdown"},
		{"sniff.py", "# coding: utf-8\nMARK = '%PDF-1.7'\n", "text/x-python"},
		{"pdf.md", "A file begins with `%PDF-1.7`.\n", "text/markdown"},
		{"cut.md", "MZ " + strings.Repeat("é", sniffed), "text/markdown"},
		{"real.md", "%PDF-1.7\n1 0 obj\n<< >>\nendobj\n", "application/pdf"},
		{"real.txt", "GIF89a\x01\x00\x01\x00\x80\x00\x00", "image/gif"},
		{"rich.md", "{\\rtf1 hello}\n", "text/rtf"},
		{"noname", "MZ is the mark of a program.\n", "application/vnd.microsoft.portable-executable"},
	} {
		if got := Detect(tc.path, []byte(tc.data)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.path, got, tc.want)
		}
	}
}
