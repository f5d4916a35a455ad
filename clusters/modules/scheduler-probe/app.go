// Package app replaces k8s.io/kubernetes/cmd/kube-scheduler/app in a scheduler that returns scores instead of scheduling.
// schedproof adds it to a candidate's sources, which import it under that path.
//
//	app.go       what a scheduler's main takes from the package
//	lines.go     the questions, and how they come and go
//	scheduler.go the scheduling framework around the plugin
//	cycle.go     the part of a scheduling cycle that leads to scores
//	nodes.go     the nodes of a question, in all the ways in which a plugin may look at them
package app

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/config"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Option is kube-scheduler's: it adds to the registry of plugins.
type Option = app.Option

// WithPlugin is kube-scheduler's.
func WithPlugin(name string, factory runtime.PluginFactory) Option {
	return app.WithPlugin(name, factory)
}

// NewSchedulerCommand is a command that answers questions until its standard input ends.
func NewSchedulerCommand(registryOptions ...Option) *cobra.Command {
	command := app.NewSchedulerCommand(registryOptions...)
	command.RunE = func(command *cobra.Command, _ []string) error { return serve(command.Context(), registryOptions) }
	return command
}

// Setup is for a main that has a command of its own: it answers questions, and never gets to scheduling.
func Setup(ctx context.Context, _ *options.Options, registryOptions ...Option) (*config.CompletedConfig, *scheduler.Scheduler, error) {
	return nil, nil, serve(ctx, registryOptions)
}

// Run is never reached, because Setup does not return successfully.
func Run(context.Context, *config.CompletedConfig, *scheduler.Scheduler) error { return nil }
