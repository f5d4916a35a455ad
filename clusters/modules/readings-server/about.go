package main

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Targets, metrics and rules as in Prometheus' web/api/v1, for a server that has just scraped the nodes.

const (
	file          = "/etc/prometheus/targets.json"
	longestScrape = 10 * time.Second // by default
)

type scraped struct {
	Discovered map[string]string `json:"discoveredLabels"`
	Labels     labels.Labels     `json:"labels"`
	Pool       string            `json:"scrapePool"`
	URL        string            `json:"scrapeUrl"`
	GlobalURL  string            `json:"globalUrl"`
	Error      string            `json:"lastError"`
	Last       time.Time         `json:"lastScrape"`
	Duration   float64           `json:"lastScrapeDuration"`
	Health     string            `json:"health"`
	Interval   string            `json:"scrapeInterval"`
	Timeout    string            `json:"scrapeTimeout"`
}

func (a *api) activeTargets(r *http.Request) result {
	world, active := a.current(), []scraped{}
	state, pool := strings.ToLower(r.FormValue("state")), r.FormValue("scrapePool")
	shown := func(what string) bool { return state == "" || state == "any" || state == what }
	var dropped map[string]int // null where nothing is said of them
	if shown("dropped") {
		dropped = map[string]int{}
	}
	for i, each := range world.nodes {
		one := world.scrapeOf(i, each)
		if shown("active") && (pool == "" || pool == one.Pool) {
			active = append(active, one)
		}
		if dropped != nil {
			dropped[one.Pool] = 0
		}
	}
	return result{data: map[string]any{
		"activeTargets": active, "droppedTargets": []any{}, "droppedTargetCounts": dropped,
	}}
}

// scrapeOf is the last scrape of a node: a node without a value has failed it, as its `up` says.
func (w *world) scrapeOf(i int, node *target) scraped {
	job, host := node.labels.Get("job"), node.labels.Get("instance")
	step := time.Duration(w.scrape.Step) * time.Millisecond
	interval, timeout := model.Duration(step).String(), model.Duration(min(step, longestScrape)).String()
	found := scraped{
		Discovered: map[string]string{
			"__address__": host, "__meta_filepath": file, "__metrics_path__": "/metrics", "__scheme__": "http",
			"__scrape_interval__": interval, "__scrape_timeout__": timeout, "job": job,
			"__always_scrape_classic_histograms__": "false", "__convert_classic_histograms_to_nhcb__": "false",
			"__scrape_native_histograms__": "false",
		},
		Labels: node.labels, Pool: job, URL: fmt.Sprintf("http://%s/metrics", host),
		GlobalURL: fmt.Sprintf("http://%s/metrics", host), Last: time.UnixMilli(w.latest).UTC(), Duration: 0.002,
		Health: "up", Interval: interval, Timeout: timeout,
	}
	node.labels.Range(func(one labels.Label) { found.Discovered[one.Name] = one.Value })
	if !w.hasScraped(i) {
		found.Health, found.Error = "down", fmt.Sprintf("Get \"%s\": context deadline exceeded", found.URL)
	}
	return found
}

// hasScraped is whether the last scrape of the node at this place has succeeded.
func (w *world) hasScraped(i int) bool {
	return slices.ContainsFunc(w.rates, func(values []*number) bool { return values[i] != nil })
}

type described struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// families returns the metric families of the exporter; Prometheus has no metadata of the metrics that it adds itself.
func (w *world) families() (names []string) {
	for _, each := range slices.Concat(w.scrape.Rates, w.scrape.Still) {
		if name := each.name(); !each.Bare && name != "up" && !strings.HasPrefix(name, "scrape_") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (a *api) metadata(r *http.Request) result {
	limit, refusal := limitOf(r, "limit")
	if refusal == nil {
		_, refusal = limitOf(r, "limit_per_metric") // of which none has more than one
	}
	if refusal != nil {
		return *refusal
	}
	world, wanted, found := a.current(), r.FormValue("metric"), map[string][]described{}
	for i := range world.nodes {
		if !world.hasScraped(i) {
			continue
		}
		for _, name := range world.families() {
			if (limit < 0 || len(found) < limit) && (wanted == "" || wanted == name) {
				found[name] = []described{describe(name)}
			}
		}
		break // all exporters say the same
	}
	return result{data: found}
}

func (a *api) targetMetadata(r *http.Request) result {
	type ofTarget struct {
		Target labels.Labels `json:"target"`
		Metric string        `json:"metric,omitempty"`
		described
	}
	limit, refusal := limitOf(r, "limit")
	if refusal != nil {
		return *refusal
	}
	var matchers labels.Selector
	if text := r.FormValue("match_target"); text != "" {
		var err error
		if matchers, err = a.parser.ParseMetricSelector(text); err != nil {
			return refused("match_target", err)
		}
	}
	world, wanted, found := a.current(), r.FormValue("metric"), []ofTarget{}
	families := world.families()
	for i, each := range world.nodes {
		if limit >= 0 && len(found) >= limit {
			break // it counts whole targets
		}
		if !world.hasScraped(i) || !matchers.Matches(each.labels) {
			continue
		}
		for _, name := range families {
			switch wanted {
			case "":
				found = append(found, ofTarget{each.labels, name, describe(name)})
			case name:
				found = append(found, ofTarget{each.labels, "", describe(name)})
			}
		}
	}
	return result{data: found}
}

// limitOf returns the limit of a request; negative if there is none.
func limitOf(r *http.Request, parameter string) (int, *result) {
	text := r.FormValue(parameter)
	if text == "" {
		return -1, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return 0, &result{kind: badData, err: fmt.Errorf("%s must be a number", parameter)}
	}
	return limit, nil
}

func describe(name string) described {
	if what, counted := strings.CutPrefix(name, "node_network_"); counted && strings.HasSuffix(what, "_total") {
		return described{Type: "counter", Help: fmt.Sprintf("Network device statistic %s.", strings.TrimSuffix(what, "_total"))}
	}
	help := map[string]string{
		"node_uname_info":                        "Labeled system information as provided by the uname system call.",
		"node_exporter_build_info":               "A metric with a constant '1' value labeled by version, revision, branch, goversion from which node_exporter was built, and the goos and goarch for the build.",
		"node_scrape_collector_success":          "node_exporter: Whether a collector succeeded.",
		"node_scrape_collector_duration_seconds": "node_exporter: Duration of a collector scrape.",
	}
	kind := "gauge"
	if strings.HasSuffix(name, "_total") {
		kind = "counter"
	}
	return described{Type: kind, Help: help[name]}
}

func (a *api) rules(r *http.Request) result {
	world := a.current()
	groups := []map[string]any{}
	if kind := r.FormValue("type"); len(world.scrape.Rules) > 0 && kind != "alert" {
		last, listed := time.UnixMilli(world.now).UTC(), []map[string]any{}
		for _, one := range world.scrape.Rules {
			rule := map[string]any{
				"name": one.Record, "query": one.Expr, "health": "ok", "evaluationTime": 0.001, "lastEvaluation": last,
				"type": "recording",
			}
			if len(one.Labels) > 0 {
				rule["labels"] = one.Labels
			}
			listed = append(listed, rule)
		}
		groups = append(groups, map[string]any{
			"name": "candidate", "file": "rules.json", "rules": listed, "interval": 0.5, "limit": 0,
			"evaluationTime": 0.001, "lastEvaluation": last,
		})
	}
	return result{data: map[string]any{"groups": groups}}
}
