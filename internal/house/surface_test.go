package house

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// Every package says what it is for.
func packageComments(r *tree, errorf reporter) {
	has, where := map[string]bool{}, map[string]string{}
	for _, s := range r.sources {
		if s.test {
			continue
		}
		where[s.dir] = s.path
		if s.ast.Doc != nil && strings.TrimSpace(s.ast.Doc.Text()) != "" {
			has[s.dir] = true
			first := "Package " + s.ast.Name.Name + " "
			if !s.main() && !strings.HasPrefix(s.ast.Doc.Text(), first) {
				errorf("%s: the package comment does not begin with %q", s.path, first)
			}
		}
	}
	for dir, file := range where {
		if !has[dir] {
			errorf("package %s has no package comment (%s)", dir, file)
		}
	}
}

// Every exported identifier has a doc comment; one above a group counts for its members. Error and Unwrap, which mean the
// same everywhere, need none.
func docComments(r *tree, errorf reporter) {
	for _, s := range r.sources {
		if s.test || s.main() {
			continue
		}
		for _, d := range s.ast.Decls {
			switch x := d.(type) {
			case *ast.FuncDecl:
				if x.Name.IsExported() && x.Doc == nil && exportedReceiver(x) && (x.Recv == nil || x.Name.Name != "Error" && x.Name.Name != "Unwrap") {
					errorf("%s: %s has no doc comment", s.at(x), x.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range x.Specs {
					for _, name := range undocumented(x, spec) {
						errorf("%s: %s has no doc comment", s.at(spec), name)
					}
				}
			}
		}
	}
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return true
	}
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

func undocumented(g *ast.GenDecl, spec ast.Spec) []string {
	var names []string
	switch x := spec.(type) {
	case *ast.TypeSpec:
		if x.Name.IsExported() && g.Doc == nil && x.Doc == nil {
			names = append(names, x.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range x.Names {
			if n.IsExported() && g.Doc == nil && x.Doc == nil && x.Comment == nil {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// exportedTypes calls visit with every type expression that a user of the package can see: parameters, results, and
// the exported fields and methods of exported types.
func exportedTypes(s *source, visit func(ast.Expr)) {
	fields := func(list *ast.FieldList, all bool) {
		if list == nil {
			return
		}
		for _, f := range list.List {
			if all || len(f.Names) == 0 || f.Names[0].IsExported() {
				visit(f.Type)
			}
		}
	}
	for _, d := range s.ast.Decls {
		switch x := d.(type) {
		case *ast.FuncDecl:
			if x.Name.IsExported() && exportedReceiver(x) {
				fields(x.Type.Params, true)
				fields(x.Type.Results, true)
			}
		case *ast.GenDecl:
			for _, spec := range x.Specs {
				switch y := spec.(type) {
				case *ast.TypeSpec:
					if !y.Name.IsExported() {
						continue
					}
					switch u := y.Type.(type) {
					case *ast.StructType:
						fields(u.Fields, false)
					case *ast.InterfaceType:
						fields(u.Methods, false)
					default:
						visit(u)
					}
				case *ast.ValueSpec:
					if x.Tok == token.VAR && y.Type != nil && y.Names[0].IsExported() {
						visit(y.Type)
					}
				}
			}
		}
	}
}

// Rule 7: metadata is typed, and so is all else that is exported.
func noUntypedMaps(r *tree, errorf reporter) {
	for _, s := range r.sources {
		if s.test || s.main() {
			continue
		}
		exportedTypes(s, func(e ast.Expr) {
			ast.Inspect(e, func(n ast.Node) bool {
				m, ok := n.(*ast.MapType)
				if !ok {
					return true
				}
				switch v := m.Value.(type) {
				case *ast.Ident:
					if v.Name == "any" {
						errorf("%s: map of any in an exported type", s.at(m))
					}
				case *ast.InterfaceType:
					if len(v.Methods.List) == 0 {
						errorf("%s: map of any in an exported type", s.at(m))
					}
				}
				return true
			})
		})
	}
}

// Rule 4: no type of another module shows in what users of this one see.
func noForeignTypesInSignatures(r *tree, errorf reporter) {
	for _, s := range r.sources {
		if s.test || s.main() || strings.Contains("/"+s.dir+"/", "/internal/") {
			continue
		}
		foreign := map[string]string{}
		for _, i := range s.ast.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			if !external(p) {
				continue
			}
			name := path.Base(p)
			if len(name) > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9' {
				name = path.Base(path.Dir(p))
			}
			if i.Name != nil {
				name = i.Name.Name
			}
			foreign[name] = p
		}
		exportedTypes(s, func(e ast.Expr) {
			ast.Inspect(e, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && foreign[x.Name] != "" {
						errorf("%s: %s.%s of %s in an exported signature", s.at(n), x.Name, sel.Sel.Name, foreign[x.Name])
					}
				}
				return true
			})
		})
	}
}
