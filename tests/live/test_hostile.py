"""A hostile candidate is judged as any other, whatever it deletes, floods or forges; the next is untouched."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.foundation.processes.sandbox_init import LOG_HEAD, LOG_TAIL

if TYPE_CHECKING:
    from conftest import Ended, Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

TOKEN, PASSWORD = "t0ken-Of-The-Environment", "pa55word-Of-The-URL"

HOSTILE = """
import http.server, json, os, pathlib, subprocess, sys, urllib.error, urllib.request

scratch, report = pathlib.Path(os.environ["TMPDIR"]).parent, sys.argv[2]
assert not os.listdir(os.environ["TMPDIR"])
subprocess.run(f'rm -rf "$TMPDIR"/* {scratch}/* {report}/candidates/* {report}/cluster/*', shell=True, stderr=-3)
(pathlib.Path(os.environ["TMPDIR"]) / "left").touch()

def status_of(method, path):
    try:
        return urllib.request.urlopen(urllib.request.Request(sys.argv[3] + path, b"", method=method)).status
    except urllib.error.HTTPError as refused:
        return refused.code

(pathlib.Path(__file__).parent / "seen.json").write_text(json.dumps({
    "evidence": os.listdir(report),
    "prometheus": {"query": status_of("POST", "/api/v1/query?query=up"), "write": status_of("POST", "/api/v1/write"),
    "otlp": status_of("POST", "/api/v1/otlp/v1/metrics"), "quit": status_of("PUT", "/-/quit"),
    "alive": status_of("POST", "/api/v1/query?query=up")},
}))
print("x" * 1023 * 1024 * 50)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        print("\\x1b[2Jpanic: refused", os.environ["API_TOKEN"], "by", os.environ["UPSTREAM"], flush=True)
        os._exit(3)

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def ended(shells: Any) -> tuple[Shell, Ended]:
    shell: Shell = shells()
    (shell.work / "hostile.py").write_text(HOSTILE)
    document = {
        "apiVersion": "schedproof/v1",
        "kind": "Candidate",
        "metadata": {"name": "hostile"},
        "spec": {
            "schedulerName": "hostile",
            "extender": {
                "command": ["{python}", "hostile.py", "{port}", str(shell.work / "report"), "{prometheus}"],
                "env": {"API_TOKEN": TOKEN, "UPSTREAM": f"http://me:{PASSWORD}@example.com/"},
                "config": {"filterVerb": "filter", "ignorable": True},
            },
        },
    }
    (shell.work / "candidate.yaml").write_text(json.dumps(document))
    options = ("--clause", "core/binds", "--report", "report", "--jobs", "1")
    return shell, shell.schedproof("run", "candidate.yaml", "stock", *options)


def test_a_hostile_candidate_sees_no_evidence_of_any_instance_or_candidate(ended: tuple[Shell, Ended]) -> None:
    shell, _ = ended
    assert json.loads((shell.work / "seen.json").read_text())["evidence"] == []


def test_prometheus_accepts_only_queries_of_a_hostile_candidate(ended: tuple[Shell, Ended]) -> None:
    shell, _ = ended
    answers = json.loads((shell.work / "seen.json").read_text())["prometheus"]
    assert answers == {"query": 200, "write": 403, "otlp": 403, "quit": 403, "alive": 200}


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_hostile_candidate_fails_and_the_next_candidate_passes(ended: tuple[Shell, Ended]) -> None:
    shell, command = ended
    assert command.code == 1, command.printed
    hostile, stock = (
        {clause["id"]: clause["outcome"] for clause in candidate["clauses"]}
        for candidate in shell.report()["candidates"]
    )
    assert hostile["core/alive"] == "failed"
    assert set(stock.values()) <= {"passed", "not-claimed"}
    shell.expect_nothing_left()


def test_secrets_are_kept_only_in_the_candidate_s_own_log(ended: tuple[Shell, Ended]) -> None:
    shell, command = ended
    report = (shell.work / "report" / "report.json").read_text()
    assert "refused (redacted) by http://me:(redacted)@example.com/" in report
    telling = [
        path.name
        for path in files(shell.work / "report")
        if (content := path.read_bytes()) and any(secret.encode() in content for secret in (TOKEN, PASSWORD))
    ]
    assert telling == ["candidate.log"]
    assert TOKEN not in command.printed
    assert PASSWORD not in command.printed


def test_control_characters_of_a_candidate_do_not_reach_the_terminal(ended: tuple[Shell, Ended]) -> None:
    shell, command = ended
    assert r"\x1b[2Jpanic" in command.out
    shown = command.printed + "".join(
        (shell.work / "report" / f"{name}").read_text() for name in ("report.html", "junit.xml")
    )
    assert "\x1b" not in shown


def test_the_log_of_a_hostile_candidate_is_capped_and_all_evidence_is_private(ended: tuple[Shell, Ended]) -> None:
    shell, _ = ended
    report = shell.work / "report"
    log = report / "candidates" / "hostile" / "candidate.log"
    assert log.stat().st_blocks * 512 <= LOG_HEAD + LOG_TAIL + (2 << 20)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(report)} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (report, *report.rglob("*")) if path.is_dir()} == {0o700}
