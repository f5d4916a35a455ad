"""Modules that every pytest run and every command import load quickly."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["schedproof.pytest_plugin", "schedproof.cli.main"])
def test_the_kubernetes_client_is_not_imported_before_a_run(module: str) -> None:
    code = f"import sys, {module}; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
