// Command extender calls extenders with kube-scheduler's HTTPExtender.
//
// Each line of standard input is a call: {"url": ..., "verb": "filter", "prioritize" or "bind", "byNames": whether
// nodeCacheCapable is set, "nodes": [names], "times": number of calls, over one connection if it is kept alive}. The
// line of standard output is a list of results: {"error": ...}, or the result that kube-scheduler uses.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/version"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type question struct {
	URL     string   `json:"url"`
	Verb    string   `json:"verb"`
	ByNames bool     `json:"byNames"`
	Nodes   []string `json:"nodes"`
	Times   int      `json:"times"`
}

type answer struct {
	Error  string                      `json:"error,omitempty"`
	Nodes  []string                    `json:"nodes"`
	Failed extenderv1.FailedNodesMap   `json:"failed"`
	Scores extenderv1.HostPriorityList `json:"scores"`
}

func ask(extender fwk.Extender, asked question) answer {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default", UID: "1"}}
	nodes := make([]fwk.NodeInfo, len(asked.Nodes))
	for i, name := range asked.Nodes {
		nodes[i] = framework.NewNodeInfo()
		nodes[i].SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	var found answer
	var err error
	switch asked.Verb {
	case "filter":
		var passed []fwk.NodeInfo
		var unresolvable extenderv1.FailedNodesMap
		passed, found.Failed, unresolvable, err = extender.Filter(pod, nodes)
		if found.Failed == nil {
			found.Failed = extenderv1.FailedNodesMap{}
		}
		for name, reason := range unresolvable {
			found.Failed[name] = reason
		}
		for _, node := range passed {
			found.Nodes = append(found.Nodes, node.Node().Name)
		}
	case "prioritize":
		var scores *extenderv1.HostPriorityList
		if scores, _, err = extender.Prioritize(pod, nodes); err == nil {
			found.Scores = *scores
		}
	case "bind":
		err = extender.Bind(&v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default", UID: "1"},
			Target:     v1.ObjectReference{Kind: "Node", Name: asked.Nodes[0]},
		})
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return found
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("extender", version.Get().GitVersion)
		return
	}
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		extender, err := scheduler.NewHTTPExtender(&config.Extender{
			URLPrefix: asked.URL, FilterVerb: "filter", PrioritizeVerb: "prioritize", BindVerb: "bind", Weight: 1,
			NodeCacheCapable: asked.ByNames, HTTPTimeout: metav1.Duration{Duration: 10 * time.Second},
		})
		if err != nil {
			log.Fatal(err)
		}
		var answers []answer
		for range asked.Times {
			answers = append(answers, ask(extender, asked))
		}
		_ = out.Encode(answers)
	}
}
