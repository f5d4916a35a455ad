package main

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// driver does commands, one at a time.
type driver struct {
	api    *connections
	record *record
	churns map[string]*churn
}

func newDriver() *driver {
	return &driver{churns: map[string]*churn{}}
}

// do runs a command, and returns the fields of its answer except for the id.
func (d *driver) do(ctx context.Context, asked command) (map[string]any, error) {
	if asked.Op == "connect" {
		return nil, d.connect(ctx, asked)
	}
	if d.api == nil {
		return nil, stderrors.New("expected connect first")
	}
	if err := d.record.failure(); err != nil {
		return nil, err
	}
	switch asked.Op {
	case "namespaces", "nodes":
		return nil, d.doObjects(ctx, asked)
	case "create", "one":
		return d.doCreate(ctx, asked)
	case "wait", "rows", "bind", "delete":
		return d.doGroup(ctx, asked)
	case "churn", "churn-stop":
		return d.doChurn(ctx, asked)
	}
	return nil, stderrors.New("there is no such command")
}

func (d *driver) connect(ctx context.Context, asked command) error {
	var said struct {
		Kubeconfig  string `json:"kubeconfig"`
		Connections int    `json:"connections"`
	}
	if err := asked.take(&said); err != nil {
		return err
	}
	if d.api != nil || said.Connections < 1 {
		return stderrors.New("expected to be connected once, and over 1 connection at least")
	}
	api, err := connect(said.Kubeconfig, said.Connections)
	if err != nil {
		return err
	}
	record := newRecord()
	if err := watchPods(ctx, api, record); err != nil {
		return err
	}
	d.api, d.record = api, record
	return nil
}

func (d *driver) doObjects(ctx context.Context, asked command) error {
	var said struct {
		Names    []string            `json:"names"`
		Labels   map[string][]string `json:"labels"`
		Template json.RawMessage     `json:"template"`
	}
	if err := asked.take(&said); err != nil {
		return err
	}
	if asked.Op == "namespaces" {
		return d.namespaces(ctx, said.Names)
	}
	template := &corev1.Node{}
	if err := takeManifest(said.Template, template); err != nil {
		return err
	}
	for label, values := range said.Labels {
		if len(values) == 0 {
			return fmt.Errorf("label %s has no values", label)
		}
	}
	return d.nodes(ctx, template, said.Names, said.Labels)
}

func (d *driver) doCreate(ctx context.Context, asked command) (map[string]any, error) {
	var said struct {
		creation
		Templates []json.RawMessage `json:"templates"`
		Arrivals  []float64         `json:"arrivals"` // seconds from the start; null: as fast as possible
		Seconds   float64           `json:"seconds"`
		Pauses    []float64         `json:"pauses"` // before each pod: a share of the longest time that one took so far
	}
	if err := asked.take(&said); err != nil {
		return nil, err
	}
	if len(said.Templates) == 0 {
		return nil, stderrors.New("expected a template at least")
	}
	said.templates = make([]corev1.Pod, len(said.Templates))
	for i, raw := range said.Templates {
		if err := takeManifest(raw, &said.templates[i]); err != nil {
			return nil, err
		}
	}
	switch {
	case asked.Op == "one":
		return d.one(ctx, said.creation, said.Seconds, said.Pauses)
	case said.Arrivals != nil:
		return d.arrive(ctx, said.creation, said.Arrivals)
	}
	return d.create(ctx, said.creation)
}

func (d *driver) doGroup(ctx context.Context, asked command) (map[string]any, error) {
	var said struct {
		Group     string   `json:"group"`
		Namespace string   `json:"namespace"`
		Nodes     []string `json:"nodes"`
		Path      string   `json:"path"`
		Seconds   float64  `json:"seconds"`
	}
	if err := asked.take(&said); err != nil {
		return nil, err
	}
	if asked.Op == "delete" {
		return d.delete(ctx, said.Group, said.Namespace)
	}
	g, err := d.record.group(said.Group)
	if err != nil {
		return nil, err
	}
	switch asked.Op {
	case "rows":
		return nil, d.record.write(g, said.Path)
	case "bind":
		return d.bind(ctx, g, said.Nodes)
	}
	return d.wait(ctx, g, said.Seconds)
}

func (d *driver) doChurn(ctx context.Context, asked command) (map[string]any, error) {
	var said struct {
		Churn string `json:"churn"`
		churning
	}
	if err := asked.take(&said); err != nil {
		return nil, err
	}
	running := d.churns[said.Churn]
	if asked.Op == "churn" {
		if running != nil {
			return nil, fmt.Errorf("churn %q goes on", said.Churn)
		}
		started, err := startChurn(d.api, said.churning)
		if err == nil {
			d.churns[said.Churn] = started
		}
		return nil, err
	}
	if running == nil {
		return nil, fmt.Errorf("there is no churn %q", said.Churn)
	}
	answer, err := running.stop(ctx)
	if err == nil {
		delete(d.churns, said.Churn)
	}
	return answer, err
}

// takeManifest refuses fields that this version of the API does not have: they would be dropped silently.
func takeManifest(raw json.RawMessage, into any) error {
	strict, err := kjson.UnmarshalStrict(raw, into)
	return stderrors.Join(append(strict, err)...)
}
