"""`schedproof migrate-config FILE`: prints a scheduler configuration of a removed API version as v1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from schedproof.candidate.config_migration import REMOVED_VERSIONS, migrated
from schedproof.candidate.scheduler_config import SERVED_VERSION
from schedproof.foundation.errors import UsageError

_KIND = "KubeSchedulerConfiguration"


def migrate_config(file: Path) -> str:
    """The configuration as YAML, below comments that say what changed.

    Raises:
        UsageError: the file cannot be read, or is not a configuration that can be migrated.
    """
    migration, changes = migrated(_read(file))
    comments = [f"# {change}" for change in changes or ["unchanged: it has the API version that is served"]]
    return "\n".join([*comments, yaml.safe_dump(migration, sort_keys=False).rstrip()])


def _read(file: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", remedy=f"name a file with a {_KIND}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{file}: not YAML: {error}", remedy=f"name a file with a {_KIND}") from error
    if isinstance(document, dict) and document.get("kind") == "Policy":
        raise UsageError(
            f"{file}: a Policy, which Kubernetes has not read since 1.23",
            remedy=f"write a {_KIND} whose profile enables the plugins that stand for its predicates and priorities",
        )
    if not isinstance(document, dict) or document.get("kind") != _KIND:
        raise UsageError(f"{file}: not a {_KIND}", remedy="name the file that --config of kube-scheduler names")
    if document.get("apiVersion") not in (SERVED_VERSION, *REMOVED_VERSIONS):
        raise UsageError(
            f"{file}: unknown apiVersion {document.get('apiVersion')!r}",
            remedy=f"one of {', '.join(REMOVED_VERSIONS)} can be migrated",
        )
    return document
