// Program go_mutants writes changed copies of the files of Go packages, one change in each, for `tools/power.py`.
//
//	go_mutants -sample N -seed N -out FOLDER PACKAGE...
//
// Run it in the folder of a module. The changes are those of go-mutesting (a branch or statement without effect, an
// operand or a boundary left out), and those of `negate`. Of all changes of all packages, a random sample is taken.
// For each of them, FOLDER gets a Go file, and standard output a line of JSON: package, file, mutator, and the two
// files, unchanged and changed, in the same layout.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"sort"

	"github.com/zimmski/go-mutesting"
	"github.com/zimmski/go-mutesting/mutator"
	_ "github.com/zimmski/go-mutesting/mutator/branch"
	_ "github.com/zimmski/go-mutesting/mutator/expression"
	_ "github.com/zimmski/go-mutesting/mutator/statement"
	"golang.org/x/tools/go/packages"
)

// A Change is one place that one mutator can change.
type Change struct {
	Package string `json:"package"`
	File    string `json:"file"`
	Mutator string `json:"mutator"`
	// Number counts the changes of a mutator in a file, from 0.
	Number  int    `json:"number"`
	Before  string `json:"before"`
	After   string `json:"after"`
	pkg     *packages.Package
	syntax  *ast.File
	mutator mutator.Mutator
}

var opposite = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD, token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
}

// negate turns an operator into its opposite, and true into false. It leaves texts as they are.
func negate(_ *types.Package, info *types.Info, node ast.Node) []mutator.Mutation {
	exchange := func(operator *token.Token) []mutator.Mutation {
		before, after := *operator, opposite[*operator]
		if after == token.ILLEGAL {
			return nil
		}
		return []mutator.Mutation{{Change: func() { *operator = after }, Reset: func() { *operator = before }}}
	}
	switch node := node.(type) {
	case *ast.BinaryExpr:
		if basic, ok := info.TypeOf(node.X).Underlying().(*types.Basic); ok && basic.Info()&types.IsString != 0 && node.Op == token.ADD {
			return nil
		}
		return exchange(&node.Op)
	case *ast.AssignStmt:
		return exchange(&node.Tok)
	case *ast.Ident:
		other := map[string]string{"true": "false", "false": "true"}[node.Name]
		if before := node.Name; other != "" && info.Uses[node] == types.Universe.Lookup(before) {
			return []mutator.Mutation{{Change: func() { node.Name = other }, Reset: func() { node.Name = before }}}
		}
	}
	return nil
}

func main() {
	sample, seed := flag.Int("sample", 200, "number of changes"), flag.Int64("seed", 1, "seed of the sample")
	out := flag.String("out", "", "folder of the changed files")
	flag.Parse()
	mutator.Register("expression/negate", negate)
	mode := packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
		packages.NeedImports | packages.NeedDeps
	loaded, err := packages.Load(&packages.Config{Mode: mode &^ packages.NeedDeps}, flag.Args()...)
	if err != nil || packages.PrintErrors(loaded) > 0 {
		log.Fatalf("cannot load %v: %v", flag.Args(), err)
	}
	changes := all(loaded)
	rand.New(rand.NewSource(*seed)).Shuffle(len(changes), func(a, b int) {
		changes[a], changes[b] = changes[b], changes[a]
	})
	lines := json.NewEncoder(os.Stdout)
	for number, change := range changes[:min(*sample, len(changes))] {
		change.write(filepath.Join(*out, fmt.Sprint(number)))
		if err := lines.Encode(change); err != nil {
			log.Fatal(err)
		}
	}
}

// all returns every change of the packages, in a fixed order.
func all(loaded []*packages.Package) []*Change {
	sort.Slice(loaded, func(a, b int) bool { return loaded[a].PkgPath < loaded[b].PkgPath })
	names := mutator.List()
	sort.Strings(names)
	var found []*Change
	for _, pkg := range loaded {
		for _, syntax := range pkg.Syntax {
			for _, name := range names {
				change, _ := mutator.New(name)
				for number := range mutesting.CountWalk(pkg.Types, pkg.TypesInfo, syntax, change) {
					file := pkg.Fset.Position(syntax.Pos()).Filename
					found = append(found, &Change{
						Package: pkg.PkgPath, File: file, Mutator: name, Number: number,
						pkg: pkg, syntax: syntax, mutator: change,
					})
				}
			}
		}
	}
	return found
}

// write writes the file of the change, unchanged and changed.
func (c *Change) write(stem string) {
	c.Before, c.After = stem+".before.go", stem+".after.go"
	c.print(c.Before)
	step := mutesting.MutateWalk(c.pkg.Types, c.pkg.TypesInfo, c.syntax, c.mutator)
	for number := 0; ; number++ {
		if _, open := <-step; !open {
			return
		}
		if number == c.Number {
			c.print(c.After)
		}
		step <- true
		<-step
		step <- true
	}
}

func (c *Change) print(path string) {
	var text bytes.Buffer
	if err := printer.Fprint(&text, c.pkg.Fset, c.syntax); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		log.Fatal(err)
	}
}
