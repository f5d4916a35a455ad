"""Which codes the findings of a clause may have, read from its judge."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping

from schedproof.judge.codes import CODES

_PACKAGE = "schedproof.judge"
OF_ANY_CLAUSE = frozenset({
    "capability-missing", "cut-short", "depends-on-excluded", "depends-on-failed", "harness-trouble", "judge-raised",
    "not-claimed", "not-possible-here", "outdated-exclusion", "record-incomplete",
})  # fmt: skip
"""Codes that a finding can have regardless of the clause's judge."""


@functools.cache
def codes_of(judge: Callable[..., object]) -> tuple[str, ...]:
    """The codes that a judge can give besides those of any clause, sorted.

    They are the codes that stand in it, and in the functions and constants of its package to which it refers. A code of
    a function that it shares with others is listed as well, even if this clause never gives it.
    """
    return tuple(sorted({*_texts(judge, set())} & CODES.keys() - OF_ANY_CLAUSE))


def _texts(part: object, seen: set[int]) -> Iterator[str]:
    """The texts in a function, a class or a constant, and in those of this package to which it refers."""
    if isinstance(part, str):
        yield part
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, functools.partial):
        within: Iterable[object] = (part.func, *part.args, *part.keywords.values())
    elif isinstance(part, Mapping):
        within = part.values()
    elif isinstance(part, tuple | frozenset):
        within = part
    elif isinstance(part, type) and part.__module__.startswith(_PACKAGE):
        within = (getattr(member, "func", getattr(member, "fget", member)) for member in vars(part).values())
    elif isinstance(part, types.FunctionType) and part.__module__.startswith(_PACKAGE):
        within = _referred(part)
    else:
        within = ()
    for member in within:
        yield from _texts(member, seen)


def _referred(function: types.FunctionType) -> Iterator[object]:
    """The constants and defaults of a function, and the objects of its names, also in an imported module."""
    yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    for cell in function.__closure__ or ():
        yield cell.cell_contents
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        yield from code.co_consts
        named = [function.__globals__.get(name) for name in code.co_names]
        yield from named
        for module in named:
            if isinstance(module, types.ModuleType) and module.__name__.startswith(_PACKAGE):
                yield from (getattr(module, name, None) for name in code.co_names)
