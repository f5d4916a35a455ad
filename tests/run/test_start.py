"""What starts with every pytest run, and with every command, is light."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["schedproof.pytest_plugin", "schedproof.cli.main"])
def test_no_client_of_a_cluster_is_loaded_before_a_run_is_asked_for(module: str) -> None:
    code = f"import sys, {module}; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
