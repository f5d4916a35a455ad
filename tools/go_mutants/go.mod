module schedproof.dev/tools/go_mutants

go 1.26.0

require (
	github.com/zimmski/go-mutesting v0.0.0-20210610104036-6d9217011a00
	golang.org/x/tools v0.38.0
)

require (
	golang.org/x/mod v0.29.0 // indirect
	golang.org/x/sync v0.17.0 // indirect
)
