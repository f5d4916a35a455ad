package app

import fwk "k8s.io/kube-scheduler/framework"

// The framework's interfaces. A minor version that has them elsewhere has a file of this name.
type (
	filterPlugin      = fwk.FilterPlugin
	nodeInfoLister    = fwk.NodeInfoLister
	nodeScore         = fwk.NodeScore
	nodeScoreList     = fwk.NodeScoreList
	plugin            = fwk.Plugin
	preFilterPlugin   = fwk.PreFilterPlugin
	preScorePlugin    = fwk.PreScorePlugin
	scorePlugin       = fwk.ScorePlugin
	sharedLister      = fwk.SharedLister
	storageInfoLister = fwk.StorageInfoLister
)

const maxNodeScore = fwk.MaxNodeScore
