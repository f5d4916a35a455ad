// Command tls reads lines of JSON (an authority, a name, a server's certificates and key), and prints for each why a Go
// client that trusts the authority does not accept the server under that name; "" if it accepts it. The client is
// configured as by client-go's TLSConfigFor, which kube-scheduler calls for its extenders.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"log"
	"os"
)

type question struct {
	Authority    string `json:"authority"`
	Name         string `json:"name"`
	Certificates string `json:"certificates"`
	Key          string `json:"key"`
}

func refusal(asked question) string {
	pair, err := tls.X509KeyPair([]byte(asked.Certificates), []byte(asked.Key))
	if err != nil {
		return err.Error()
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(asked.Authority))
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if connection, err := listener.Accept(); err == nil {
			_ = connection.(*tls.Conn).Handshake()
			connection.Close()
		}
	}()
	client := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: asked.Name}
	connection, err := tls.Dial("tcp", listener.Addr().String(), client)
	if err != nil {
		return err.Error()
	}
	connection.Close()
	return ""
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for in.More() {
		var asked question
		if err := in.Decode(&asked); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(refusal(asked)); err != nil {
			log.Fatal(err)
		}
	}
}
