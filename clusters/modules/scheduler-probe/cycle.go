package app

import (
	"context"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

func argsOf(profile *config.KubeSchedulerProfile, plugin string) runtime.Object {
	for _, each := range profile.PluginConfig {
		if each.Name == plugin {
			return each.Args
		}
	}
	return nil
}

// cycle asks one plugin. It does what kube-scheduler does from a pod to its scores, step by step, but for two things:
// scores are not held to 0..100, and one feasible node is scored as well.
type cycle struct {
	client *fake.Clientset
	handle framework.Framework
	plugin scorePlugin
	nodes  *nodes
	number int64

	template v1.Pod
}

func newCycle(ctx context.Context, asked setup, registryOptions []Option) (*cycle, error) {
	client := fake.NewSimpleClientset()
	informerFactory := newInformerFactory(client)
	nodes := newNodes(client, informerFactory, asked.Node)
	plugin, handle, err := newPlugin(ctx, asked, registryOptions, client, informerFactory, nodes)
	if err != nil {
		return nil, err
	}
	scoring, scores := plugin.(scorePlugin)
	if !scores {
		return nil, fmt.Errorf("plugin %q does not extend Score plugin", asked.Plugin)
	}
	informerFactory.Start(ctx.Done())
	informerFactory.WaitForCacheSync(ctx.Done())
	return &cycle{client: client, handle: handle, plugin: scoring, nodes: nodes, template: asked.Pod}, nil
}

func (c *cycle) answer(ctx context.Context, asked question) answer {
	state, pod := framework.NewCycleState(), c.pod()
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "pod", klog.KObj(pod)))
	var scores nodeScoreList
	said := answer{ID: asked.ID}
	if asked.Raw != nil {
		scores = listed(asked.Nodes, asked.Raw)
		said.Raw = asked.Raw
	} else {
		nodes := c.nodes.use(asked.Nodes, asked.Addresses)
		c.client.ClearActions() // it remembers what plugins call
		feasible, status := c.filter(ctx, state, pod, nodes)
		said.Filtered = missing(nodes, feasible)
		if !status.IsSuccess() {
			return refusing(said, status)
		}
		if len(feasible) == 0 {
			return said
		}
		scores, status = c.score(ctx, state, pod, feasible)
		if status.IsSkip() {
			said.Nodes, said.Scores = apart(scores)
			return said
		}
		if !status.IsSuccess() {
			return refusing(said, status)
		}
		_, said.Raw = apart(scores)
	}
	if status := c.normalize(ctx, state, pod, scores); !status.IsSuccess() {
		return refusing(said, status)
	}
	said.Nodes, said.Scores = apart(scores)
	return said
}

func refusing(said answer, status *fwk.Status) answer {
	said.Raw, said.Refusal = nil, status.Message()
	if said.Refusal == "" {
		said.Refusal = status.Code().String()
	}
	return said
}

// filter returns the nodes that the plugin keeps. See findNodesThatFitPod and RunFilterPlugins.
func (c *cycle) filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, *fwk.Status) {
	if plugin, filters := c.plugin.(preFilterPlugin); filters {
		result, status := plugin.PreFilter(ctx, state, pod, nodes)
		switch {
		case status.IsSkip():
			return nodes, nil
		case status.IsRejected():
			return nil, status
		case !status.IsSuccess():
			return nodes, fwk.AsStatus(fmt.Errorf("running PreFilter plugin %q: %w", plugin.Name(), status.AsError()))
		}
		if !result.AllNodes() {
			nodes = keep(nodes, func(i int) bool { return result.NodeNames.Has(nodes[i].Node().Name) })
		}
	}
	plugin, filters := c.plugin.(filterPlugin)
	if !filters {
		return nodes, nil
	}
	statuses := make([]*fwk.Status, len(nodes))
	c.each(ctx, len(nodes), metrics.Filter, func(i int) {
		statuses[i] = plugin.Filter(ctx, state, pod, nodes[i])
	})
	for _, status := range statuses {
		if !status.IsSuccess() && !status.IsRejected() {
			return nodes, fwk.AsStatus(fmt.Errorf("running %q filter plugin: %w", plugin.Name(), status.AsError()))
		}
	}
	return keep(nodes, func(i int) bool { return statuses[i].IsSuccess() }), nil
}

// score returns raw scores, or the highest score for each node and the status Skip where the plugin prefers none. See
// RunPreScorePlugins and RunScorePlugins.
func (c *cycle) score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (nodeScoreList, *fwk.Status) {
	scores := make(nodeScoreList, len(nodes))
	if plugin, prepares := c.plugin.(preScorePlugin); prepares {
		status := plugin.PreScore(ctx, state, pod, nodes)
		if status.IsSkip() {
			for i, node := range nodes {
				scores[i] = nodeScore{Name: node.Node().Name, Score: maxNodeScore}
			}
			return scores, status
		}
		if !status.IsSuccess() {
			return nil, fwk.AsStatus(fmt.Errorf("running PreScore plugin %q: %w", plugin.Name(), status.AsError()))
		}
	}
	statuses := make([]*fwk.Status, len(nodes))
	c.each(ctx, len(nodes), metrics.Score, func(i int) {
		scores[i].Name = nodes[i].Node().Name
		scores[i].Score, statuses[i] = c.plugin.Score(ctx, state, pod, nodes[i])
	})
	for _, status := range statuses {
		if !status.IsSuccess() {
			return nil, fwk.AsStatus(fmt.Errorf("running Score plugins: plugin %q failed with: %w", c.plugin.Name(), status.AsError()))
		}
	}
	return scores, nil
}

// normalize turns raw scores into scores, in place.
func (c *cycle) normalize(ctx context.Context, state fwk.CycleState, pod *v1.Pod, scores nodeScoreList) (status *fwk.Status) {
	extensions := c.plugin.ScoreExtensions()
	if extensions == nil {
		return nil
	}
	c.each(ctx, 1, metrics.Score, func(int) {
		status = extensions.NormalizeScore(ctx, state, pod, scores)
	})
	if !status.IsSuccess() {
		return fwk.AsStatus(fmt.Errorf("running Normalize on Score plugins: plugin %q failed with: %w", c.plugin.Name(), status.AsError()))
	}
	return nil
}

// each calls do for each piece, in goroutines without recover: as in kube-scheduler, a panic ends the process. A goroutine
// that panics is counted as done before the process ends. To give no answer in that case, each then waits for the end.
func (c *cycle) each(ctx context.Context, pieces int, operation string, do func(int)) {
	var done atomic.Int64
	c.handle.Parallelizer().Until(ctx, pieces, func(i int) {
		do(i)
		done.Add(1)
	}, operation)
	if done.Load() < int64(pieces) {
		select {}
	}
}

// pod returns a new pod for each question, which a plugin cannot have seen before.
func (c *cycle) pod() *v1.Pod {
	c.number++
	pod := c.template.DeepCopy()
	pod.Namespace, pod.Name = "default", fmt.Sprintf("probe-%d", c.number)
	pod.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", c.number))
	return pod
}

func keep(nodes []fwk.NodeInfo, kept func(int) bool) []fwk.NodeInfo {
	var found []fwk.NodeInfo
	for i, node := range nodes {
		if kept(i) {
			found = append(found, node)
		}
	}
	return found
}

// missing names the nodes that are not among those left, which are in the same order.
func missing(nodes, left []fwk.NodeInfo) []string {
	var names []string
	for _, node := range nodes {
		if len(left) > 0 && left[0] == node {
			left = left[1:]
		} else {
			names = append(names, node.Node().Name)
		}
	}
	return names
}

func listed(names []string, scores []int64) nodeScoreList {
	list := make(nodeScoreList, len(names))
	for i, name := range names {
		list[i] = nodeScore{Name: name, Score: scores[i]}
	}
	return list
}

func apart(list nodeScoreList) (names []string, scores []int64) {
	for _, node := range list {
		names, scores = append(names, node.Name), append(scores, node.Score)
	}
	return names, scores
}
