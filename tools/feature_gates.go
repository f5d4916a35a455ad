// Prints each feature gate of a minor version of Kubernetes: the stage and the default that it has there, as JSON.
// tools/feature_gates.py runs it with the pins of each version.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/kubernetes/pkg/features"
)

type gate struct {
	Stage   string `json:"stage"`
	Default bool   `json:"default"`
	Locked  bool   `json:"locked"`
}

func main() {
	minor := version.MustParse(os.Args[1])
	gates := map[string]gate{}
	for name, specs := range utilfeature.DefaultMutableFeatureGate.GetAllVersioned() {
		for _, spec := range specs { // the oldest comes first
			if spec.Version.GreaterThan(minor) {
				continue
			}
			stage := string(spec.PreRelease)
			if stage == "" {
				stage = "GA"
			}
			gates[string(name)] = gate{Stage: stage, Default: spec.Default, Locked: spec.LockToDefault}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(gates); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
