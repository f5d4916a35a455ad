package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// newPlugin makes the plugin as kube-scheduler does: with the args as its configuration gives them, and with the real
// framework as handle. Of other plugins only those are on that no profile can be without.
func newPlugin(
	ctx context.Context, asked setup, registryOptions []Option, client clientset.Interface,
	informerFactory informers.SharedInformerFactory, lister sharedLister,
) (plugin, framework.Framework, error) {
	own, registry := runtime.Registry{}, plugins.NewInTreeRegistry()
	for _, option := range registryOptions {
		if err := option(own); err != nil {
			return nil, nil, err
		}
	}
	if err := registry.Merge(own); err != nil {
		return nil, nil, err
	}
	factory, registered := registry[asked.Plugin]
	if !registered {
		// In kube-scheduler's words.
		return nil, nil, fmt.Errorf("MultiPoint %q does not exist", asked.Plugin)
	}
	profile, err := profileOf(asked)
	if err != nil {
		return nil, nil, err
	}
	metrics.Register()
	handle, err := runtime.NewFramework(ctx, registry, profile, append(ofThisMinor(),
		runtime.WithComponentConfigVersion("kubescheduler.config.k8s.io/v1"),
		runtime.WithClientSet(client),
		runtime.WithKubeConfig(&restclient.Config{}),
		runtime.WithInformerFactory(informerFactory),
		runtime.WithSnapshotSharedLister(lister),
		runtime.WithEventRecorder(&events.FakeRecorder{}),
		runtime.WithParallelism(parallelize.DefaultParallelism),
		runtime.WithWaitingPods(runtime.NewWaitingPodsMap()),
		runtime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())),
		runtime.WithLogger(klog.FromContext(ctx)),
	)...)
	if err != nil {
		return nil, nil, err
	}
	pods := queue.NewSchedulingQueue(handle.QueueSortFunc(), informerFactory)
	handle.SetPodNominator(pods)
	handle.SetPodActivator(pods)

	plugin, err := factory(ctx, argsOf(profile, asked.Plugin), handle)
	if err != nil {
		return nil, nil, fmt.Errorf("initializing plugin %q: %w", asked.Plugin, err)
	}
	return plugin, handle, nil
}

// profileOf reads the args through kube-scheduler's own configuration, because they reach a plugin as that decodes
// them.
func profileOf(asked setup) (*config.KubeSchedulerProfile, error) {
	type named struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	profile := map[string]any{
		"schedulerName": "schedproof",
		"plugins": map[string]any{
			"multiPoint": map[string]any{"disabled": []named{{Name: "*"}}},
			"queueSort":  map[string]any{"enabled": []named{{Name: "PrioritySort"}}},
			"bind":       map[string]any{"enabled": []named{{Name: "DefaultBinder"}}},
		},
	}
	if len(asked.Args) > 0 && string(asked.Args) != "null" {
		profile["pluginConfig"] = []named{{Name: asked.Plugin, Args: asked.Args}}
	}
	document, err := json.Marshal(map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": []any{profile},
	})
	if err != nil {
		return nil, err
	}
	decoded, _, err := scheme.Codecs.UniversalDecoder().Decode(document, nil, nil)
	if err != nil {
		return nil, err
	}
	return &decoded.(*config.KubeSchedulerConfiguration).Profiles[0], nil
}
