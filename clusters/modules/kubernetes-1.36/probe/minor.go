package app

import (
	"fmt"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// ofThisMinor is what the framework of other minor versions does not take.
func ofThisMinor() []runtime.Option {
	return []runtime.Option{runtime.WithPodsInPreBind(runtime.NewPodsInPreBindMap())}
}

// newInformerFactory is kube-scheduler's own.
func newInformerFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0)
}

func (n *nodes) PodGroupStates() fwk.PodGroupStateLister { return noPodGroups{} }

type noPodGroups struct{}

func (noPodGroups) Get(namespace, name string) (fwk.PodGroupState, error) {
	return nil, fmt.Errorf("there is no pod group %s/%s", namespace, name)
}
