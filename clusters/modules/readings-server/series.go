package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// scrape describes the series of each node, except for the values that change.
type scrape struct {
	Past  int64     `json:"past"`  // how far the samples reach back, in milliseconds
	Step  int64     `json:"step"`  // between two samples, in milliseconds
	Rates []*metric `json:"rates"` // of which each node has a value of its own
	Still []*metric `json:"still"` // of which each sample is the same, or that grow steadily
	Rules []rule    `json:"rules"`
}

// metric is a series of each node.
type metric struct {
	Labels map[string]string `json:"labels"` // with __name__; each series also has those of its target
	Value  *number           `json:"value"`  // of a still one, of a node that has a rate; at the epoch if it grows
	Growth float64           `json:"growth"` // of a still one, by the second
	Bare   bool              `json:"bare"`   // it has no metadata
	Failed *number           `json:"failed"` // the same of a node that has none; null: it has no such series
}

func (m *metric) name() string { return m.Labels[labels.MetricName] }

// change is a change of the world: one line of standard input.
type change struct {
	Scrape  *scrape                      `json:"scrape"`  // null: as before
	Targets map[string]map[string]string `json:"targets"` // nodes that are new, or have other labels now
	Nodes   []string                     `json:"nodes"`   // those that are scraped; null: as before
	Rates   [][]*number                  `json:"rates"`   // for each of the scrape's a value for each node; null: none
	Running bool                         `json:"running"` // whether scrapes go on from here; else the clock stands still
}

// rule is one recording rule. What it records has been the same at all times, as rates have.
type rule struct {
	Record string            `json:"record"`
	Expr   string            `json:"expr"`
	Labels map[string]string `json:"labels"`
}

// number is a float64 that JSON may have as text, because it has no NaN and no infinities.
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	value, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	*n = number(value)
	return err
}

// world is all series at one moment, at which all queries are evaluated: the newest samples are of that moment. It is
// never changed. Of a running one, `at` is the world at a later moment: it is scraped once a step, and rates go on.
//
// Values depend on how old samples are, and not on the moment: the same description gives the same bits each time. There
// are samples at latest, latest-step, latest-2*step and so on, while they are no older than past. Series are made when they are
// asked for, because few ever are.
type world struct {
	now      int64 // milliseconds since the epoch, as the next two
	started  int64 // when it was described
	latest   int64 // of the newest samples
	running  bool
	scrape   *scrape
	nodes    []*target
	rates    [][]*number
	recorded []*series
}

func newWorld(now int64, scrape *scrape, nodes []*target, rates [][]*number) (*world, error) {
	if scrape.Step <= 0 || scrape.Past < 0 {
		return nil, fmt.Errorf("expected a positive step and past, got %d and %d", scrape.Step, scrape.Past)
	}
	if len(rates) != len(scrape.Rates) {
		return nil, fmt.Errorf("expected values of %d rates, got %d", len(scrape.Rates), len(rates))
	}
	for _, values := range rates {
		if len(values) != len(nodes) {
			return nil, fmt.Errorf("expected %d values, one for each node, got %d", len(nodes), len(values))
		}
	}
	return &world{now: now, started: now, latest: now, scrape: scrape, nodes: nodes, rates: rates}, nil
}

// at is the world at a moment that is not earlier.
func (w *world) at(now int64) *world {
	if !w.running || now <= w.now {
		return w
	}
	later := *w
	later.now, later.latest = now, now-(now-w.started)%w.scrape.Step
	return &later
}

// record adds what a rule gives, evaluated as Prometheus does (rules/recording.go).
func (w *world) record(ctx context.Context, engine *promql.Engine, one rule) error {
	query, err := engine.NewInstantQuery(ctx, w, nil, one.Expr, time.UnixMilli(w.now))
	if err != nil {
		return fmt.Errorf("rule %s: %w", one.Record, err)
	}
	defer query.Close()
	answer := query.Exec(ctx)
	if answer.Err != nil {
		return fmt.Errorf("rule %s: %w", one.Record, answer.Err)
	}
	switch value := answer.Value.(type) {
	case promql.Vector:
		for _, sample := range value {
			w.recorded = append(w.recorded, w.constant(one.of(sample.Metric), sample.F))
		}
	case promql.Scalar:
		w.recorded = append(w.recorded, w.constant(one.of(labels.EmptyLabels()), value.V))
	default:
		return fmt.Errorf("rule %s: rule result is not a vector or scalar", one.Record)
	}
	return nil
}

// of is the label set of what is recorded of a sample.
func (r rule) of(sample labels.Labels) labels.Labels {
	builder := labels.NewBuilder(sample)
	for name, value := range r.Labels {
		builder.Set(name, value)
	}
	return builder.Set(labels.MetricName, r.Record).Labels()
}

func (w *world) constant(labelled labels.Labels, level float64) *series {
	return &series{world: w, labels: labelled, level: level, value: constant}
}

// steady grows by the second from its level at the epoch.
func (w *world) steady(labelled labels.Labels, level, growth float64) *series {
	if growth == 0 {
		return w.constant(labelled, level)
	}
	now := level + growth*float64(w.now)/1000
	return &series{world: w, labels: labelled, level: now, value: func(level, age, _ float64) float64 {
		return level - growth*age
	}}
}

// matching returns the series that all matchers match.
func (w *world) matching(matchers []*labels.Matcher) (found []*series) {
	for i, one := range w.scrape.Rates {
		if !one.mayMatch(matchers) {
			continue
		}
		for j, node := range w.nodes {
			if level := w.rates[i][j]; level != nil {
				value := float64(*level)
				found = append(found, &series{world: w, labels: node.with(one), level: value, value: shapeOf(value)})
			}
		}
	}
	for _, one := range w.scrape.Still {
		if !one.mayMatch(matchers) {
			continue
		}
		for j, node := range w.nodes {
			if level := w.stillOf(one, j); level != nil {
				found = append(found, w.steady(node.with(one), float64(*level), one.Growth))
			}
		}
	}
	for _, one := range w.recorded {
		now := *one
		now.world = w
		found = append(found, &now)
	}
	return slices.DeleteFunc(found, func(one *series) bool {
		return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) })
	})
}

func (w *world) stillOf(one *metric, node int) *number {
	if len(w.rates) > 0 && w.rates[0][node] == nil {
		return one.Failed
	}
	return one.Value
}

// mayMatch tells by the labels that all series of a metric have.
func (m *metric) mayMatch(matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(matcher *labels.Matcher) bool {
		value, there := m.Labels[matcher.Name]
		return there && !matcher.Matches(value)
	})
}

// shape is the value of a sample that is age seconds old, in a series that is past seconds long.
type shape func(level, age, past float64) float64

// rising is a counter that started at 0, and rises by level a second. Equal levels give equal bits, and twice the level
// is exactly twice each sample.
func rising(level, age, past float64) float64 { return level * (past - age) }

// falling is what a counter would look like that rises by less than 0 a second: it falls to 0. No counter does, and
// rate() takes each of its samples for one after a reset.
func falling(level, age, _ float64) float64 { return -level * age }

// constant is the same at all times, such as NaN.
func constant(level, _, _ float64) float64 { return level }

func shapeOf(level float64) shape {
	switch {
	case math.IsNaN(level) || math.IsInf(level, 0):
		return constant
	case level < 0:
		return falling
	}
	return rising
}

type series struct {
	world  *world
	labels labels.Labels
	level  float64
	value  shape
}

func (s *series) Labels() labels.Labels { return s.labels }

func (s *series) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return &samples{series: s, left: s.world.scrape.Past/s.world.scrape.Step + 1}
}

// samples iterates over a series, oldest first; left counts the present sample and those that come after it.
type samples struct {
	series  *series
	left    int64
	started bool
}

func (it *samples) Next() chunkenc.ValueType {
	if it.started {
		it.left--
	}
	it.started = true
	if it.left <= 0 {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

func (it *samples) Seek(t int64) chunkenc.ValueType {
	it.started = true
	age, step := it.series.world.latest-t, it.series.world.scrape.Step
	if age < 0 {
		it.left = 0
	} else {
		it.left = min(it.left, age/step+1)
	}
	if it.left <= 0 {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

func (it *samples) age() int64 { return (it.left - 1) * it.series.world.scrape.Step }

func (it *samples) AtT() int64 { return it.series.world.latest - it.age() }

func (it *samples) At() (int64, float64) {
	s := it.series
	past := s.world.scrape.Past + s.world.latest - s.world.started // a counter goes on from what it was
	return it.AtT(), s.value(s.level, float64(it.age())/1000, float64(past)/1000)
}

func (it *samples) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) { return 0, nil }

func (it *samples) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return 0, nil
}

func (it *samples) AtST() int64 { return 0 }

func (it *samples) Err() error { return nil }

// What the engine asks of a storage.

func (w *world) Querier(_, _ int64) (storage.Querier, error) { return w, nil }

func (w *world) Close() error { return nil }

func (w *world) Select(_ context.Context, sorted bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := w.matching(matchers)
	if sorted {
		slices.SortFunc(found, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	}
	return &set{left: found}
}

func (w *world) LabelValues(
	_ context.Context, name string, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	values := map[string]bool{}
	for _, one := range w.matching(matchers) {
		if value := one.labels.Get(name); value != "" {
			values[value] = true
		}
	}
	return slices.Sorted(maps.Keys(values)), nil, nil
}

func (w *world) LabelNames(
	_ context.Context, _ *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	names := map[string]bool{}
	for _, one := range w.matching(matchers) {
		one.labels.Range(func(label labels.Label) { names[label.Name] = true })
	}
	return slices.Sorted(maps.Keys(names)), nil, nil
}

// set is the series that a selector has found.
type set struct {
	at   *series
	left []*series
}

func (s *set) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.at, s.left = s.left[0], s.left[1:]
	return true
}

func (s *set) At() storage.Series { return s.at }

func (s *set) Err() error { return nil }

func (s *set) Warnings() annotations.Annotations { return nil }

var (
	_ json.Unmarshaler  = new(number)
	_ storage.Queryable = &world{}
	_ storage.Querier   = &world{}
)
