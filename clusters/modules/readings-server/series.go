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

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// description is what PUT /series takes: all that there is to be read from then on.
type description struct {
	Past    int64           `json:"past"`    // how far the samples reach back, in milliseconds
	Step    int64           `json:"step"`    // between two samples, in milliseconds
	Targets json.RawMessage `json:"targets"` // a list of label sets, one for each node that is scraped
	Metrics []struct {
		Labels json.RawMessage `json:"labels"` // with __name__; each series also has those of its target
		Values []*number       `json:"values"` // one for each target; null: it has no such series
	} `json:"metrics"`
}

// number is a float64 that JSON may have as text, because it has no NaN and no infinities.
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	value, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	*n = number(value)
	return err
}

// world is all series at one moment, at which all queries are evaluated: the newest samples are of that moment. It is
// never changed.
//
// Values depend on how old samples are, and not on the moment: the same description gives the same bits each time.
type world struct {
	now        int64 // milliseconds since the epoch
	past, step int64
	series     []*series
	named      map[string][]*series // by __name__
}

// newWorld has samples at now, now-step, now-2*step and so on, while they are no older than past.
//
// Besides the metrics there is what every scraped node has: up, and node_uname_info, which is joined with for names.
func newWorld(described description, now int64, names *labelling) (*world, error) {
	if described.Step <= 0 || described.Past < 0 {
		return nil, fmt.Errorf("expected a positive step and past, got %d and %d", described.Step, described.Past)
	}
	if err := names.use(described.Targets); err != nil {
		return nil, err
	}
	w := &world{now: now, past: described.Past, step: described.Step, named: map[string][]*series{}}
	for _, metric := range described.Metrics {
		sets, err := names.with(metric.Labels)
		if err != nil {
			return nil, err
		}
		if len(metric.Values) != len(sets) {
			return nil, fmt.Errorf("expected %d values, one for each target, got %d", len(sets), len(metric.Values))
		}
		for i, level := range metric.Values {
			if level != nil {
				w.add(sets[i], float64(*level), shapeOf(float64(*level)))
			}
		}
	}
	for i := range names.targets {
		w.add(names.up[i], 1, constant)
		w.add(names.uname[i], 1, constant)
	}
	return w, nil
}

func (w *world) add(labelled labels.Labels, level float64, value shape) {
	one := &series{world: w, labels: labelled, level: level, value: value}
	name := labelled.Get(labels.MetricName)
	w.series, w.named[name] = append(w.series, one), append(w.named[name], one)
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
	return &samples{series: s, left: s.world.past/s.world.step + 1}
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
	age, step := it.series.world.now-t, it.series.world.step
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

func (it *samples) age() int64 { return (it.left - 1) * it.series.world.step }

func (it *samples) AtT() int64 { return it.series.world.now - it.age() }

func (it *samples) At() (int64, float64) {
	s := it.series
	return it.AtT(), s.value(s.level, float64(it.age())/1000, float64(s.world.past)/1000)
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

func (w *world) matching(matchers []*labels.Matcher) (found []*series) {
	candidates := w.series
	for _, matcher := range matchers {
		if matcher.Name == labels.MetricName && matcher.Type == labels.MatchEqual {
			candidates = w.named[matcher.Value]
		}
	}
	for _, one := range candidates {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
			found = append(found, one)
		}
	}
	return found
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
