package app

import (
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// ofThisMinor is what the framework of earlier minor versions does not take.
func ofThisMinor() []runtime.Option {
	return []runtime.Option{runtime.WithPodsInPreBind(runtime.NewPodsInPreBindMap())}
}

func (n *nodes) PodGroupStates() fwk.PodGroupStateLister { return noPodGroups{} }

type noPodGroups struct{}

func (noPodGroups) Get(namespace, name string) (fwk.PodGroupState, error) {
	return nil, fmt.Errorf("there is no pod group %s/%s", namespace, name)
}
