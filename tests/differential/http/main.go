// Sends each request of its input as kube-scheduler sends it to an extender, and prints what it receives.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Question is a POST, sent so many times by one client, with so many milliseconds between.
type Question struct {
	URL   string
	Body  string
	Times int
	Pause int
}

// Answer is a response, of which kube-scheduler reads the first JSON value.
type Answer struct {
	Status int
	Body   string
	Error  string
}

// client is as of makeTransport (pkg/scheduler/extender.go) and SetTransportDefaults (apimachinery).
func client() *http.Client {
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			TLSClientConfig:     &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:   true,
		},
	}
}

func post(client *http.Client, question Question) Answer {
	request, err := http.NewRequest("POST", question.URL, bytes.NewReader([]byte(question.Body)))
	if err != nil {
		return Answer{Error: err.Error()}
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	defer response.Body.Close()
	answer := Answer{Status: response.StatusCode}
	var list json.RawMessage
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		answer.Error = err.Error()
	}
	answer.Body = string(list)
	return answer
}

func main() {
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		var question Question
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if err := json.Unmarshal(line, &question); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		answers, client := []Answer{}, client()
		for number := range question.Times {
			if number > 0 {
				time.Sleep(time.Duration(question.Pause) * time.Millisecond)
			}
			answers = append(answers, post(client, question))
		}
		out.Encode(answers)
	}
}
