// Command driver creates, watches, binds and deletes pods and nodes for a benchmark, faster than a scheduler can follow,
// and stamps every moment. It reads commands as lines of JSON, and answers each with one line.
//
//	main.go      start and end of the process
//	lines.go     input of commands, output of answers
//	commands.go  arguments and results of each command
//	clock.go     the clock
//	api.go       requests to the apiserver
//	transport.go their HTTP transport
//	record.go    the record of all pods
//	watch.go     the watch that fills the record
//	pods.go      creating and binding pods
//	objects.go   namespaces and nodes; deleting
//	churn.go     objects that are created and deleted during a measurement
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
)

// version is the version of the Kubernetes modules; the linker sets it.
var version = "unknown"

func main() {
	asked := flag.Bool("version", false, "print the version of the Kubernetes modules, and exit")
	flag.Parse()
	if *asked {
		fmt.Printf("driver, version %s\n", version)
		return
	}
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	log.Fatal(serve(os.Stdin))
}
