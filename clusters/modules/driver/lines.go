package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// command is one line that was read. What else it says depends on op.
type command struct {
	ID  int64  `json:"id"` // rises from line to line; the answer has the same
	Op  string `json:"op"`
	raw []byte
}

// take reads what the command says beside id and op.
func (c command) take(into any) error {
	return json.Unmarshal(c.raw, into)
}

var errCancelled = errors.New("cancelled")

// pending holds commands that were read and not yet taken. It has no bound: the writing process never blocks.
type pending struct {
	mutex     sync.Mutex
	more      *sync.Cond
	commands  []command
	running   int64
	cancel    context.CancelCauseFunc // of the one that is running
	cancelled int64                   // this command and those before it are cancelled
}

// serve answers commands, one after the other. The socket is for both directions.
func serve(socket *os.File) error {
	queue := readLines(socket)
	answers := json.NewEncoder(socket)
	driver := newDriver()
	for {
		ctx, next := queue.next()
		answer, err := driver.do(ctx, next)
		if err != nil {
			if context.Cause(ctx) != nil {
				err = context.Cause(ctx)
			}
			answer = map[string]any{"error": fmt.Sprintf("%s: %v", next.Op, err)}
		}
		if answer == nil {
			answer = map[string]any{}
		}
		answer["id"] = next.ID
		if err := answers.Encode(answer); err != nil {
			return fmt.Errorf("expected a socket as standard input, because this program is for schedproof: %w", err)
		}
	}
}

// readLines ends the process at the end of its input, whatever it is doing then: it must not outlive the process that
// started it.
func readLines(input io.Reader) *pending {
	q := &pending{}
	q.more = sync.NewCond(&q.mutex)
	go func() {
		reader := bufio.NewReaderSize(input, 1<<16)
		for {
			raw, err := reader.ReadBytes('\n')
			if err != nil {
				os.Exit(0)
			}
			q.add(raw)
		}
	}()
	return q
}

// add queues a command; {"op": "cancel", "id": n} takes effect at once, and is not answered.
func (q *pending) add(raw []byte) {
	read := command{raw: raw}
	if err := json.Unmarshal(raw, &read); err != nil {
		read.Op = "" // is answered with an error, as an unknown command
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if read.Op != "cancel" {
		q.commands = append(q.commands, read)
		q.more.Signal()
		return
	}
	q.cancelled = max(q.cancelled, read.ID)
	if q.cancel != nil && q.running <= q.cancelled {
		q.cancel(errCancelled)
	}
}

// next waits for a command. Its context is over when it is cancelled, or the next one is asked for.
func (q *pending) next() (context.Context, command) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.cancel != nil {
		q.cancel(nil)
	}
	for len(q.commands) == 0 {
		q.more.Wait()
	}
	taken := q.commands[0]
	q.commands = q.commands[1:]
	var ctx context.Context
	ctx, q.cancel = context.WithCancelCause(context.Background())
	q.running = taken.ID
	if q.running <= q.cancelled {
		q.cancel(errCancelled)
	}
	return ctx, taken
}
