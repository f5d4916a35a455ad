package main

import (
	"bytes"
	"encoding/json"

	"github.com/prometheus/prometheus/model/labels"
)

// labelling makes the label sets of series. It keeps those of the last targets: mostly only values change, and with
// thousands of nodes the labels are what takes time.
type labelling struct {
	raw       json.RawMessage
	targets   []labels.Labels
	up, uname []labels.Labels
	metrics   map[string][]labels.Labels
}

// use takes the targets from here on: a list of label sets.
func (l *labelling) use(raw json.RawMessage) error {
	if bytes.Equal(raw, l.raw) {
		return nil
	}
	var decoded []map[string]string
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return err
	}
	*l = labelling{raw: raw, metrics: map[string][]labels.Labels{}}
	for _, target := range decoded {
		set := labels.FromMap(target)
		l.targets = append(l.targets, set)
		l.up = append(l.up, with(set, map[string]string{labels.MetricName: "up"}))
		l.uname = append(l.uname, with(set, map[string]string{
			labels.MetricName: "node_uname_info", "nodename": target["node"], "sysname": "Linux",
		}))
	}
	return nil
}

// with is the label set of each target, and one more for all of them.
func (l *labelling) with(raw json.RawMessage) ([]labels.Labels, error) {
	if sets, known := l.metrics[string(raw)]; known {
		return sets, nil
	}
	var more map[string]string
	if err := json.Unmarshal(raw, &more); err != nil {
		return nil, err
	}
	sets := make([]labels.Labels, len(l.targets))
	for i, target := range l.targets {
		sets[i] = with(target, more)
	}
	l.metrics[string(raw)] = sets
	return sets, nil
}

func with(set labels.Labels, more map[string]string) labels.Labels {
	builder := labels.NewBuilder(set)
	for name, value := range more {
		builder.Set(name, value)
	}
	return builder.Labels()
}
