package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// setup is the first line that is read: which plugin is asked, what it has in pluginConfig, and about what.
type setup struct {
	Plugin string          `json:"plugin"`
	Args   json.RawMessage `json:"args"` // null: nothing
	Pod    v1.Pod          `json:"pod"`  // each question is about it, under another name
	Node   v1.Node         `json:"node"` // what all nodes have besides their own: labels, annotations, allocatable
}

// question is each line after that. With raw scores it is one for NormalizeScore alone.
type question struct {
	ID        int64    `json:"id"`
	Nodes     []string `json:"nodes"`
	Addresses []string `json:"addresses"` // one for each node; a node has the same in each question
	Raw       []int64  `json:"raw"`       // one for each node
}

// answer is one line for each question, in their order; nothing more where a question has ended the process.
type answer struct {
	ID       int64    `json:"id"`
	Nodes    []string `json:"nodes"`
	Scores   []int64  `json:"scores"` // one for each node, as they are after NormalizeScore
	Raw      []int64  `json:"raw"`    // one for each node, as Score returned them
	Filtered []string `json:"filtered"`
	Refusal  string   `json:"refusal"`
}

// serve answers until the standard input ends. That is a socket, which is written to as well: standard output is the
// candidate's own. Before any question one line tells that the plugin was made, or why not.
func serve(ctx context.Context, registryOptions []Option) error {
	lines := readLines(os.Stdin)
	answers := json.NewEncoder(os.Stdin)
	var first setup
	if err := json.Unmarshal(lines.next(), &first); err != nil {
		return fmt.Errorf("the first line: %w", err)
	}
	asked, err := newCycle(ctx, first, registryOptions)
	if err != nil {
		_ = answers.Encode(map[string]string{"error": err.Error()})
		return err
	}
	if err := answers.Encode(map[string]string{"error": ""}); err != nil {
		return fmt.Errorf("expected a socket as standard input, because this program is for schedproof: %w", err)
	}
	for {
		var next question
		if err := json.Unmarshal(lines.next(), &next); err != nil {
			return err
		}
		if err := answers.Encode(asked.answer(ctx, next)); err != nil {
			return err
		}
	}
}

// pending holds lines that were read and not yet taken. It has no bound: the writing process never blocks, and may
// write everything before it reads.
type pending struct {
	mutex sync.Mutex
	more  *sync.Cond
	lines [][]byte
}

// readLines ends the process when there are no more lines to come, whatever it is doing then: nothing may outlive
// the process that started this one.
func readLines(input io.Reader) *pending {
	q := &pending{}
	q.more = sync.NewCond(&q.mutex)
	go func() {
		reader := bufio.NewReaderSize(input, 1<<16)
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				os.Exit(0)
			}
			q.mutex.Lock()
			q.lines = append(q.lines, line)
			q.mutex.Unlock()
			q.more.Signal()
		}
	}()
	return q
}

// next waits for a line.
func (q *pending) next() []byte {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for len(q.lines) == 0 {
		q.more.Wait()
	}
	line := q.lines[0]
	q.lines = q.lines[1:]
	return line
}
