"""Sonobuoy's contract: a result in the worker's folder, and then its path in `done`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from schedproof.foundation.content import content
from schedproof.submission.sonobuoy import run, without_result


def test_a_run_without_a_report_is_an_error_of_its_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results"
    assert run(["no-such-candidate"], results) == 2
    assert "candidate 'no-such-candidate' not found" in capfd.readouterr().out
    assert (results / "done").read_text() == str(results / "junit.xml")
    (case,) = ElementTree.parse(results / "junit.xml").getroot()
    assert "candidate 'no-such-candidate' not found" in (case[0].text or "")


def test_the_output_may_contain_anything() -> None:
    suite = ElementTree.fromstring(without_result("<a> & \x1b[1m\x00 b"))
    assert suite.attrib["errors"] == "1"
    assert "<a> & " in (suite[0][0].text or "")


def test_the_shipped_plugin_runs_the_module_and_asks_for_junit() -> None:
    plugin = yaml.safe_load(content("clusters", "sonobuoy-plugin.yaml").read_text())
    assert plugin["sonobuoy-config"]["driver"] == "Job"
    assert plugin["sonobuoy-config"]["result-format"] == "junit"
    assert plugin["spec"]["command"] == ["python3", "-m", "schedproof.submission.sonobuoy"]
    mounted = [mount["mountPath"] for mount in plugin["spec"]["volumeMounts"] if mount["name"] == "results"]
    assert mounted == ["/tmp/sonobuoy/results"]
    assert set(plugin["config-map"]) == {"candidate.yaml"}
