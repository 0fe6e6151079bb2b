package markdown

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/exhibit-rag/exhibit"
)

// maxFront is the most bytes of front matter; what is longer is text.
const maxFront = 64 << 10

// front is what stands before the text proper.
type front struct {
	end      int // offset after its last line
	title    string
	metadata exhibit.Metadata
	warnings []string
}

// parseFront reads front matter at the start of text. Lines between fences that are no mapping are ordinary text, and a warning says so
// where they look like one.
func parseFront(text string) front {
	for _, fence := range [...]string{"---", "+++"} {
		body, end := fenced(text, fence)
		if end == 0 {
			continue
		}
		f := front{end: end, metadata: exhibit.Metadata{}}
		if fence == "+++" {
			f.toml(body)
		} else if err := f.yaml(body); err != nil {
			return front{warnings: []string{fmt.Sprintf("front matter is not YAML and is read as text: %v", err)}}
		} else if len(f.metadata) == 0 && f.title == "" && strings.TrimSpace(body) != "" {
			return front{}
		}
		if t, ok := f.metadata["title"]; ok {
			f.title = strings.Join(strings.Fields(t.Text()), " ")
			delete(f.metadata, "title")
		}
		if len(f.metadata) == 0 {
			f.metadata = nil
		}
		return f
	}
	return front{}
}

// fenced returns the lines between an opening fence on the first line and the next fence, and the offset after that.
func fenced(text, fence string) (string, int) {
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || strings.TrimRight(first, " \t\r") != fence {
		return "", 0
	}
	pos := len(first) + 1
	start := pos
	for line := range strings.Lines(rest) {
		if trimmed := strings.TrimRight(line, " \t\r\n"); trimmed == fence || fence == "---" && trimmed == "..." {
			return text[start:pos], pos + len(line)
		}
		if pos += len(line); pos > maxFront {
			break
		}
	}
	return "", 0
}

func (f *front) yaml(body string) error {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(body), &root); err != nil {
		if strings.Contains(body, ":") {
			return err
		}
		return nil
	}
	if len(root.Content) == 1 && root.Content[0].Kind == yaml.MappingNode {
		f.mapping("", root.Content[0])
	}
	return nil
}

// mapping takes over the entries of a mapping; those of one inside another are named outer.inner. Aliases are left out: they could stand
// for any amount of text.
func (f *front) mapping(prefix string, node *yaml.Node) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := prefix + node.Content[i].Value
		switch v := node.Content[i+1]; v.Kind {
		case yaml.MappingNode:
			f.mapping(name+".", v)
		case yaml.SequenceNode:
			var list []exhibit.Value
			for _, m := range v.Content {
				if m.Kind == yaml.ScalarNode {
					list = append(list, scalar(m))
				}
			}
			f.metadata[name] = exhibit.List(list...)
		case yaml.ScalarNode:
			f.metadata[name] = scalar(v)
		}
	}
}

func scalar(n *yaml.Node) exhibit.Value {
	switch n.Tag {
	case "!!null":
		return exhibit.Value{}
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return exhibit.Bool(b)
		}
	case "!!int", "!!float":
		var v exhibit.Value
		if json.Valid([]byte(n.Value)) && v.UnmarshalJSON([]byte(n.Value)) == nil {
			return v
		}
		var x float64
		if n.Decode(&x) == nil {
			return exhibit.Number(x)
		}
	}
	return exhibit.String(n.Value)
}

// toml takes over the lines `name = "text"`, `name = 1` and `name = true`; tables, lists and all else are left out.
func (f *front) toml(body string) {
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			return // what follows belongs to a table
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, "#\"' ") {
			continue
		}
		switch {
		case len(value) > 1 && value[0] == '\'' && value[len(value)-1] == '\'':
			f.metadata[name] = exhibit.String(value[1 : len(value)-1])
		case len(value) > 1 && value[0] == '"':
			if s, err := strconv.Unquote(value); err == nil {
				f.metadata[name] = exhibit.String(s)
			}
		default:
			var v exhibit.Value
			if value != "" && value[0] != '[' && value[0] != '{' && json.Valid([]byte(value)) && v.UnmarshalJSON([]byte(value)) == nil {
				f.metadata[name] = v
			}
		}
	}
}
