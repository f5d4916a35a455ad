"""Reads the permissions of an identity: `spec.rbac`, and `rbac` of a process."""

from __future__ import annotations

from schedproof.candidate.kinds import PolicyRule, RbacSpec
from schedproof.documents.fields import Field


def read_rbac(field: Field) -> RbacSpec:
    section = field.section("clusterRoles", "rules")
    roles = section["clusterRoles"].items("[system:kube-scheduler]", empty=True) if "clusterRoles" in section else []
    rules = section["rules"].items("{apiGroups: [...], ...}", empty=True) if "rules" in section else []
    return RbacSpec(
        cluster_roles=tuple(role.text("system:kube-scheduler") for role in roles),
        rules=tuple(_rule(rule) for rule in rules),
    )


def _rule(field: Field) -> PolicyRule:
    section = field.section("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    rule = PolicyRule(
        verbs=section["verbs"].texts("[get, list, watch]"),
        api_groups=section["apiGroups"].texts('[""]', blank=True) if "apiGroups" in section else (),
        resources=section["resources"].texts("[pods]") if "resources" in section else (),
        resource_names=section["resourceNames"].texts("[my-lease]") if "resourceNames" in section else (),
        non_resource_urls=section["nonResourceURLs"].texts("[/metrics]") if "nonResourceURLs" in section else (),
    )
    if not section.sound:
        return rule
    if rule.non_resource_urls and (rule.api_groups or rule.resources or rule.resource_names):
        section.complain(
            "contradiction", "a rule is about resources or about URLs, not both", "split it into two rules"
        )
    elif not rule.non_resource_urls and not (rule.api_groups and rule.resources):
        section.complain(
            "missing-field",
            "a rule needs apiGroups and resources, or nonResourceURLs",
            'such as `{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}`',
        )
    return rule
