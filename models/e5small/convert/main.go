// Command convert makes e5small.bin, the container that package e5small embeds, from the 4-bit weights as their source ships
// them and from the character map of a SentencePiece model file. It is run once for a new source, never by a build:
//
//	go run ./models/e5small/convert -weights e5-small-q4.bin -charsmap oracle.model -out models/e5small/e5small.bin
//
// where oracle.model is what `.ci/oracle/tokens.py model` writes. It prints the size and the SHA-256 of the result.
// The same input gives the same bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"

	"github.com/exhibit-rag/exhibit/internal/sentencepiece"
	"github.com/exhibit-rag/exhibit/internal/weights"
)

func main() {
	source := flag.String("weights", "", "the source's 4-bit weights, e5-small-q4.bin")
	model := flag.String("charsmap", "", "a SentencePiece model file with the nmt_nfkc character map")
	out := flag.String("out", "e5small.bin", "the container to write")
	flag.Parse()
	if *source == "" || *model == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*source, *model, *out); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func run(source, model, out string) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	src, err := readSource(data)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	proto, err := os.ReadFile(model)
	if err != nil {
		return err
	}
	charsmap, err := charsMap(proto)
	if err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	tokenizer, err := sentencepiece.Build(sentencepiece.Vocabulary{
		Pieces:   src.pieces,
		Scores:   src.scores,
		Control:  []int{src.config.BOS, src.config.EOS, src.config.PAD, src.config.UNK},
		CharsMap: charsmap,
	})
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := weights.Write(&buf, src.config, append(src.tensors, tokenizer...)); err != nil {
		return err
	}
	if err := os.WriteFile(out, buf.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, SHA-256 %x\n", out, buf.Len(), sha256.Sum256(buf.Bytes()))
	return nil
}
