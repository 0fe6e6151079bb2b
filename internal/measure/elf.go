package measure

import (
	"debug/elf"
	"fmt"
)

// Static reports what makes an ELF program need anything besides the kernel: an interpreter, a dynamic section, a
// library. An empty list means that it is static.
func Static(path string) ([]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var needs []string
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			needs = append(needs, p.Type.String())
		}
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return append(needs, libraries...), nil
}
