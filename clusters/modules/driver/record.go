package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// key is a pod's place in the API.
type key struct{ namespace, name string }

func (k key) path() string {
	return podsPath(k.namespace) + "/" + k.name
}

func podsPath(namespace string) string {
	return "/api/v1/namespaces/" + namespace + "/pods"
}

// pod is what is kept of a pod.
type pod struct {
	key
	group    *group // whose creation it was; nil: another client's
	intended moment
	sent     moment
	answered moment
	uid      string // once the watch has shown it
	node     string
	shown    moment // by the watch, for the first time
	seen     moment // with a node, for the first time
	gone     bool
}

// group is what was created for one purpose, and is asked about as one.
type group struct {
	namespace string
	pods      []*pod
	bound     int
}

// record knows all pods of the cluster, by the watch and by what we create.
type record struct {
	mutex   sync.Mutex
	changed func() // called after each event; one waits at a time
	live    map[key]*pod
	groups  map[string]*group
	broken  chan struct{} // closed when the watch has ended
	why     error
}

func newRecord() *record {
	return &record{changed: func() {}, live: map[key]*pod{}, groups: map[string]*group{}, broken: make(chan struct{})}
}

// apply takes what the watch has shown at that moment.
func (r *record) apply(event watch.EventType, shown *corev1.Pod, at moment) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	place := key{shown.Namespace, shown.Name}
	known := r.live[place]
	if known == nil {
		if event == watch.Deleted {
			return
		}
		known = &pod{key: place}
		r.live[place] = known
	}
	if known.uid == "" {
		known.uid, known.shown = string(shown.UID), at
	}
	if known.node == "" && shown.Spec.NodeName != "" {
		known.node, known.seen = shown.Spec.NodeName, at
		if known.group != nil {
			known.group.bound++
		}
	}
	if event == watch.Deleted {
		r.drop(known)
	}
	r.changed()
}

// drop is called with the lock held.
func (r *record) drop(known *pod) {
	known.gone = true
	if r.live[known.key] == known {
		delete(r.live, known.key)
	}
}

func (r *record) fail(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.why = err
	close(r.broken)
}

func (r *record) failure() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.why
}

// expect adds pods that are about to be created to a group: the watch may show one before its creation is answered.
func (r *record) expect(name, namespace, prefix string, count int) ([]*pod, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	g := r.groups[name]
	if g == nil {
		g = &group{namespace: namespace}
		r.groups[name] = g
	}
	if g.namespace != namespace {
		return nil, fmt.Errorf("group %s is in namespace %s, not %s", name, g.namespace, namespace)
	}
	fresh := make([]*pod, count)
	for i := range fresh {
		fresh[i] = &pod{key: key{namespace, fmt.Sprintf("%s%d", prefix, len(g.pods)+i)}, group: g}
		if r.live[fresh[i].key] != nil {
			return nil, fmt.Errorf("pod %s/%s exists", namespace, fresh[i].name)
		}
	}
	for _, one := range fresh {
		r.live[one.key] = one
	}
	g.pods = append(g.pods, fresh...)
	return fresh, nil
}

// group returns one that exists.
func (r *record) group(name string) (*group, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if g := r.groups[name]; g != nil {
		return g, nil
	}
	return nil, fmt.Errorf("there is no group %q", name)
}

// doomed returns what there is to delete: the pods of a group, or if that is empty all in a namespace.
func (r *record) doomed(name, namespace string) ([]*pod, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	g := r.groups[name]
	if name != "" && g == nil {
		return nil, fmt.Errorf("there is no group %q", name)
	}
	var found []*pod
	for _, one := range r.live {
		if g == nil && one.namespace != namespace || g != nil && one.group != g {
			continue
		}
		if one.sent == 0 && one.uid == "" { // its creation was given up
			r.drop(one)
			continue
		}
		found = append(found, one)
	}
	return found, nil
}

// forget drops a group, or if the name is empty all of a namespace.
func (r *record) forget(name, namespace string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.groups, name)
	for other, g := range r.groups {
		if name == "" && g.namespace == namespace {
			delete(r.groups, other)
		}
	}
}

// neverWas removes a pod that does not exist in the apiserver, unless the watch has shown it and will show its deletion.
func (r *record) neverWas(one *pod) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if one.uid == "" {
		r.drop(one)
	}
}

// await returns whether the condition came to hold before the context was over. It is called with the lock held, at
// first and after each event: by the goroutine that brings the event, so that no waiting goroutine is woken up in vain.
func (r *record) await(ctx context.Context, condition func() bool) (bool, error) {
	r.mutex.Lock()
	if condition() {
		r.mutex.Unlock()
		return true, nil
	}
	fulfilled := make(chan struct{})
	r.changed = func() {
		if condition() {
			close(fulfilled)
			r.changed = func() {}
		}
	}
	r.mutex.Unlock()
	defer func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.changed = func() {}
	}()
	select {
	case <-fulfilled:
		return true, nil
	case <-r.broken:
		return false, r.failure()
	case <-ctx.Done():
		return false, nil
	}
}

// write makes a CSV file of a group's pods. No value of it needs quotes.
func (r *record) write(g *group, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, "pod,uid,intended,sent,answered,shown,seen,node")
	r.mutex.Lock()
	for _, one := range g.pods {
		if one.sent == 0 { // its creation was given up
			continue
		}
		fmt.Fprintln(out, strings.Join([]string{
			one.name, one.uid, one.intended.String(), one.sent.String(), one.answered.String(), one.shown.String(),
			one.seen.String(), one.node,
		}, ","))
	}
	r.mutex.Unlock()
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
