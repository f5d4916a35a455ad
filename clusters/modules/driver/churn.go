package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
)

const (
	churnCreate   = "create"
	churnRecreate = "recreate"
)

// clusterWide are the kinds of core/v1 that have no namespace.
var clusterWide = map[string]bool{"Namespace": true, "Node": true, "PersistentVolume": true}

// churning has the arguments of churn, as scheduler_perf's churnOp (test/integration/scheduler_perf of k8s.io/kubernetes).
type churning struct {
	Mode      string            `json:"mode"`
	Namespace string            `json:"namespace"` // of kinds that have one
	Number    int               `json:"number"`
	Templates []json.RawMessage `json:"templates"`
	Interval  float64           `json:"interval"` // seconds
}

// churnTemplate is an object to be created again and again, with another name each time.
type churnTemplate struct {
	object map[string]any
	prefix string
	path   string // of its collection
}

func newChurnTemplate(raw json.RawMessage, namespace string) (churnTemplate, error) {
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return churnTemplate{}, err
	}
	kind, _ := object["kind"].(string)
	if object["apiVersion"] != "v1" || kind == "" {
		return churnTemplate{}, fmt.Errorf("expected a manifest of apiVersion v1, found %v %v", object["apiVersion"], object["kind"])
	}
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	prefix, _ := metadata["generateName"].(string)
	if name, _ := metadata["name"].(string); prefix == "" && name != "" {
		prefix = name + "-"
	}
	if prefix == "" {
		prefix = "churn-"
	}
	delete(metadata, "generateName")
	delete(metadata, "namespace")
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Version: "v1", Kind: kind})
	path := "/api/v1/" + plural.Resource
	if !clusterWide[kind] {
		path = "/api/v1/namespaces/" + namespace + "/" + plural.Resource
	}
	return churnTemplate{object, prefix, path}, nil
}

// churn is a churn that runs until it is stopped. Until its goroutine has ended, only that goroutine writes to it.
type churn struct {
	api       *connections
	templates []churnTemplate
	cancel    context.CancelFunc
	ended     sync.WaitGroup
	left      map[string]bool // paths of what was created and not deleted
	created   int
	deleted   int
	failed    int
	failure   error // the first one
}

func startChurn(api *connections, asked churning) (*churn, error) {
	if asked.Interval <= 0 || asked.Number < 0 || asked.Mode == churnRecreate && asked.Number == 0 {
		return nil, fmt.Errorf("expected a positive interval, and a number; found %g s and %d", asked.Interval, asked.Number)
	}
	c := &churn{api: api, left: map[string]bool{}}
	for _, raw := range asked.Templates {
		template, err := newChurnTemplate(raw, asked.Namespace)
		if err != nil {
			return nil, err
		}
		c.templates = append(c.templates, template)
	}
	turn := c.creating(asked.Number)
	switch asked.Mode {
	case churnCreate:
	case churnRecreate:
		turn = c.recreating(asked.Number)
	default:
		return nil, fmt.Errorf("expected mode %s or %s, found %q", churnCreate, churnRecreate, asked.Mode)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.ended.Go(func() {
		ticker := time.NewTicker(time.Duration(span(asked.Interval)))
		defer ticker.Stop()
		for ctx.Err() == nil {
			select {
			case <-ticker.C:
				turn(ctx)
			case <-ctx.Done():
			}
		}
	})
	return c, nil
}

// creating creates one of each template at each turn, up to so many; 0: without end.
func (c *churn) creating(number int) func(context.Context) {
	turns := 0
	return func(ctx context.Context) {
		if number > 0 && turns >= number {
			return
		}
		turns++
		for _, template := range c.templates {
			c.create(ctx, template)
		}
	}
}

// recreating has a number of places for each template. Each turn creates or deletes the object of the next place.
func (c *churn) recreating(number int) func(context.Context) {
	places := make([][]string, len(c.templates))
	for i := range places {
		places[i] = make([]string, number)
	}
	turns := 0
	return func(ctx context.Context) {
		place := turns % number
		turns++
		for i, template := range c.templates {
			if path := places[i][place]; path != "" {
				c.delete(ctx, path)
				places[i][place] = ""
			} else {
				places[i][place] = c.create(ctx, template)
			}
		}
	}
}

// create returns the path of the new object; empty if the creation failed.
func (c *churn) create(ctx context.Context, template churnTemplate) string {
	name := template.prefix + rand.String(8)
	template.object["metadata"].(map[string]any)["name"] = name
	body, err := json.Marshal(template.object)
	if err == nil {
		// The object of a cancelled request may exist.
		c.left[template.path+"/"+name] = true
		err = c.api.send(ctx, http.MethodPost, template.path, asJSON, body)
	}
	if err != nil {
		c.note(ctx, err)
		return ""
	}
	c.created++
	return template.path + "/" + name
}

func (c *churn) delete(ctx context.Context, path string) {
	err := c.api.remove(ctx, path)
	if err != nil && !errors.IsNotFound(err) { // a candidate may have preempted it
		c.note(ctx, err)
		return
	}
	delete(c.left, path)
	c.deleted++
}

func (c *churn) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	c.failed++
	if c.failure == nil {
		c.failure = err
	}
}

// stop returns when all objects of the churn are deleted.
func (c *churn) stop(ctx context.Context) (map[string]any, error) {
	c.cancel()
	c.ended.Wait()
	paths := make([]string, 0, len(c.left))
	for path := range c.left {
		paths = append(paths, path)
	}
	err := c.api.each(ctx, len(paths), func(ctx context.Context, index int) error {
		if err := c.api.remove(ctx, paths[index]); !errors.IsNotFound(err) {
			return err
		}
		return nil
	})
	failure := ""
	if c.failure != nil {
		failure = c.failure.Error()
	}
	return map[string]any{"created": c.created, "deleted": c.deleted, "failed": c.failed, "failure": failure}, err
}
