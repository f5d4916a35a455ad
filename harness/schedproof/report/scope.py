"""What a run on a cluster that others run may touch there, and what it cannot judge: told before it starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec, ControllerSpec, ExtenderSpec, PluginSpec
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.clusters.registration import Surveyed
from schedproof.deploy.attached.scheduler import require_restartable
from schedproof.deploy.attached.withheld import RESTART_ATTACHED, withheld
from schedproof.deploy.attached.workload import find_leader, find_pods
from schedproof.deploy.image import require_images
from schedproof.foundation.counted import counted
from schedproof.foundation.errors import UsageError
from schedproof.history.acts import RunCluster
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import OF_CANDIDATE
from schedproof.judge.judge import applies
from schedproof.run.launch import check
from schedproof.run.request import RunRequest

_OWN = "only clusters that a run starts have it"


def scope(request: RunRequest) -> list[str]:
    """Return the lines of it; none where the run has a cluster of its own.

    Raises:
        SchedproofError: the cluster cannot be reached, or a candidate is not found there.
    """
    settings = request.settings
    check(settings)
    if settings.kind.survey is None:
        return []
    with settings.kind.survey(settings) as cluster:
        lines = [f"on {cluster.where}, this run may do no more than this:"]
        lines += [f"  {line}" for line in cluster.touched]
        for candidate in request.candidates:
            if candidate.needs_readings:
                cluster.require_prometheus()
            lines += [f"  {line}" for line in _of_attached(candidate, cluster)]
            if settings.deployed == "pod":
                lines += [f"  {line}" for line in _of_pods(candidate, cluster, registry=settings.registry or "")]
            lines += _not_judged(candidate, cluster, request)
    return lines


def _of_attached(candidate: Candidate, cluster: Surveyed) -> Iterator[str]:
    """What is found of a candidate that runs there already, and may be done with it."""
    spec = candidate.spec
    if not isinstance(spec, AttachedSpec):
        return
    if not spec.is_visible:
        yield f"{candidate.name} runs where the harness does not see it: only what it does in the API is judged"
        return
    pods = find_pods(cluster.api, candidate)
    leader = find_leader(cluster.api, candidate, pods)
    may_restart = RESTART_ATTACHED in cluster.capabilities
    if may_restart:
        require_restartable(candidate, pods)
    names = ", ".join(pod.name + (" (leads)" if pod.name == leader else "") for pod in pods)
    user = spec.user or pods[0].user
    about = [
        f"image {', '.join(dict.fromkeys(pod.image for pod in pods))}",
        f"user {user}" if user else "its user in the audit log is not known",
        f"restarted {counted(sum(pod.restarts for pod in pods), 'time')} so far",
    ]
    done = "it deletes these pods for clauses about restarts" if may_restart else "it does not change them"
    yield f"{candidate.name} is {counted(len(pods), 'pod')} in {spec.namespace}: {names}; {'; '.join(about)}"
    yield f"it reads the state and the logs of these pods; {done}"


def _of_pods(candidate: Candidate, cluster: Surveyed, *, registry: str) -> Iterator[str]:
    """What is created for a candidate that is deployed as pods."""
    spec, image = candidate.spec, candidate.image
    if isinstance(spec, AttachedSpec):
        return
    require_images(candidate, builds=bool(registry))
    if "real-pods" not in cluster.capabilities:
        raise UsageError(
            "--deploy pod: the kubelets of this cluster are simulated, and start no containers",
            remedy="leave it out: candidates then run as processes of this machine",
        )
    names = [f"candidate-{candidate.name}-{process.name}" for process in candidate.processes]
    if not isinstance(spec, PluginSpec):
        names.append(f"candidate-{candidate.name}")
    if not isinstance(spec, ControllerSpec):
        names.append(f"scheduler-{candidate.name}")
    pushed = f"an image that is pushed to {registry}"
    source = "its own kube-scheduler" if isinstance(spec, PluginSpec) and spec.stock else pushed
    beside = " and the cluster's own kube-scheduler" if isinstance(spec, ExtenderSpec) else ""
    yield (
        f"{candidate.name} runs as {counted(len(names), 'Deployment')} ({', '.join(names)}) "
        f"of {image.ref or source}{beside}, with ServiceAccounts, Secrets, ConfigMaps and Services as needed"
    )
    more = () if isinstance(spec, ControllerSpec) else SCHEDULER_RBAC.cluster_roles
    rights = [f"the ClusterRole {role}" for role in dict.fromkeys((*candidate.rbac.cluster_roles, *more))]
    if candidate.rbac.rules:
        rights.append(f"{counted(len(candidate.rbac.rules), 'rule')} of spec.rbac")
    rights += [f"{counted(len(role.rules), 'rule')} in the namespace {role.namespace}" for role in candidate.rbac.roles]
    yield f"it is granted {', '.join(rights) or 'no rights'}"


def _not_judged(candidate: Candidate, cluster: Surveyed, request: RunRequest) -> Iterator[str]:
    described = RunCluster(
        name=request.settings.kind.name, minor=cluster.kubernetes, capabilities=sorted(cluster.capabilities),
        withheld=withheld(candidate, cluster.capabilities, request.settings.deployed), nodes=list(cluster.nodes),
    )  # fmt: skip
    selected = [CATALOGUE[clause] for one, clause in request.trials if one.name == candidate.name]
    verdicts = [(clause, applies(clause, candidate.claims, described)) for clause in selected]
    skipped = [(clause, verdict) for clause, verdict in verdicts if verdict and verdict.outcome == "skipped"]
    if not skipped:
        return
    claimed = [clause for clause, verdict in verdicts if verdict is None or verdict.outcome == "skipped"]
    yield f"not judged of {candidate.name}: {len(skipped)} of {counted(len(claimed), 'clause')}, for lack of"
    reasons: Counter[str] = Counter()
    for clause, verdict in skipped:
        lacking = clause.needs - OF_CANDIDATE - cluster.capabilities
        reasons.update(f"{name} ({cluster.added_by.get(name, _OWN)})" for name in lacking)
        reasons.update(f"{name} ({described.withheld[name]})" for name in clause.needs & described.withheld.keys())
        if verdict.code == "not-possible-here":
            reasons[verdict.summary] += 1
    yield from (f"  {reason}: {counted(count, 'clause')}" for reason, count in reasons.most_common())


def tell(request: RunRequest, *, dry_run: bool) -> list[str]:
    """Return the lines to print before a run.

    Raises:
        UsageError: `dry_run` is asked for where the run has a cluster of its own.
        SchedproofError: see `scope`.
    """
    lines = scope(request)
    if dry_run and not lines:
        raise UsageError(
            f"--dry-run: with --cluster {request.settings.kind.name} the run starts a cluster of its own, and touches "
            "no other",
            remedy="leave it out, or choose --cluster existing",
        )
    return lines
