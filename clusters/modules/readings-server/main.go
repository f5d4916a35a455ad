// Command readings-server is a Prometheus whose every sample is chosen by the tests: the HTTP API over the
// real PromQL engine, with series that are described, and replaced all at once by one line of standard input.
//
//	main.go     start and end of the process
//	api.go      the HTTP API, and changes of the series
//	about.go    information about targets, metrics and rules
//	reads.go    what an expression reads
//	series.go   the series, as the engine reads them
//	targets.go  their labels
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// version is the version of the engine; the linker sets it.
var version = "unknown"

func main() {
	descriptor := flag.Int("listen-fd", -1, "an inherited descriptor, of a listening socket")
	address := flag.String("listen", "127.0.0.1:0", "the address to listen on, if there is no such socket")
	asked := flag.Bool("version", false, "print the version of the engine, and exit")
	flag.Parse()
	if *asked {
		fmt.Printf("readings-server, version %s\n", version)
		return
	}
	api := newAPI()
	// Standard input is a socket, which is written to as well. The starting process has the other end: when it ends, this
	// process ends, too.
	go func() {
		if err := api.follow(os.Stdin, os.Stdin); err != io.EOF {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, serve(*descriptor, *address, api.handler()))
	os.Exit(1)
}

func serve(descriptor int, address string, handler http.Handler) error {
	listen := func() (net.Listener, error) { return net.Listen("tcp", address) }
	if descriptor >= 0 {
		listen = func() (net.Listener, error) { return net.FileListener(os.NewFile(uintptr(descriptor), "listener")) }
	}
	listener, err := listen()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on %s\n", listener.Addr())
	return http.Serve(listener, handler)
}
