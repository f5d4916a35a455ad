package main

import (
	"context"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
)

type rules struct {
	DeviceTaintRules []resource.DeviceTaintRule `json:"deviceTaintRules"`
}

// tainted returns the slices as kube-scheduler's tracker gives them to its plugin: with the taints of rules.
func (w *world) tainted() []*resource.ResourceSlice {
	if len(w.DeviceTaintRules) == 0 {
		return pointers(w.ResourceSlices)
	}
	var objects []runtime.Object
	for i := range w.ResourceSlices {
		objects = append(objects, &w.ResourceSlices[i])
	}
	for i := range w.DeviceTaintRules {
		objects = append(objects, &w.DeviceTaintRules[i])
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	api := factory.Resource().V1()
	followed, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules: true, SliceInformer: api.ResourceSlices(), TaintInformer: api.DeviceTaintRules(),
	})
	if err != nil {
		panic(err)
	}
	defer followed.Stop()
	factory.Start(ctx.Done())
	<-followed.HasSyncedChecker().Done()
	found, err := followed.ListPatchedResourceSlices()
	if err != nil {
		panic(err)
	}
	return found
}
