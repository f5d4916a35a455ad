// Command referee decides with kube-scheduler's Filter plugins, on a real snapshot of its cache.
//
// Each line of standard input is a world: {"pod": ..., "nodes": [...], "pods": [...], "namespaces": {name: labels},
// "claims": [...], "volumes": [...], "classes": [...], "drivers": [...], "capacities": [...],
// "resourceClaims": [...], "resourceSlices": [...], "deviceClasses": [...], "deviceTaintRules": [...]}.
// Objects get the API's defaults, and are changed (matchLabelKeys) and validated as at their creation. Nodes and pods
// that the apiserver would refuse are left out. The line of standard output is {"invalid": reason} if the pod itself
// would be refused; otherwise the world used for the decision, with "verdicts": node name to the reasons against it,
// empty if the pod could run there.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/component-base/version"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodedeclaredfeatures"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/schedulinggates"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	testing "k8s.io/kubernetes/pkg/scheduler/testing/framework"
)

type world struct {
	Pod   v1.Pod    `json:"pod"`
	Nodes []v1.Node `json:"nodes"`
	Pods  []v1.Pod  `json:"pods"`

	Namespaces map[string]map[string]string `json:"namespaces"`

	Claims  []v1.PersistentVolumeClaim `json:"claims"`
	Volumes []v1.PersistentVolume      `json:"volumes"`
	Classes []storage.StorageClass     `json:"classes"`
	Limits  []storage.CSINode          `json:"csiNodes"`

	Drivers    []storage.CSIDriver          `json:"drivers"`
	Capacities []storage.CSIStorageCapacity `json:"capacities"`

	ResourceClaims []resource.ResourceClaim `json:"resourceClaims"`
	ResourceSlices []resource.ResourceSlice `json:"resourceSlices"`
	DeviceClasses  []resource.DeviceClass   `json:"deviceClasses"`

	rules // what not every minor version has
}

type answer struct {
	Invalid  string              `json:"invalid,omitempty"`
	World    *world              `json:"world,omitempty"`
	Verdicts map[string][]string `json:"verdicts,omitempty"`
}

// The plugins of the default profile that the oracle models, and the extension points at which they filter.
var (
	features = feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	plugins  = []testing.RegisterPluginFunc{
		testing.RegisterQueueSortPlugin(queuesort.Name, queuesort.New),
		testing.RegisterBindPlugin(defaultbinder.Name, defaultbinder.New),
		testing.RegisterPluginAsExtensions(nodeunschedulable.Name, runtime.FactoryAdapter(features, nodeunschedulable.New), "Filter"),
		testing.RegisterPluginAsExtensions(tainttoleration.Name, runtime.FactoryAdapter(features, tainttoleration.New), "Filter"),
		testing.RegisterPluginAsExtensions(nodeaffinity.Name, runtime.FactoryAdapter(features, nodeaffinity.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(nodeports.Name, runtime.FactoryAdapter(features, nodeports.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(noderesources.Name, runtime.FactoryAdapter(features, noderesources.NewFit), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(podtopologyspread.Name, runtime.FactoryAdapter(features, podtopologyspread.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(interpodaffinity.Name, runtime.FactoryAdapter(features, interpodaffinity.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(volumebinding.Name, runtime.FactoryAdapter(features, volumebinding.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(volumerestrictions.Name, runtime.FactoryAdapter(features, volumerestrictions.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(nodedeclaredfeatures.Name, runtime.FactoryAdapter(features, nodedeclaredfeatures.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(nodevolumelimits.CSIName, runtime.FactoryAdapter(features, nodevolumelimits.NewCSI), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(volumezone.Name, runtime.FactoryAdapter(features, volumezone.New), "PreFilter", "Filter"),
		testing.RegisterPluginAsExtensions(dynamicresources.Name, runtime.FactoryAdapter(features, dynamicresources.New), "PreFilter", "Filter"),
	}
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println("referee", version.Get().GitVersion)
		return
	}
	metrics.Register()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		if err := encoder.Encode(decide(lines.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func decide(line []byte) answer {
	var given world
	if err := json.Unmarshal(line, &given); err != nil {
		return answer{Invalid: err.Error()}
	}
	if problems := refusedPod(&given.Pod); len(problems) > 0 {
		return answer{Invalid: problems[0].Error()}
	}
	valid := given
	valid.Nodes, valid.Pods = []v1.Node{}, []v1.Pod{}
	for i := range valid.Claims {
		legacyscheme.Scheme.Default(&valid.Claims[i])
	}
	for i := range valid.Volumes {
		legacyscheme.Scheme.Default(&valid.Volumes[i])
	}
	for i := range valid.Classes {
		legacyscheme.Scheme.Default(&valid.Classes[i])
	}
	for i := range valid.ResourceClaims {
		legacyscheme.Scheme.Default(&valid.ResourceClaims[i])
	}
	for _, node := range given.Nodes {
		if len(refusedNode(&node)) == 0 {
			valid.Nodes = append(valid.Nodes, node)
		}
	}
	for _, pod := range given.Pods {
		if len(refusedPod(&pod)) == 0 {
			valid.Pods = append(valid.Pods, pod)
		}
	}
	delivered, err := deliver(valid)
	if err != nil {
		return answer{Invalid: err.Error()}
	}
	verdicts, err := filter(&delivered)
	if err != nil {
		return answer{Invalid: err.Error()}
	}
	return answer{World: &valid, Verdicts: verdicts}
}

// deliver returns the world with canonical quantities, as from an apiserver. With other quantities ("0.1Mi" for the whole
// pod), the scheduler adds the overhead to the pod object itself, each time that it computes the sum.
func deliver(stored world) (world, error) {
	var delivered world
	written, err := json.Marshal(stored)
	if err == nil {
		err = json.Unmarshal(written, &delivered)
	}
	return delivered, err
}

func refusedPod(pod *v1.Pod) field.ErrorList {
	corev1.SetObjectDefaults_Pod(pod)
	var internal core.Pod
	if err := legacyscheme.Scheme.Convert(pod, &internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	// As at its creation, without the fields that only the system sets.
	internal.Status = core.PodStatus{}
	internal.DeletionTimestamp = nil
	internal.UID = ""
	podregistry.Strategy.PrepareForCreate(context.Background(), &internal)
	var created v1.Pod
	if err := legacyscheme.Scheme.Convert(&internal, &created, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	pod.Spec.Affinity, pod.Spec.TopologySpreadConstraints = created.Spec.Affinity, created.Spec.TopologySpreadConstraints
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	options.ResourceIsPod = true
	return validation.ValidatePodCreate(&internal, options)
}

func refusedNode(node *v1.Node) field.ErrorList {
	corev1.SetObjectDefaults_Node(node)
	var internal core.Node
	if err := legacyscheme.Scheme.Convert(node, &internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return validation.ValidateNode(&internal)
}

func filter(given *world) (map[string][]string, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	snapshot := cache.NewSnapshot(assigned(given), nodes(given))
	factory := informed(given)
	framework_, err := testing.NewFramework(ctx, plugins, "default-scheduler",
		runtime.WithSnapshotSharedLister(snapshot), runtime.WithInformerFactory(factory),
		runtime.WithSharedDRAManager(devices{given}),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())))
	if err != nil {
		return nil, err
	}
	defer framework_.Close()
	verdicts := map[string][]string{}
	for i := range given.Nodes {
		verdicts[given.Nodes[i].Name] = []string{}
	}
	everywhere := func(reasons ...string) (map[string][]string, error) {
		for name := range verdicts {
			verdicts[name] = reasons
		}
		return verdicts, nil
	}
	gates, err := schedulinggates.New(ctx, nil, framework_, features)
	if err != nil {
		return nil, err
	}
	if status := gates.(fwk.PreEnqueuePlugin).PreEnqueue(ctx, &given.Pod); !status.IsSuccess() {
		return everywhere(gates.Name())
	}
	state := framework.NewCycleState()
	among, status, _ := framework_.RunPreFilterPlugins(ctx, state, &given.Pod)
	if !status.IsSuccess() {
		return everywhere(status.Plugin(), status.Message())
	}
	for name := range verdicts {
		if !among.AllNodes() && !among.NodeNames.Has(name) {
			verdicts[name] = []string{nodeaffinity.Name, "not among the names that PreFilter leaves"}
			continue
		}
		info, err := snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, err
		}
		if status := framework_.RunFilterPlugins(ctx, state.Clone(), &given.Pod, info); !status.IsSuccess() {
			verdicts[name] = append([]string{status.Plugin()}, status.Reasons()...)
		}
	}
	return verdicts, nil
}

// assigned returns the pods in a snapshot of the scheduler's cache: its informer omits terminal phases, UpdateSnapshot omits
// the pods on nodes that are gone, and the pod to schedule is not among them.
func assigned(given *world) []*v1.Pod {
	there := map[string]bool{}
	for i := range given.Nodes {
		there[given.Nodes[i].Name] = true
	}
	var pods []*v1.Pod
	for i := range given.Pods {
		pod := &given.Pods[i]
		ended := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if there[pod.Spec.NodeName] && !ended && pod.UID != given.Pod.UID {
			pods = append(pods, pod)
		}
	}
	return pods
}

// informed returns informers, never started, with the world's namespaces and volumes.
func informed(given *world) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(nil, 0)
	known := factory.Core().V1().Namespaces().Informer().GetIndexer()
	for name, labels := range given.Namespaces {
		known.Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	for i := range given.Claims {
		factory.Core().V1().PersistentVolumeClaims().Informer().GetIndexer().Add(&given.Claims[i])
	}
	for i := range given.Volumes {
		factory.Core().V1().PersistentVolumes().Informer().GetIndexer().Add(&given.Volumes[i])
	}
	for i := range given.Classes {
		factory.Storage().V1().StorageClasses().Informer().GetIndexer().Add(&given.Classes[i])
	}
	for i := range given.Limits {
		factory.Storage().V1().CSINodes().Informer().GetIndexer().Add(&given.Limits[i])
	}
	for i := range given.Drivers {
		factory.Storage().V1().CSIDrivers().Informer().GetIndexer().Add(&given.Drivers[i])
	}
	for i := range given.Capacities {
		factory.Storage().V1().CSIStorageCapacities().Informer().GetIndexer().Add(&given.Capacities[i])
	}
	return factory
}

func nodes(given *world) []*v1.Node {
	var found []*v1.Node
	for i := range given.Nodes {
		found = append(found, &given.Nodes[i])
	}
	return found
}
