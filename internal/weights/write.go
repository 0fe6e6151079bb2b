package weights

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Write writes a container that [Open] reads, with the sections in the order given. The same input gives the same bytes.
// It refuses a configuration or section that Open would refuse, and a scale that is not finite, before it writes anything.
func Write(w io.Writer, config Config, sections []Section) error {
	if err := config.validate(); err != nil {
		return err
	}
	if len(sections) > maxSections {
		return fmt.Errorf("weights: %d sections, at most %d are possible", len(sections), maxSections)
	}
	head := append([]byte(magic), make([]byte, 0, headerSize+len(sections)*entrySize)...)
	head = put32(head, Version)
	head = put32(head, uint32(len(sections)))
	for _, field := range config.ints() {
		if field == nil {
			head = put32(head, math.Float32bits(config.Eps))
			continue
		}
		head = put32(head, uint32(*field))
	}
	seen := make(map[string]bool, len(sections))
	offset := aligned(headerSize + len(sections)*entrySize)
	for _, s := range sections {
		if seen[s.Name] {
			return fmt.Errorf("weights: section %q is given twice", s.Name)
		}
		seen[s.Name] = true
		if err := s.check(); err != nil {
			return err
		}
		head = s.appendEntry(head, offset)
		offset = aligned(offset + len(s.Data))
	}
	return writeParts(w, head, sections)
}

// writeParts writes the header and the data of the sections, each after the zeros that align it.
func writeParts(w io.Writer, head []byte, sections []Section) error {
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("weights: write header: %w", err)
	}
	var zeros [alignment]byte
	at := len(head)
	for _, s := range sections {
		if _, err := w.Write(zeros[:aligned(at)-at]); err != nil {
			return fmt.Errorf("weights: write section %q: %w", s.Name, err)
		}
		if _, err := io.WriteString(w, s.Data); err != nil {
			return fmt.Errorf("weights: write section %q: %w", s.Name, err)
		}
		at = aligned(at) + len(s.Data)
	}
	return nil
}

// check reports a section that its shape does not fit, or whose scales are not finite.
func (s Section) check() error {
	if err := s.checkShape(); err != nil {
		return err
	}
	if int64(len(s.Data)) != s.size() {
		return fmt.Errorf("weights: section %q is given %d bytes, its shape needs %d", s.Name, len(s.Data), s.size())
	}
	if s.Kind != Q4 {
		return nil
	}
	for at := 0; at < len(s.Data); at += blockBytes {
		if s.Data[at+1]&0x7c == 0x7c {
			return fmt.Errorf("weights: section %q has a scale that is not finite in block %d", s.Name, at/blockBytes)
		}
	}
	return nil
}

// appendEntry appends the section's directory entry.
func (s Section) appendEntry(b []byte, offset int) []byte {
	var name [nameSize]byte
	copy(name[:], s.Name)
	b = append(b, name[:]...)
	for _, v := range []uint32{uint32(s.Kind), uint32(s.Rows), uint32(s.Cols), 0} {
		b = put32(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(offset))
	return binary.LittleEndian.AppendUint64(b, uint64(len(s.Data)))
}

// aligned rounds n up to the next place where a section may start.
func aligned(n int) int { return (n + alignment - 1) &^ (alignment - 1) }
