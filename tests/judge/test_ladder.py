"""Which clauses stand on others: what their suites do with pods tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from schedproof.foundation.content import content
from schedproof.judge.catalogue import BINDS, CATALOGUE
from schedproof.judge.clause import STEERED

ON_THEIR_OWN = {
    BINDS, "core/node-selector", "core/node-affinity", "core/taint-noschedule", "core/cordon", "core/scheduling-gates",
    "core/requeue-bind-refused", "core/bind-uid",
}  # fmt: skip
"""Clauses that send some pods to a node, and show something else as well where selectors are ignored."""
DRAWN = {"core/random-worlds"}
"""Clauses whose pods are drawn in the harness: each keeps to the nodes of its world by a selector."""


def steering() -> Iterator[str]:
    """The clauses of whose tests a function, or what it uses of its module, says nodeSelector."""
    for path in content("suites").rglob("test_*.py"):
        module = ast.parse(path.read_text())
        parts: dict[str, ast.AST] = {part.name: part for part in module.body if isinstance(part, ast.FunctionDef)}
        for part in module.body:
            if isinstance(part, ast.Assign):
                parts |= {target.id: part for target in part.targets if isinstance(target, ast.Name)}
        for part in parts.values():
            for decorator in getattr(part, "decorator_list", ()):
                if getattr(getattr(decorator, "func", None), "attr", "") == "clause" and says(part, parts, set()):
                    yield decorator.args[0].value


def says(part: ast.AST, parts: dict[str, ast.AST], seen: set[str]) -> bool:
    for node in ast.walk(part):
        if "nodeSelector" in (getattr(node, "value", None), getattr(node, "arg", None)):
            return True
        if isinstance(node, ast.Name) and node.id in parts and node.id not in seen:
            seen.add(node.id)
            if says(parts[node.id], parts, seen):
                return True
    return False


def test_clauses_that_send_pods_to_a_node_stand_on_the_selector() -> None:
    standing = {clause.id for clause in CATALOGUE.values() if clause.stands_on >= STEERED}
    assert standing == ({*steering()} | DRAWN) - ON_THEIR_OWN
