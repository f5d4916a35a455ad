package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// idleMost is for how long an unused connection is kept. The apiserver closes it after 90 s.
const idleMost = 60 * time.Second

// direct is a transport over connections of HTTP/1.1, each of which is used by the goroutine that makes the request.
// net/http's own hands every request, and its answer, from goroutine to goroutine; that takes twice as much of
// a processor, which is taken from the scheduler that is measured.
type direct struct {
	address string
	secure  *tls.Config // nil: not encrypted
	mutex   sync.Mutex
	idle    []*connection // the one that was used last is at the end
}

// connection is for one request at a time.
type connection struct {
	net.Conn
	reader *bufio.Reader
	writer *bufio.Writer
	used   time.Time
}

// RoundTrip reads the whole answer.
func (d *direct) RoundTrip(request *http.Request) (*http.Response, error) {
	line, fresh, err := d.take(request.Context())
	if err != nil {
		return nil, err
	}
	answer, err := line.exchange(request)
	if err != nil {
		line.Close()
		d.closeIdle() // they are as old as this one
		if fresh || request.Method == http.MethodPost || request.Context().Err() != nil {
			return nil, err
		}
		// It may have been closed while it was idle, and to ask for this twice does no harm.
		if request.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
		return d.RoundTrip(request)
	}
	if answer.Close {
		line.Close()
		return answer, nil
	}
	line.used = time.Now()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.idle = append(d.idle, line)
	return answer, nil
}

func (d *direct) closeIdle() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, line := range d.idle {
		line.Close()
	}
	d.idle = nil
}

// take returns a connection, and whether it was never used before.
func (d *direct) take(ctx context.Context) (*connection, bool, error) {
	d.mutex.Lock()
	for len(d.idle) > 0 {
		last := d.idle[len(d.idle)-1]
		d.idle = d.idle[:len(d.idle)-1]
		if time.Since(last.used) < idleMost {
			d.mutex.Unlock()
			return last, false, nil
		}
		last.Close()
	}
	d.mutex.Unlock()
	dial := (&net.Dialer{}).DialContext
	if d.secure != nil {
		dial = (&tls.Dialer{Config: d.secure}).DialContext
	}
	opened, err := dial(ctx, "tcp", d.address)
	if err != nil {
		return nil, false, err
	}
	return &connection{
		Conn: opened, reader: bufio.NewReaderSize(opened, 1<<14), writer: bufio.NewWriterSize(opened, 1<<14),
	}, true, nil
}

func (c *connection) exchange(request *http.Request) (*http.Response, error) {
	stop := context.AfterFunc(request.Context(), func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	answer, err := c.ask(request)
	if !stop() { // the next request on this connection would have that deadline
		return nil, context.Cause(request.Context())
	}
	return answer, err
}

func (c *connection) ask(request *http.Request) (*http.Response, error) {
	if err := request.Write(c.writer); err != nil {
		return nil, err
	}
	if err := c.writer.Flush(); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(c.reader, request)
	if err != nil {
		return nil, err
	}
	said, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(said))
	return answer, err
}
