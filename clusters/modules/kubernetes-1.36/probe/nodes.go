package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// atOnce is how many changes are made before the informer has to be seen to follow: the fake client's watches hold 100
// events, and panic when there are more.
const atOnce = 50

// nodes are those of the present question, and no others: in the snapshot, in the API, and in the informers.
type nodes struct {
	client  *fake.Clientset
	changed chan struct{} // one for each node that the informer has added or removed
	known   map[string]fwk.NodeInfo
	present map[string]fwk.NodeInfo
	asked   []fwk.NodeInfo
}

func newNodes(client *fake.Clientset, informerFactory informers.SharedInformerFactory) *nodes {
	n := &nodes{
		client: client, changed: make(chan struct{}, 2*atOnce),
		known: map[string]fwk.NodeInfo{}, present: map[string]fwk.NodeInfo{},
	}
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
	before := maps.Clone(n.present)
	n.asked = make([]fwk.NodeInfo, len(names))
	var added []*v1.Node
	for i, name := range names {
		info, known := n.known[name]
		if !known {
			fresh := framework.NewNodeInfo()
			fresh.SetNode(newNode(name, addresses[i]))
			info, n.known[name] = fresh, fresh
		}
		if _, there := n.present[name]; !there {
			n.present[name] = info
			added = append(added, info.Node())
		}
		delete(before, name)
		n.asked[i] = info
	}
	api, ctx := n.client.CoreV1().Nodes(), context.Background()
	for some := range slices.Chunk(slices.Collect(maps.Keys(before)), atOnce) {
		for _, name := range some {
			delete(n.present, name)
			must(api.Delete(ctx, name, metav1.DeleteOptions{}))
		}
		n.await(len(some))
	}
	for some := range slices.Chunk(added, atOnce) {
		for _, node := range some {
			_, err := api.Create(ctx, node, metav1.CreateOptions{})
			must(err)
		}
		n.await(len(some))
	}
	n.client.ClearActions() // it remembers each, with its object
	return n.asked
}

func (n *nodes) await(changes int) {
	for range changes {
		<-n.changed
	}
}

// must is for what cannot fail in a clientset that is made of maps.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("the probe itself is wrong: %v", err))
	}
}

func newNode(name, address string) *v1.Node {
	ample := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("256Gi"),
		v1.ResourceEphemeralStorage: resource.MustParse("1Ti"), v1.ResourcePods: resource.MustParse("110"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname: name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
		}},
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

func (n *nodes) NodeInfos() fwk.NodeInfoLister { return n }

func (n *nodes) StorageInfos() fwk.StorageInfoLister { return n }

func (n *nodes) PodGroupStates() fwk.PodGroupStateLister { return noPodGroups{} }

func (n *nodes) List() ([]fwk.NodeInfo, error) { return n.asked, nil }

func (n *nodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return nil, nil }

func (n *nodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) { return nil, nil }

func (n *nodes) Get(name string) (fwk.NodeInfo, error) {
	if info, there := n.present[name]; there {
		return info, nil
	}
	return nil, fmt.Errorf("nodeinfo not found for node name %q", name)
}

func (n *nodes) IsPVCUsedByPods(string) bool { return false }

type noPodGroups struct{}

func (noPodGroups) Get(namespace, name string) (fwk.PodGroupState, error) {
	return nil, fmt.Errorf("there is no pod group %s/%s", namespace, name)
}
