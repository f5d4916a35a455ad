"""`schedproof migrate-config`: what it prints, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from schedproof.cli.migrate_config import migrate_config
from schedproof.foundation.errors import UsageError

OLD = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"


def test_comments_say_what_changed_above_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text(OLD)
    printed = migrate_config(file)
    assert printed.startswith("# apiVersion: ")
    assert yaml.safe_load(printed)["apiVersion"] == "kubescheduler.config.k8s.io/v1"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (None, "No such file"),
        ("a: [", "not YAML"),
        ("kind: Policy", "Policy"),
        ("kind: Pod", "not a KubeSchedulerConfiguration"),
        ("[]", "not a KubeSchedulerConfiguration"),
        (OLD.replace("v1beta3", "v1alpha1"), "v1alpha1"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str | None, fact: str) -> None:
    file = tmp_path / "file.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=fact):
        migrate_config(file)
