package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// Rule 7: nothing happens at import.
func noInit(r *tree, errorf reporter) {
	for _, s := range r.sources {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				errorf("%s: init", s.at(f))
			}
		}
	}
}

// variables are package variables that the rule below would refuse, each with its reason.
func variables() map[string]string {
	return map[string]string{}
}

// Rule 7: no mutable package variable. What may stand there: an error, a compile-time guard, an embedded file, and a
// table that nothing in its package writes to, as an array or a struct of values.
func noPackageState(r *tree, errorf reporter) {
	written := map[string]map[string]bool{} // by folder: names that are assigned, counted or whose address is taken
	for _, s := range r.sources {
		if written[s.dir] == nil {
			written[s.dir] = map[string]bool{}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool { markWritten(n, written[s.dir]); return true })
	}
	for _, s := range r.sources {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if name.Name == "_" || variables()[s.dir+"."+name.Name] != "" {
						continue
					}
					if why := refuseVariable(s, g, v, i, written[s.dir]); why != "" {
						errorf("%s: package variable %s: %s", s.at(name), name.Name, why)
					}
				}
			}
		}
	}
}

func markWritten(n ast.Node, names map[string]bool) {
	mark := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.Ident:
				names[x.Name] = true
				return
			case *ast.IndexExpr:
				e = x.X
			case *ast.SelectorExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			default:
				return
			}
		}
	}
	switch x := n.(type) {
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			for _, e := range x.Lhs {
				mark(e)
			}
		}
	case *ast.IncDecStmt:
		mark(x.X)
	case *ast.UnaryExpr:
		if _, literal := x.X.(*ast.CompositeLit); x.Op == token.AND && !literal {
			mark(x.X)
		}
	}
}

// refuseVariable returns why a package variable may not be, and "" where it may.
func refuseVariable(s *source, g *ast.GenDecl, v *ast.ValueSpec, i int, written map[string]bool) string {
	for _, doc := range []*ast.CommentGroup{g.Doc, v.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return ""
		}
	}
	if i >= len(v.Values) {
		return "it has no value of its own"
	}
	name := v.Names[i].Name
	switch x := v.Values[i].(type) {
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.SelectorExpr); ok {
			if p, ok := f.X.(*ast.Ident); ok && (p.Name == "errors" && f.Sel.Name == "New" || p.Name == "fmt" && f.Sel.Name == "Errorf") {
				if written[name] {
					return "an error that is written to"
				}
				return ""
			}
		}
		return "it is made by a call"
	case *ast.CompositeLit:
		switch kind := x.Type.(type) {
		case *ast.MapType:
			return "a map; make it a function with a switch, or one that returns it"
		case *ast.ArrayType:
			if kind.Len == nil {
				return "a slice; make it an array or a function that returns it"
			}
		}
		if written[name] {
			return "the package writes to it, or takes its address"
		}
		return ""
	}
	return "neither an error, a guard, an embedded file nor a table"
}

// Rule 3: only commands read flags and the environment, and only they exit.
func onlyCommandsReadFlagsAndExit(r *tree, errorf reporter) {
	exceptions := map[string]string{
		"internal/sharedtest os.Getenv": "finds the shared test data for tests",
	}
	for _, s := range r.sources {
		if s.test || s.main() {
			continue
		}
		if slices.Contains(s.imports(), "flag") {
			errorf("%s imports flag", s.path)
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			p, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			name := p.Name + "." + sel.Sel.Name
			switch name {
			case "os.Exit", "os.Getenv", "os.LookupEnv", "os.Environ", "os.Args", "os.Setenv", "log.Fatal", "log.Fatalf", "log.Fatalln", "syscall.Exit", "syscall.Getenv":
				if exceptions[s.dir+" "+name] == "" {
					errorf("%s: %s outside a command", s.at(n), name)
				}
			}
			return true
		})
	}
}

// What is embedded is in every binary; the list says where that may be.
func embeddedFiles(r *tree, errorf reporter) {
	allowed := map[string]string{
		"models/e5small": "the default encoder's weights",
		"internal/web":   "the explorer's pages",
	}
	for _, s := range r.sources {
		for _, group := range s.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:embed ") && allowed[s.dir] == "" {
					errorf("%s: %s", s.at(c), c.Text)
				}
			}
		}
	}
}
