// Command groups lets kube-scheduler itself schedule the pods of small worlds, one turn of its queue after the other.
//
// Each line of standard input is a world: {"nodes": [...], "pods": [...], "podGroups": [...]}; pods are those on nodes,
// which are in the cache from the start, and those that wait, in the order in which the queue gets them. The line of
// standard output is {"turns": [{"group": name, "pods": [names], "placed": {name: node}, "evicted": [names],
// "nominated": [names]}]}: what the scheduler took from its queue, in its order of members, and what it did with it. A turn of a pod without a group has
// no group. Pods in no turn were held back before the queue.
//
// No apiserver and no informer runs: objects are handed to the cache and the queue as the scheduler's own event handlers
// do, and requests end in a fake client. Nothing comes back from it, so that a turn sees only what earlier turns assumed.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type world struct {
	Nodes     []*v1.Node             `json:"nodes"`
	Pods      []*v1.Pod              `json:"pods"`
	PodGroups []*scheduling.PodGroup `json:"podGroups"`
}

type turn struct {
	Group   string            `json:"group,omitempty"`
	Pods    []string          `json:"pods"`
	Placed  map[string]string `json:"placed"`
	Evicted []string          `json:"evicted"`

	Nominated []string `json:"nominated"`
}

type answer struct {
	Turns []turn `json:"turns"`
}

func main() {
	if len(os.Args) > 1 {
		fmt.Println("groups", version.Get().GitVersion)
		return
	}
	klog.SetLogger(logr.Discard())
	// Evictions within the turn, so that they belong to it.
	if err := utilfeature.DefaultMutableFeatureGate.Set("GenericWorkload=true,SchedulerAsyncPreemption=false"); err != nil {
		fail(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		var given world
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			fail(err)
		}
		turns, err := schedule(&given)
		if err != nil {
			fail(err)
		}
		if err := encoder.Encode(answer{turns}); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// requests are those of the scheduler: pods bound, deleted, and nominated for a node.
type requests struct {
	sync.Mutex
	bound     map[string]string
	deleted   []string
	nominated []string
	changed   chan struct{}
}

func (r *requests) react(action clienttesting.Action) (bool, runtime.Object, error) {
	r.Lock()
	defer r.Unlock()
	switch done := action.(type) {
	case clienttesting.CreateAction:
		if binding, is := done.GetObject().(*v1.Binding); is {
			r.bound[binding.Name] = binding.Target.Name
		}
	case clienttesting.DeleteAction:
		r.deleted = append(r.deleted, done.GetName())
	case clienttesting.PatchAction:
		if bytes.Contains(done.GetPatch(), []byte("nominatedNodeName")) {
			r.nominated = append(r.nominated, done.GetName())
		}
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
	return true, nil, nil
}

func schedule(given *world) ([]turn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := &requests{bound: map[string]string{}, changed: make(chan struct{}, 1)}
	client := fake.NewSimpleClientset()
	client.PrependReactor("*", "*", seen.react)
	factory := scheduler.NewInformerFactory(client, 0, nil)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	everyNode := int32(100)
	sched, err := scheduler.New(ctx, client, factory, nil, recorder, scheduler.WithPercentageOfNodesToScore(&everyNode))
	if err != nil {
		return nil, err
	}
	defer sched.SchedulingQueue.Close()
	logger := klog.FromContext(ctx)
	namespaces := factory.Core().V1().Namespaces().Informer().GetIndexer()
	namespaces.Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	for _, node := range given.Nodes {
		corev1.SetObjectDefaults_Node(node)
		sched.Cache.AddNode(logger, node)
	}
	for _, group := range given.PodGroups {
		sched.Cache.AddPodGroup(group)
		sched.SchedulingQueue.AddPodGroup(logger, group)
	}
	known := factory.Core().V1().Pods().Informer().GetIndexer()
	byName := map[string]*v1.Pod{}
	for _, pod := range given.Pods {
		corev1.SetObjectDefaults_Pod(pod)
		byName[pod.Name] = pod
		known.Add(pod)
		if pod.Spec.NodeName != "" {
			if err := sched.Cache.AddPod(logger, pod); err != nil {
				return nil, err
			}
		}
	}
	for _, pod := range given.Pods {
		if pod.Spec.NodeName == "" {
			sched.Cache.AddPodGroupMember(pod)
			sched.SchedulingQueue.Add(ctx, pod)
			sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, framework.EventUnscheduledPodAdd, nil, pod, nil)
		}
	}
	turns := []turn{}
	pop := sched.NextEntity
	sched.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		entity, err := pop(logger)
		taken := turn{Placed: map[string]string{}, Pods: []string{}, Evicted: []string{}, Nominated: []string{}}
		switch one := entity.(type) {
		case *framework.QueuedPodGroupInfo:
			taken.Group = one.PodGroupInfo.Name
			one.ForEachPodInfo(func(info *framework.QueuedPodInfo) bool {
				taken.Pods = append(taken.Pods, info.Pod.Name)
				return true
			})
		case *framework.QueuedPodInfo:
			taken.Pods = append(taken.Pods, one.Pod.Name)
		}
		turns = append(turns, taken)
		return entity, err
	}
	for len(sched.SchedulingQueue.PodsInActiveQ()) > 0 {
		if len(turns) > 4*len(given.Pods) {
			return nil, fmt.Errorf("the queue does not end: %v", turns)
		}
		sched.ScheduleOne(ctx)
		last := &turns[len(turns)-1]
		expected := 0
		for _, name := range last.Pods {
			if assumed, err := sched.Cache.GetPod(byName[name]); err == nil && assumed.Spec.NodeName != "" {
				last.Placed[name] = assumed.Spec.NodeName
				expected++
			}
		}
		if err := seen.await(last.Placed); err != nil {
			return nil, err
		}
		seen.Lock()
		last.Evicted = append(last.Evicted, seen.deleted...)
		last.Nominated = append(last.Nominated, seen.nominated...)
		seen.deleted, seen.nominated = nil, nil
		seen.Unlock()
		sort.Strings(last.Evicted)
	}
	return turns, nil
}

// await waits until all of these pods are bound: those that are only assumed could be kept at Permit.
func (r *requests) await(placed map[string]string) error {
	deadline := time.After(10 * time.Second)
	for {
		r.Lock()
		missing := ""
		for name, node := range placed {
			if r.bound[name] != node {
				missing = name
			}
		}
		r.Unlock()
		if missing == "" {
			return nil
		}
		select {
		case <-r.changed:
		case <-deadline:
			return fmt.Errorf("%s was assumed, and not bound", missing)
		}
	}
}
