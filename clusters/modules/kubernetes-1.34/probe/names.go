package app

import "k8s.io/kubernetes/pkg/scheduler/framework"

// The framework's interfaces, which 1.35 moves to k8s.io/kube-scheduler.
type (
	filterPlugin      = framework.FilterPlugin
	nodeInfoLister    = framework.NodeInfoLister
	nodeScore         = framework.NodeScore
	nodeScoreList     = framework.NodeScoreList
	plugin            = framework.Plugin
	preFilterPlugin   = framework.PreFilterPlugin
	preScorePlugin    = framework.PreScorePlugin
	scorePlugin       = framework.ScorePlugin
	sharedLister      = framework.SharedLister
	storageInfoLister = framework.StorageInfoLister
)

const maxNodeScore = framework.MaxNodeScore
