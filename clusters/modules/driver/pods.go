package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostInFlight limits open-loop creations without a response: with more, the benchmark would measure the apiserver.
const mostInFlight = 2000

// creation is what create and one have in common.
type creation struct {
	Group     string `json:"group"`
	Namespace string `json:"namespace"`
	Prefix    string `json:"prefix"`
	Count     int    `json:"count"`
	templates []corev1.Pod
}

// template is of the pod with that index among those that are created.
func (c *creation) template(index int) *corev1.Pod {
	return &c.templates[index%len(c.templates)]
}

// post creates one pod, and stamps it.
func (d *driver) post(ctx context.Context, template *corev1.Pod, one *pod) error {
	named := *template // only what is replaced is our own
	named.Name, named.GenerateName, named.Namespace = one.name, "", one.namespace
	body, err := encode(&named, "Pod")
	if err != nil {
		return err
	}
	one.sent = now()
	if one.intended == 0 {
		one.intended = one.sent
	}
	err = d.api.send(ctx, http.MethodPost, podsPath(one.namespace), asProtobuf, body)
	one.answered = now()
	return err
}

// create creates pods as fast as it can.
func (d *driver) create(ctx context.Context, asked creation) (map[string]any, error) {
	pods, err := d.record.expect(asked.Group, asked.Namespace, asked.Prefix, asked.Count)
	if err != nil {
		return nil, err
	}
	started := now()
	err = d.api.each(ctx, len(pods), func(ctx context.Context, index int) error {
		return d.post(ctx, asked.template(index), pods[index])
	})
	return map[string]any{"started": started.seconds(), "seconds": (now() - started).seconds(), "capped": 0}, err
}

// arrive creates each pod at its moment, whether or not earlier creations have completed.
func (d *driver) arrive(ctx context.Context, asked creation, arrivals []float64) (map[string]any, error) {
	if len(arrivals) != asked.Count || !slices.IsSorted(arrivals) {
		return nil, fmt.Errorf("expected %d arrivals in their order", asked.Count)
	}
	pods, err := d.record.expect(asked.Group, asked.Namespace, asked.Prefix, asked.Count)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var creating sync.WaitGroup
	slots, capped := make(chan struct{}, mostInFlight), 0
	started := now()
	for index, one := range pods {
		one.intended = started + span(arrivals[index])
		sleepUntil(ctx, one.intended)
		if ctx.Err() != nil {
			break
		}
		select {
		case slots <- struct{}{}:
		default:
			capped++
			slots <- struct{}{}
		}
		creating.Go(func() {
			if err := d.post(ctx, asked.template(index), one); err != nil {
				cancel(err)
			}
			<-slots
		})
	}
	creating.Wait()
	return map[string]any{
		"started": started.seconds(), "seconds": (now() - started).seconds(), "capped": capped,
	}, context.Cause(ctx)
}

// one creates pods one at a time: the next one only when the watch has shown where the last one went, and after a pause.
// Each pause is a share of the longest time that a pod has taken so far: without one, each pod would arrive at the same
// phase of a scheduler that looks for pods at intervals, and longer ones would only cost time.
func (d *driver) one(ctx context.Context, asked creation, seconds float64, pauses []float64) (map[string]any, error) {
	if len(pauses) != 0 && len(pauses) != asked.Count {
		return nil, fmt.Errorf("expected %d pauses, or none", asked.Count)
	}
	bound, created := 0, 0
	var longest moment
	for bound == created && created < asked.Count {
		if len(pauses) != 0 {
			sleepUntil(ctx, now()+moment(pauses[created]*float64(longest)))
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		pods, err := d.record.expect(asked.Group, asked.Namespace, asked.Prefix, 1)
		if err != nil {
			return nil, err
		}
		if err := d.post(ctx, asked.template(created), pods[0]); err != nil {
			return nil, err
		}
		created++
		limited, cancel := context.WithTimeout(ctx, time.Duration(span(seconds)))
		seen, err := d.record.await(limited, func() bool { return pods[0].seen != 0 })
		cancel()
		if err != nil {
			return nil, err
		}
		if seen {
			bound++
			longest = max(longest, pods[0].seen-pods[0].sent)
		}
	}
	return map[string]any{"bound": bound, "pods": created}, ctx.Err()
}

// wait returns how many pods of the group were seen bound, as soon as all are, or after so many seconds.
func (d *driver) wait(ctx context.Context, g *group, seconds float64) (map[string]any, error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(span(seconds)))
	defer cancel()
	if _, err := d.record.await(limited, func() bool { return g.bound == len(g.pods) }); err != nil {
		return nil, err
	}
	d.record.mutex.Lock()
	defer d.record.mutex.Unlock()
	return map[string]any{"bound": g.bound, "pods": len(g.pods)}, ctx.Err()
}

// bind binds the pods without any decision, to measure the upper limit of this machine.
func (d *driver) bind(ctx context.Context, g *group, nodes []string) (map[string]any, error) {
	if len(nodes) == 0 {
		return nil, fmt.Errorf("expected some nodes")
	}
	started := now()
	err := d.api.each(ctx, len(g.pods), func(ctx context.Context, index int) error {
		one := g.pods[index]
		body, err := encode(&corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: one.namespace, Name: one.name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: nodes[index%len(nodes)]},
		}, "Binding")
		if err != nil {
			return err
		}
		return d.api.send(ctx, http.MethodPost, one.path()+"/binding", asProtobuf, body)
	})
	return map[string]any{"seconds": (now() - started).seconds(), "pods": len(g.pods)}, err
}
