package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// api is the part of Prometheus' HTTP API that reads series. follow sets the series.
//
// Its clock stands still between two changes: a query at any moment is evaluated at the moment of the last change. In a
// real server, new samples would arrive during a query; here, the same series always give the same response. Where a
// change is `running`, the clock runs, and a query at any moment is evaluated at the present one. Responses that
// Prometheus' own code does not compute are modelled on web/api/v1.
type api struct {
	engine  *promql.Engine
	parser  parser.Parser
	world   atomic.Pointer[world]
	targets map[string]*target // by node; of follow alone
}

func newAPI() *api {
	a := &api{parser: parser.NewParser(parser.Options{}), targets: map[string]*target{}}
	// As cmd/prometheus has them, by default.
	a.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: 2 * time.Minute, LookbackDelta: 5 * time.Minute, Parser: a.parser,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true,
	})
	a.world.Store(&world{now: time.Now().UnixMilli(), scrape: &scrape{Step: 1}})
	return a
}

// current is the world at the moment at which a query is evaluated.
func (a *api) current() *world { return a.world.Load().at(time.Now().UnixMilli()) }

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]func(*http.Request) result{
		"/api/v1/query": a.query, "/api/v1/query_range": a.queryRange,
		"/api/v1/series": a.series, "/api/v1/labels": a.labelNames, "/selectors": a.selectors,
	} {
		mux.HandleFunc("GET "+path, answering(answer))
		mux.HandleFunc("POST "+path, answering(answer))
	}
	mux.HandleFunc("GET /api/v1/label/{name}/values", answering(a.labelValues))
	mux.HandleFunc("GET /api/v1/targets", answering(a.activeTargets))
	mux.HandleFunc("GET /api/v1/targets/metadata", answering(a.targetMetadata))
	mux.HandleFunc("GET /api/v1/metadata", answering(a.metadata))
	mux.HandleFunc("GET /api/v1/rules", answering(a.rules))
	mux.HandleFunc("GET /api/v1/status/buildinfo", answering(func(*http.Request) result {
		return result{data: map[string]string{"version": version}}
	}))
	for _, path := range []string{"/-/ready", "/-/healthy"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "Prometheus Server is Ready.")
		})
	}
	return mux
}

// follow applies changes, one per line of JSON, until the end of the input. It answers each with a line,
// `{"error": ""}`, as soon as all later queries see the new series only.
func (a *api) follow(lines io.Reader, answers io.Writer) error {
	said, decoder := json.NewEncoder(answers), json.NewDecoder(lines)
	for {
		var next change
		if err := decoder.Decode(&next); err != nil {
			return err
		}
		var text string
		if err := a.apply(next); err != nil {
			text = err.Error()
		}
		if err := said.Encode(map[string]string{"error": text}); err != nil {
			return err
		}
	}
}

func (a *api) apply(next change) error {
	for name, own := range next.Targets {
		a.targets[name] = newTarget(own)
	}
	before := a.current()
	scrape, nodes := before.scrape, before.nodes
	if next.Scrape != nil {
		scrape = next.Scrape
		for _, each := range a.targets {
			each.forget()
		}
	}
	if next.Nodes != nil {
		nodes = make([]*target, len(next.Nodes))
		for i, name := range next.Nodes {
			if nodes[i] = a.targets[name]; nodes[i] == nil {
				return fmt.Errorf("node %q has no labels yet", name)
			}
		}
	}
	// Later than before, so that clients that wait for newer samples get them.
	fresh, err := newWorld(max(before.now+1, time.Now().UnixMilli()), scrape, nodes, next.Rates)
	if err != nil {
		return err
	}
	for _, one := range scrape.Rules {
		if err := fresh.record(context.Background(), a.engine, one); err != nil {
			return err
		}
	}
	fresh.running = next.Running
	a.world.Store(fresh)
	return nil
}

func (a *api) query(r *http.Request) result {
	if _, err := moment(r, "time"); err != nil {
		return refused("time", err)
	}
	world := a.current()
	return a.evaluate(r, func(ctx context.Context, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.NewInstantQuery(ctx, world, opts, r.FormValue("query"), time.UnixMilli(world.now))
	})
}

// queryRange moves the range to where its end is the moment of the last change.
func (a *api) queryRange(r *http.Request) result {
	start, err := moment(r, "start")
	if err != nil {
		return refused("start", err)
	}
	end, err := moment(r, "end")
	if err != nil {
		return refused("end", err)
	}
	step, err := duration(r.FormValue("step"))
	switch {
	case end.Before(start):
		return refused("end", errors.New("end timestamp must not be before start time"))
	case err != nil:
		return refused("step", err)
	case step <= 0:
		return refused("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	case end.Sub(start)/step > 11000:
		return result{kind: badData, err: errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")}
	}
	world := a.current()
	now := time.UnixMilli(world.now)
	return a.evaluate(r, func(ctx context.Context, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.NewRangeQuery(ctx, world, opts, r.FormValue("query"), now.Add(start.Sub(end)), now, step)
	})
}

func (a *api) evaluate(r *http.Request, prepare func(context.Context, promql.QueryOpts) (promql.Query, error)) result {
	ctx := r.Context()
	if text := r.FormValue("timeout"); text != "" {
		timeout, err := duration(text)
		if err != nil {
			return refused("timeout", err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var lookback time.Duration
	if text := r.FormValue("lookback_delta"); text != "" {
		var err error
		if lookback, err = duration(text); err != nil {
			return result{kind: badData, err: fmt.Errorf("error parsing lookback delta duration: %w", err)}
		}
	}
	query, err := prepare(ctx, promql.NewPrometheusQueryOpts(false, lookback))
	if err != nil {
		return refused("query", err)
	}
	answer := query.Exec(ctx)
	if answer.Err != nil {
		query.Close()
		return result{kind: kindOf(answer.Err), err: answer.Err, notes: answer.Warnings}
	}
	data := struct {
		Type   parser.ValueType `json:"resultType"`
		Result parser.Value     `json:"result"`
	}{answer.Value.Type(), listed(answer.Value)}
	return result{data: data, notes: answer.Warnings, query: r.FormValue("query"), close: query.Close}
}

// listed is an empty list for what encoding/json would call null: Prometheus answers with lists.
func listed(value parser.Value) parser.Value {
	switch its := value.(type) {
	case promql.Matrix:
		if its == nil {
			return promql.Matrix{}
		}
	case promql.Vector:
		if its == nil {
			return promql.Vector{}
		}
	}
	return value
}

func (a *api) series(r *http.Request) result {
	sets, err := a.matchers(r)
	if err != nil {
		return refused("match[]", err)
	}
	if len(sets) == 0 {
		return result{kind: badData, err: errors.New("no match[] parameter provided")}
	}
	world := a.current()
	found := []labels.Labels{}
	for _, one := range world.matching(nil) {
		if slices.ContainsFunc(sets, func(matchers []*labels.Matcher) bool {
			return labels.Selector(matchers).Matches(one.labels)
		}) {
			found = append(found, one.labels)
		}
	}
	return result{data: found}
}

func (a *api) labelNames(r *http.Request) result {
	return a.labels(r, storage.LabelQuerier.LabelNames)
}

func (a *api) labelValues(r *http.Request) result {
	name := r.PathValue("name")
	if !model.UTF8Validation.IsValidLabelName(name) {
		return result{kind: badData, err: fmt.Errorf("invalid label name: %q", name)}
	}
	return a.labels(r, func(w storage.LabelQuerier, ctx context.Context, _ *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return w.LabelValues(ctx, name, nil, matchers...)
	})
}

func (a *api) labels(r *http.Request, find func(storage.LabelQuerier, context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error)) result {
	sets, err := a.matchers(r)
	if err != nil {
		return result{kind: badData, err: err}
	}
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	texts := []string{}
	world := a.current()
	for _, matchers := range sets {
		found, _, _ := find(world, r.Context(), nil, matchers...)
		texts = append(texts, found...)
	}
	slices.Sort(texts)
	return result{data: slices.Compact(texts)}
}

func (a *api) matchers(r *http.Request) ([][]*labels.Matcher, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	return a.parser.ParseMetricSelectors(r.Form["match[]"])
}

// What is answered.

const (
	badData    = "bad_data"
	execution  = "execution"
	canceled   = "canceled"
	timeout    = "timeout"
	statusGone = 499 // of a client that has closed its connection
)

var statuses = map[string]int{
	badData: http.StatusBadRequest, execution: http.StatusUnprocessableEntity, canceled: statusGone,
	timeout: http.StatusServiceUnavailable,
}

type result struct {
	data  any
	kind  string // of the error, in Prometheus' words
	err   error
	query string
	notes annotations.Annotations
	close func() // once data has been written
}

func refused(parameter string, err error) result {
	return result{kind: badData, err: fmt.Errorf("invalid parameter %q: %w", parameter, err)}
}

func kindOf(err error) string {
	var late promql.ErrQueryTimeout
	var gone promql.ErrQueryCanceled
	switch {
	case errors.As(err, &late):
		return timeout
	case errors.As(err, &gone), errors.Is(err, context.Canceled):
		return canceled
	}
	return execution
}

func answering(answer func(*http.Request) result) http.HandlerFunc {
	type envelope struct {
		Status    string   `json:"status"`
		Data      any      `json:"data,omitempty"`
		ErrorType string   `json:"errorType,omitempty"`
		Error     string   `json:"error,omitempty"`
		Warnings  []string `json:"warnings,omitempty"`
		Infos     []string `json:"infos,omitempty"`
	}
	return func(w http.ResponseWriter, r *http.Request) {
		result := answer(r)
		if result.close != nil {
			defer result.close()
		}
		said, status := envelope{Status: "success", Data: result.data}, http.StatusOK
		if result.err != nil {
			said = envelope{Status: "error", ErrorType: result.kind, Error: result.err.Error()}
			status = statuses[result.kind]
		}
		said.Warnings, said.Infos = result.notes.AsStrings(result.query, 10, 10)
		body, err := json.Marshal(said)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

// moment reads a time as Prometheus does; the zero time if there is none.
func moment(r *http.Request, parameter string) (time.Time, error) {
	text := r.FormValue(parameter)
	if text == "" && parameter == "time" {
		return time.Time{}, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		whole, rest := math.Modf(seconds)
		return time.Unix(int64(whole), int64(math.Round(rest*1000)/1000*float64(time.Second))), nil
	}
	if parsed, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return parsed, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

func duration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		length := seconds * float64(time.Second)
		if math.Abs(length) > math.MaxInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
		}
		return time.Duration(length), nil
	}
	parsed, err := model.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
	}
	return time.Duration(parsed), nil
}
