package main

import (
	"net/http"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// selector is what one vector selector of an expression reads.
type selector struct {
	Metric   string  `json:"metric"`   // empty if it is not given literally
	LookBack float64 `json:"lookBack"` // seconds before the evaluation of the oldest sample that may be read
	Fixed    bool    `json:"fixed"`    // whether the modifier @ fixes the moment, whenever it is evaluated
}

// selectors lists what an expression reads. Prometheus has no such path: its own parse_query needs version 3.
func (a *api) selectors(r *http.Request) result {
	expr, err := a.parser.ParseExpr(r.FormValue("query"))
	if err != nil {
		return refused("query", err)
	}
	found := []selector{}
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		if vector, ok := node.(*parser.VectorSelector); ok {
			found = append(found, read(vector, path))
		}
		return nil
	})
	return result{data: found}
}

// read describes a selector by itself, and by the ranges of the expressions around it.
func read(vector *parser.VectorSelector, path []parser.Node) selector {
	back := vector.OriginalOffset
	one := selector{Metric: metricOf(vector), Fixed: vector.Timestamp != nil || vector.StartOrEnd != 0}
	for _, node := range path {
		switch around := node.(type) {
		case *parser.MatrixSelector:
			back += around.Range
		case *parser.SubqueryExpr:
			back += around.Range + around.OriginalOffset
			one.Fixed = one.Fixed || around.Timestamp != nil || around.StartOrEnd != 0
		}
	}
	one.LookBack = max(back, time.Duration(0)).Seconds()
	return one
}

func metricOf(vector *parser.VectorSelector) string {
	for _, matcher := range vector.LabelMatchers {
		if matcher.Name == labels.MetricName && matcher.Type == labels.MatchEqual {
			return matcher.Value
		}
	}
	return vector.Name
}
