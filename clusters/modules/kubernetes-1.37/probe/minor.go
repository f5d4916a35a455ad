package app

import (
	"fmt"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// ofThisMinor is what the framework of earlier minor versions does not take.
func ofThisMinor() []runtime.Option {
	return []runtime.Option{runtime.WithPodsInPreBind(runtime.NewPodsInPreBindMap())}
}

func (n *nodes) PodGroups() fwk.PodGroupLister {
	return none[*schedulingv1beta1.PodGroup]{}
}

func (n *nodes) PodGroupStates() fwk.PodGroupStateLister {
	return none[fwk.PodGroupState]{}
}

func (n *nodes) CompositePodGroups() fwk.CompositePodGroupLister {
	return none[*schedulingv1alpha3.CompositePodGroup]{}
}

func (n *nodes) CompositePodGroupStates() fwk.CompositePodGroupStateLister {
	return none[fwk.CompositePodGroupState]{}
}

// none is a lister of groups of pods, of which there are none.
type none[T any] struct{}

func (none[T]) Get(namespace, name string) (found T, err error) {
	return found, fmt.Errorf("there is no pod group %s/%s", namespace, name)
}
