"""Which clauses depend on others, derived from the use of nodeSelector in the suites."""

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
"""Clauses whose pods have node selectors, but whose tests show something even if selectors are ignored."""
DRAWN = {"core/random-worlds"}
"""Clauses whose pods the harness generates: a selector keeps each pod to the nodes of its world."""


def steering() -> Iterator[str]:
    """Clauses whose test function, or a name of its module that it uses, contains nodeSelector."""
    for path in content("suites").rglob("test_*.py"):
        module = ast.parse(path.read_text())
        parts: dict[str, ast.AST] = {part.name: part for part in module.body if isinstance(part, ast.FunctionDef)}
        for part in module.body:
            if isinstance(part, ast.Assign):
                parts |= {target.id: part for target in part.targets if isinstance(target, ast.Name)}
        for part in parts.values():
            for decorator in getattr(part, "decorator_list", ()):
                if getattr(getattr(decorator, "func", None), "attr", "") == "clause" and mentions_node_selector(
                    part, parts, set()
                ):
                    yield decorator.args[0].value


def mentions_node_selector(part: ast.AST, parts: dict[str, ast.AST], seen: set[str]) -> bool:
    for node in ast.walk(part):
        if "nodeSelector" in (getattr(node, "value", None), getattr(node, "arg", None)):
            return True
        if isinstance(node, ast.Name) and node.id in parts and node.id not in seen:
            seen.add(node.id)
            if mentions_node_selector(parts[node.id], parts, seen):
                return True
    return False


def test_clauses_whose_tests_use_node_selectors_depend_on_them() -> None:
    standing = {clause.id for clause in CATALOGUE.values() if clause.stands_on >= STEERED}
    assert standing == ({*steering()} | DRAWN) - ON_THEIR_OWN
