package app

import "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

// ofThisMinor is what the framework of other minor versions does not take.
func ofThisMinor() []runtime.Option { return nil }
