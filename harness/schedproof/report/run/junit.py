"""junit.xml, for CI servers: a testsuite for each candidate, a testcase for each clause."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from schedproof.foundation.private import open_private
from schedproof.report.run.soaked import leak_texts
from schedproof.report.run.terminal import explain
from schedproof.run.result import RunResult


def write_junit(result: RunResult) -> None:
    """Write junit.xml into the run's folder."""
    with open(result.folder / "junit.xml", "wb", opener=open_private) as file:
        ET.ElementTree(junit(result)).write(file, encoding="utf-8", xml_declaration=True)


def junit(result: RunResult) -> ET.Element:
    root = ET.Element("testsuites", name="schedproof")
    for tested in result.candidates.values():
        suite = ET.SubElement(root, "testsuite", name=tested.candidate.name)
        titles = {clause: cause.title for cause in reversed(tested.causes) for clause in cause.clauses}
        if tested.error is not None:
            case = ET.SubElement(suite, "testcase", classname=tested.candidate.name, name="attach")
            ET.SubElement(case, "error", message=_text(tested.error.message)).text = _text(str(tested.error))
        for verdict in tested.verdicts:
            seconds = result.timings.get(f"{tested.candidate.name} {verdict.clause}", 0.0)
            case = ET.SubElement(
                suite, "testcase", classname=f"{tested.candidate.name}.{verdict.clause.partition('/')[0]}",
                name=verdict.clause, time=f"{seconds:.3f}",
            )  # fmt: skip
            if verdict.fails_run:
                kind = "failure"
            elif verdict.unproved:
                kind = "error"
            elif verdict.outcome in ("skipped", "not-claimed", "excluded"):
                kind = "skipped"
            else:
                continue
            message = "\n".join(filter(None, (titles.get(verdict.clause), verdict.summary)))
            found = ET.SubElement(case, kind, type=verdict.code, message=_text(message))
            found.text = _text(explain(result, tested.candidate, verdict))
        if (soaked := tested.soaked) is not None:
            case = ET.SubElement(suite, "testcase", classname=tested.candidate.name, name="leaks")
            if text := "\n".join(leak_texts(soaked)) or soaked.unproved:
                kind = "failure" if soaked.leaks else "skipped"
                ET.SubElement(case, kind, message=_text(text)).text = _text(result.soak_again(tested.candidate))
        for name, tag in (("tests", "*"), ("failures", "*/failure"), ("errors", "*/error"), ("skipped", "*/skipped")):
            suite.set(name, str(len(suite.findall(tag))))
    return root


_NOT_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _text(text: str) -> str:
    """Replace characters that XML 1.0 excludes: most control characters, surrogates, U+FFFE and U+FFFF."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
