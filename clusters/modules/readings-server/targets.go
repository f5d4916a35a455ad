package main

import (
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// target is what is scraped of one node. It keeps the label sets of its series: mostly only values change, and with
// thousands of nodes the labels are what takes time.
type target struct {
	labels labels.Labels
	mutex  sync.Mutex // queries run at once
	known  map[*metric]labels.Labels
}

func newTarget(own map[string]string) *target {
	return &target{labels: labels.FromMap(own), known: map[*metric]labels.Labels{}}
}

// forget is for when there are other metrics.
func (t *target) forget() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	clear(t.known)
}

// with is the label set of the target's series of a metric. A node's machine has the node's name.
func (t *target) with(m *metric) labels.Labels {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	set, known := t.known[m]
	if !known {
		builder := labels.NewBuilder(t.labels)
		for name, value := range m.Labels {
			builder.Set(name, value)
		}
		if m.name() == "node_uname_info" {
			builder.Set("nodename", t.labels.Get("node"))
		}
		set = builder.Labels()
		t.known[m] = set
	}
	return set
}
