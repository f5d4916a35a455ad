package leasttraffic

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// respond returns the args to query a server that responds with these series: pairs of a node's name and a value.
func respond(t *testing.T, pairs ...string) Args {
	var series []string
	for i := 0; i < len(pairs); i += 2 {
		labels := fmt.Sprintf(`{"node":%q}`, pairs[i])
		if pairs[i] == "" {
			labels = "{}"
		}
		series = append(series, fmt.Sprintf(`{"metric":%s,"value":[1763650000.25,%q]}`, labels, pairs[i+1]))
	}
	body := fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(series, ","))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
	t.Cleanup(server.Close)
	return Args{Prometheus: server.URL, Device: "eth0", Window: "1m"}
}

func TestReadTraffic(t *testing.T) {
	for name, test := range map[string]struct {
		series []string
		want   map[string]float64
	}{
		"no node's name": {[]string{"a", "7", "", "1", "b", "8.5"}, map[string]float64{"a": 7, "b": 8.5}},
		"no rates":       {[]string{"a", "NaN", "b", "+Inf", "c", "-1", "d", "0"}, map[string]float64{"d": 0}},
		"several series": {[]string{"a", "1", "a", "9", "a", "NaN"}, map[string]float64{"a": 9}},
		"the other way":  {[]string{"a", "9", "a", "1", "a", "-1"}, map[string]float64{"a": 9}},
	} {
		got, err := readTraffic(context.Background(), respond(t, test.series...))
		if err != nil || !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v and %v, want %v", name, got, err, test.want)
		}
	}
	if got, err := readTraffic(context.Background(), respond(t, "", "1")); err == nil {
		t.Errorf("without any node's name: got %v, want an error", got)
	}
}
