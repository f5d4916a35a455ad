package main

import (
	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
)

// devices has a world's objects of dynamic resource allocation. Nothing is ever allocated: the plugin only filters.
type devices struct{ *world }

func (d devices) ResourceClaims() fwk.ResourceClaimTracker     { return claims(d) }
func (d devices) ResourceSlices() fwk.ResourceSliceLister      { return slices(d) }
func (d devices) DeviceClasses() fwk.DeviceClassLister         { return classes(d) }
func (d devices) DeviceClassResolver() fwk.DeviceClassResolver { return resolver(d) }
func (d devices) PodGroups() fwk.PodGroupLister                { return nil }

type (
	claims   struct{ *world }
	slices   struct{ *world }
	classes  struct{ *world }
	resolver struct{ *world }
)

// GetDeviceClass returns the class that an extended resource stands for. Worlds have at most one for each.
func (r resolver) GetDeviceClass(name v1.ResourceName) *resource.DeviceClass {
	for i, class := range r.DeviceClasses {
		explicit := class.Spec.ExtendedResourceName
		if explicit != nil && *explicit == string(name) || resource.ResourceDeviceClassPrefix+class.Name == string(name) {
			return &r.DeviceClasses[i]
		}
	}
	return nil
}

func (s slices) ListWithDeviceTaintRules() ([]*resource.ResourceSlice, error) {
	return s.tainted(), nil
}

func (c classes) List() ([]*resource.DeviceClass, error) { return pointers(c.DeviceClasses), nil }

func (c classes) Get(name string) (*resource.DeviceClass, error) {
	for i := range c.DeviceClasses {
		if c.DeviceClasses[i].Name == name {
			return &c.DeviceClasses[i], nil
		}
	}
	return nil, apierrors.NewNotFound(resource.Resource("deviceclasses"), name)
}

func (c claims) List() ([]*resource.ResourceClaim, error) { return pointers(c.ResourceClaims), nil }

func (c claims) Get(namespace, name string) (*resource.ResourceClaim, error) {
	for i := range c.ResourceClaims {
		if c.ResourceClaims[i].Namespace == namespace && c.ResourceClaims[i].Name == name {
			return &c.ResourceClaims[i], nil
		}
	}
	return nil, apierrors.NewNotFound(resource.Resource("resourceclaims"), name)
}

func (c claims) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	state, err := c.GatherAllocatedState()
	return state.AllocatedDevices, err
}

func (c claims) GatherAllocatedState() (*structured.AllocatedState, error) {
	state := &structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range c.ResourceClaims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil {
				state.AllocatedDevices.Insert(id)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
	return state, nil
}

func (claims) SignalClaimPendingAllocation(types.UID, *resource.ResourceClaim) error { return nil }
func (claims) GetPendingAllocation(types.UID) *resource.AllocationResult             { return nil }
func (claims) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool                { return false }
func (claims) AssumeClaimAfterAPICall(*resource.ResourceClaim) error                 { return nil }
func (claims) AssumedClaimRestore(string, string)                                    {}

func pointers[T any](items []T) []*T {
	var found []*T
	for i := range items {
		found = append(found, &items[i])
	}
	return found
}
