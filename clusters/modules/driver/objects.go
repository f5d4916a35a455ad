package main

import (
	"cmp"
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// post creates an object of which nothing has to be known afterwards.
func (c *connections) post(ctx context.Context, path string, object runtime.Object, kind string) error {
	body, err := encode(object, kind)
	if err != nil {
		return err
	}
	return c.send(ctx, http.MethodPost, path, asProtobuf, body)
}

// remove deletes at once, without a grace period.
func (c *connections) remove(ctx context.Context, path string) error {
	return c.send(ctx, http.MethodDelete, path, asProtobuf, atOnceInBackground)
}

var atOnceInBackground = func() []byte {
	policy := metav1.DeletePropagationBackground
	body, err := encode(&metav1.DeleteOptions{GracePeriodSeconds: new(int64), PropagationPolicy: &policy}, "DeleteOptions")
	if err != nil {
		panic(err)
	}
	return body
}()

// namespaces creates them, each with the account that pods run under: its controller would make it a moment later, and
// admission refuses pods until then.
func (d *driver) namespaces(ctx context.Context, names []string) error {
	for _, name := range names {
		own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"schedproof.dev/owned": "true"},
		}}
		if err := d.api.post(ctx, "/api/v1/namespaces", own, "Namespace"); err != nil && !errors.IsAlreadyExists(err) {
			return err
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}}
		path := "/api/v1/namespaces/" + name + "/serviceaccounts"
		if err := d.api.post(ctx, path, account, "ServiceAccount"); err != nil && !errors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// nodes creates a node of each name. Of a label with several values, each node has the next.
func (d *driver) nodes(ctx context.Context, template *corev1.Node, names []string, labels map[string][]string) error {
	return d.api.each(ctx, len(names), func(ctx context.Context, index int) error {
		node := template.DeepCopy()
		node.Name, node.GenerateName = names[index], ""
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		node.Labels[corev1.LabelHostname] = node.Name
		for label, values := range labels {
			node.Labels[label] = values[index%len(values)]
		}
		for i := range node.Status.Addresses {
			if node.Status.Addresses[i].Type == corev1.NodeHostName {
				node.Status.Addresses[i].Address = node.Name
			}
		}
		return d.api.post(ctx, "/api/v1/nodes", node, "Node")
	})
}

// delete returns when the watch has shown that the pods are gone: those of a group, or all in a namespace.
func (d *driver) delete(ctx context.Context, name, namespace string) (map[string]any, error) {
	started := now()
	doomed, err := d.record.doomed(name, namespace)
	if err != nil {
		return nil, err
	}
	if err := d.api.each(ctx, len(doomed), func(ctx context.Context, index int) error {
		err := d.api.remove(ctx, doomed[index].path())
		if errors.IsNotFound(err) {
			d.record.neverWas(doomed[index])
			return nil
		}
		return err
	}); err != nil {
		return nil, err
	}
	left := doomed
	gone, err := d.record.await(ctx, func() bool {
		for len(left) > 0 && left[0].gone {
			left = left[1:]
		}
		return len(left) == 0
	})
	if !gone {
		return nil, cmp.Or(err, ctx.Err())
	}
	d.record.forget(name, namespace)
	return map[string]any{"seconds": (now() - started).seconds(), "pods": len(doomed)}, nil
}
