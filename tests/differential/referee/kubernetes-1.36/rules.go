package main

import resource "k8s.io/api/resource/v1"

// rules has nothing: DeviceTaintRules are off by default.
type rules struct{}

func (w *world) tainted() []*resource.ResourceSlice { return pointers(w.ResourceSlices) }
