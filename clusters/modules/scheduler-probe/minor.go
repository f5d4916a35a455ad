package app

import "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

// ofThisMinor is what the framework takes in some minor versions only. These have a file of this name.
func ofThisMinor() []runtime.Option { return nil }
