"""The harness as a plugin of Sonobuoy: a run's arguments in, JUnit in the worker's folder out.

`python -m schedproof.submission.sonobuoy` takes the arguments of `schedproof run`. As Sonobuoy's contract asks, it
writes junit.xml into the folder of results, and then the path of that file into `done` there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from schedproof.foundation.visible import visible

RESULTS = "SONOBUOY_RESULTS_DIR"
"""The environment variable with the folder of results."""
_DEFAULT = "/tmp/sonobuoy/results"  # noqa: S108 - Sonobuoy's own
_TAIL = 40
"""Lines of the output that tell why there is no result."""


def run(arguments: Sequence[str], results: Path) -> int:
    """Run, write the result, and return the exit code of the run.

    Args:
        arguments: those of `schedproof run`, without `--report`.
        results: the folder of results.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report")
        argv = (sys.executable, "-m", "schedproof", "run", *arguments, f"--report={report}")
        printed: list[str] = []
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert process.stdout is not None
            # Process 1 of a container ignores what it does not handle; the run removes what it has created.
            before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
            for line in process.stdout:
                sys.stdout.write(line)  # the plugin's log
                sys.stdout.flush()
                printed = [*printed, line][-_TAIL:]
        signal.signal(signal.SIGTERM, before)
        junit = report / "junit.xml"
        text = junit.read_text() if junit.is_file() else without_result("".join(printed))
    results.mkdir(parents=True, exist_ok=True)
    result = results / "junit.xml"
    result.write_text(text)
    # Last: the worker hands over what it names.
    (results / "done").write_text(str(result))
    return process.returncode


def without_result(printed: str) -> str:
    """Return the JUnit of a run that ended with an error before it judged anything."""
    suite = ElementTree.Element("testsuite", name="schedproof", tests="1", failures="0", errors="1")
    case = ElementTree.SubElement(suite, "testcase", classname="schedproof", name="run")
    ElementTree.SubElement(case, "error", message="the run ended without a report").text = visible(printed)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], Path(os.environ.get(RESULTS) or _DEFAULT)))
