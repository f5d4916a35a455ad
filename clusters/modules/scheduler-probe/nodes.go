package app

import (
	"fmt"
	"maps"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// unread is how many changes of nodes a watch may be behind.
const unread = 1 << 14

// nodes are those of the present question, and no others: in the snapshot, in the API, and in the informers. The API is
// served from here: the fake client's own store copies each node several times, and most questions are about others than
// the one before.
type nodes struct {
	changed chan struct{} // one for each node that the informer has added or removed
	asked   []fwk.NodeInfo
	known   map[string]fwk.NodeInfo

	mutex    sync.Mutex // plugins list and watch whenever they like
	present  map[string]fwk.NodeInfo
	versions map[string]int64 // of the last change of each that is known
	version  int64
	events   *watch.Broadcaster

	template v1.Node
}

func newNodes(client *fake.Clientset, informerFactory informers.SharedInformerFactory, template v1.Node) *nodes {
	n := &nodes{
		changed: make(chan struct{}), known: map[string]fwk.NodeInfo{}, present: map[string]fwk.NodeInfo{},
		versions: map[string]int64{}, events: watch.NewBroadcaster(unread, watch.WaitIfChannelFull),
		template: template,
	}
	client.PrependReactor("get", "nodes", n.get)
	client.PrependReactor("list", "nodes", n.list)
	client.PrependWatchReactor("nodes", n.watch)
	// kube-scheduler has both, so a plugin may rely on them at any time.
	informerFactory.Core().V1().Pods().Informer()
	_, _ = informerFactory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { n.changed <- struct{}{} },
		DeleteFunc: func(any) { n.changed <- struct{}{} },
	})
	return n
}

// use makes these the nodes of the world, and returns them in this order.
func (n *nodes) use(names, addresses []string) []fwk.NodeInfo {
	n.asked = make([]fwk.NodeInfo, len(names))
	left := make(map[string]bool, len(names))
	for i, name := range names {
		info, known := n.known[name]
		if !known {
			fresh := framework.NewNodeInfo()
			fresh.SetNode(n.node(name, addresses[i]))
			info, n.known[name] = fresh, fresh
		}
		n.asked[i], left[name] = info, true
	}
	for range n.change(left) {
		<-n.changed
	}
	return n.asked
}

// change removes all other nodes than these, adds those that are missing, and returns how many were changed.
func (n *nodes) change(left map[string]bool) int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	before := n.version
	for name := range n.present {
		if !left[name] {
			delete(n.present, name)
			n.tell(watch.Deleted, name)
		}
	}
	for _, info := range n.asked {
		name := info.Node().Name
		if _, there := n.present[name]; !there {
			n.present[name] = info
			n.tell(watch.Added, name)
		}
	}
	return int(n.version - before)
}

func (n *nodes) tell(what watch.EventType, name string) {
	n.version++
	n.versions[name] = n.version
	must(n.events.Action(what, n.known[name].Node()))
}

// What a plugin's clients are answered.

func (n *nodes) get(action testing.Action) (bool, runtime.Object, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	name := action.(testing.GetAction).GetName()
	if info, there := n.present[name]; there {
		return true, info.Node().DeepCopy(), nil
	}
	return true, nil, errors.NewNotFound(v1.Resource("nodes"), name)
}

func (n *nodes) list(testing.Action) (bool, runtime.Object, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	list := &v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(n.version, 10)}}
	for _, info := range n.present {
		list.Items = append(list.Items, *info.Node().DeepCopy())
	}
	return true, list, nil
}

// watch begins with what has changed since the version that is asked for, if one is.
func (n *nodes) watch(action testing.Action) (bool, watch.Interface, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	since, err := strconv.ParseInt(action.(testing.WatchActionImpl).ListOptions.ResourceVersion, 10, 64)
	if err != nil {
		since = n.version
	}
	var missed []watch.Event
	for name, version := range n.versions {
		if version > since {
			what := watch.Deleted
			if _, there := n.present[name]; there {
				what = watch.Added
			}
			missed = append(missed, watch.Event{Type: what, Object: n.known[name].Node()})
		}
	}
	watcher, err := n.events.WatchWithPrefix(missed)
	return true, watcher, err
}

// must panics on errors that cannot occur: nothing ends the broadcaster.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("the probe itself is wrong: %v", err))
	}
}

// node is a new one, with what all of them have.
func (n *nodes) node(name, address string) *v1.Node {
	ample := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("256Gi"),
		v1.ResourceEphemeralStorage: resource.MustParse("1Ti"), v1.ResourcePods: resource.MustParse("110"),
	}
	maps.Copy(ample, n.template.Status.Allocatable)
	labels := map[string]string{v1.LabelHostname: name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64"}
	maps.Copy(labels, n.template.Labels)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: maps.Clone(n.template.Annotations)},
		Status: v1.NodeStatus{
			Capacity: ample, Allocatable: ample,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
			Addresses: []v1.NodeAddress{
				{Type: v1.NodeInternalIP, Address: address}, {Type: v1.NodeHostName, Address: name},
			},
		},
	}
}

// What a plugin's handle gives as SnapshotSharedLister.

func (n *nodes) NodeInfos() nodeInfoLister { return n }

func (n *nodes) StorageInfos() storageInfoLister { return n }

func (n *nodes) List() ([]fwk.NodeInfo, error) { return n.asked, nil }

func (n *nodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return nil, nil }

func (n *nodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) { return nil, nil }

// Of the interface since 1.37.
func (n *nodes) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return nil, nil
}

func (n *nodes) Get(name string) (fwk.NodeInfo, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if info, there := n.present[name]; there {
		return info, nil
	}
	return nil, fmt.Errorf("nodeinfo not found for node name %q", name)
}

func (n *nodes) IsPVCUsedByPods(string) bool { return false }
