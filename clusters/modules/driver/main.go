// Command driver creates, watches, binds and deletes pods and nodes for a benchmark, faster than a scheduler can follow,
// and stamps every moment. It reads commands as lines of JSON, and answers each with one line.
//
//	main.go      how it is started, and how it ends
//	lines.go     commands in, answers out
//	commands.go  what each command takes and answers
//	clock.go     the clock
//	api.go       requests to the apiserver
//	transport.go what they go over
//	record.go    what is known of every pod
//	watch.go     how it becomes known
//	pods.go      creating and binding pods
//	objects.go   namespaces and nodes; deleting
//	churn.go     objects that come and go beside what is measured
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
)

// version is that of the Kubernetes modules; the linker sets it.
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
