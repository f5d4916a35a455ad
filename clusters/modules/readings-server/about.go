package main

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// What a server says of its targets, metrics and rules: web/api/v1, of one that has scraped the nodes just now.

const (
	interval = "250ms" // as the clusters' own
	address  = "__address__"
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
	world, active := a.world.Load(), []scraped{}
	state := strings.ToLower(r.FormValue("state"))
	if pool := r.FormValue("scrapePool"); state != "dropped" {
		for i, each := range world.nodes {
			if one := world.scrapeOf(i, each); pool == "" || pool == one.Pool {
				active = append(active, one)
			}
		}
	}
	return result{data: map[string]any{
		"activeTargets": active, "droppedTargets": []any{}, "droppedTargetCounts": map[string]int{},
	}}
}

// scrapeOf is the last scrape of a node: a node without a value has failed it, as its `up` says.
func (w *world) scrapeOf(i int, node *target) scraped {
	job, host := node.labels.Get("job"), node.labels.Get("instance")
	found := scraped{
		Discovered: map[string]string{
			address: host, "__metrics_path__": "/metrics", "__scheme__": "http", "__scrape_interval__": interval,
			"__scrape_timeout__": interval, "job": job,
		},
		Labels: node.labels, Pool: job, URL: fmt.Sprintf("http://%s/metrics", host),
		GlobalURL: fmt.Sprintf("http://%s/metrics", host), Last: time.UnixMilli(w.now).UTC(), Duration: 0.002,
		Health: "up", Interval: interval, Timeout: interval,
	}
	node.labels.Range(func(one labels.Label) {
		if one.Name != "instance" { // that is made of the address
			found.Discovered[one.Name] = one.Value
		}
	})
	if !slices.ContainsFunc(w.rates, func(values []*number) bool { return values[i] != nil }) {
		found.Health, found.Error = "down", fmt.Sprintf("Get \"%s\": context deadline exceeded", found.URL)
	}
	return found
}

type described struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// metadata is what the exporter says of its metrics; Prometheus has none of those that it adds by itself.
func (a *api) metadata(r *http.Request) result {
	limit := -1
	if text := r.FormValue("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil {
			return result{kind: badData, err: fmt.Errorf("limit must be a number")}
		}
	}
	wanted, found := r.FormValue("metric"), map[string][]described{}
	scrape := a.world.Load().scrape
	for _, each := range slices.Concat(scrape.Rates, scrape.Still) {
		name := each.name()
		if _, known := found[name]; !known && limit >= 0 && len(found) >= limit {
			break
		}
		if name == "up" || strings.HasPrefix(name, "scrape_") || (wanted != "" && wanted != name) {
			continue
		}
		found[name] = []described{describe(name)}
	}
	return result{data: found}
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
	world := a.world.Load()
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
