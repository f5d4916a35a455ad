"""What the models of candidate.yaml need to know beyond their own fields while a file is read."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, ValidationInfo

from schedproof.candidate.placeholders import CERTIFICATES, PLACEHOLDERS, complaints
from schedproof.candidate.profiles import Claimable
from schedproof.documents.model import AnyText, Anything, Wrong, refuse, texts_in
from schedproof.documents.reading import raw
from schedproof.documents.yaml_source import Value

CandidateKind = Literal["extender", "controller", "plugin", "attached"]
KINDS: tuple[CandidateKind, ...] = get_args(CandidateKind)
"""The kinds of candidates: each is a field of `spec`."""

_UNAVAILABLE: Mapping[str, str] = MappingProxyType(
    {
        "port": "only an extender and a controller get a port to listen on",
        "address": "only an extender and a controller get an address to listen on",
        "window": "claim a window in spec.claims.network, or write the value itself",
        "files": "list the files and their contents in spec.files",
        **dict.fromkeys(
            CERTIFICATES,
            "the harness makes certificates for an extender with `config: {enableHTTPS: true}`, and for a process that "
            "`serves` a Service",
        ),
    }
)
"""Placeholders that not every candidate has a value for, and what to do about that."""


@dataclasses.dataclass
class Reading:
    """The context in which the fields of one candidate.yaml are read.

    Attributes:
        name: the candidate's name.
        kind: its kind; None if that is unclear.
        known: what it can be judged by; None: everything is accepted.
        unavailable: placeholders that have no value in the texts that are being read, with a fix.
        addresses: placeholders for the addresses of processes, as far as they are available.
        ports: placeholders for further ports of the program whose fields are being read.
        ports_of: the same of each process.
        serving: whether each process is behind a Service, and so has certificates.
    """

    name: str
    kind: str | None
    known: Claimable | None
    unavailable: Mapping[str, str]
    addresses: Sequence[str] = ()
    ports: Sequence[str] = ()
    ports_of: Sequence[Sequence[str]] = ()
    serving: Sequence[bool] = ()

    @classmethod
    def of(cls, document: Value, known: Claimable | None) -> Reading:
        """The context for a document whose fields may be wrong."""
        whole = raw(document)
        spec, metadata = (_mapping(_mapping(whole).get(name)) for name in ("spec", "metadata"))
        kinds = [kind for kind in KINDS if kind in spec]
        kind = kinds[0] if len(kinds) == 1 else None
        available = {"files"} if "files" in spec else set()
        if {"extender", "controller"} & set(kinds):
            available |= {"port", "address"}
        if "network" in _mapping(spec.get("claims")):
            available.add("window")
        if _mapping(_mapping(spec.get("extender")).get("config")).get("enableHTTPS") is True:
            available |= set(CERTIFICATES)
        processes = spec["processes"] if isinstance(spec.get("processes"), list) else []
        unavailable = {name: fix for name, fix in _UNAVAILABLE.items() if name not in available}
        addresses = [address_placeholder(str(item.get("name"))) for item in processes if isinstance(item, dict)]
        ports, ports_of = _ports(spec.get(kind or "")), [*map(_ports, processes)]
        serving = ["serves" in _mapping(process) for process in processes]
        return cls(str(metadata.get("name")), kind, known, unavailable, addresses, ports, ports_of, serving)

    @contextlib.contextmanager
    def of_process(self) -> Iterator[None]:
        """In this context the fields of one more process are read, which knows the addresses of those before it."""
        whole = self.unavailable, self.addresses, self.ports
        own = ("port", "address", "files")
        without = {name: fix for name, fix in self.unavailable.items() if name not in own}
        number = self._processes
        certified = number < len(self.serving) and self.serving[number]
        certificates = {} if certified else {name: _UNAVAILABLE[name] for name in CERTIFICATES}
        self.unavailable = {
            **certificates, **{name: fix for name, fix in without.items() if name not in CERTIFICATES}
        }  # fmt: skip
        self.addresses = self.addresses[: self._processes]
        self.ports = self.ports_of[self._processes] if self._processes < len(self.ports_of) else ()
        self._processes += 1
        try:
            yield
        finally:
            self.unavailable, self.addresses, self.ports = whole

    def __post_init__(self) -> None:
        self._processes = 0

    def wrong_placeholders(self, value: Any) -> Iterator[Wrong]:
        """Yield what is wrong with the placeholders in the texts of `value`."""
        known = [*(name for name in PLACEHOLDERS if name not in self.unavailable), *self.addresses, *self.ports]
        for at, text in texts_in(value):
            for message, fix in complaints(text, unavailable=self.unavailable, known=known):
                yield Wrong("malformed", message, fix, at)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _ports(program: Any) -> list[str]:
    names = _mapping(program).get("ports")
    return [port_placeholder(str(name)) for name in names] if isinstance(names, list) else []


def port_placeholder(name: str) -> str:
    """The placeholder for a further port of a program."""
    return f"{name.replace('-', '_')}_port"


def address_placeholder(process: str) -> str:
    """The placeholder for the address of a process, for programs that start after it."""
    return f"{process.replace('-', '_')}_address"


def _filled(value: Any, info: ValidationInfo) -> Any:
    if info.context is not None:
        refuse(info.context.wrong_placeholders(value))
    return value


Filled = Annotated[AnyText, AfterValidator(_filled)]
"""A text whose placeholders are replaced when the candidate is attached."""

FilledMapping = Annotated[Anything, AfterValidator(_filled)]
"""A mapping of any content with placeholders in its texts."""


def wrong_braces(text: str, known: Sequence[str]) -> Iterator[Wrong]:
    """Yield what is wrong with a text that may have the placeholders `known`, and no others."""
    for message, fix in complaints(text, unavailable={}, known=known):
        yield Wrong("malformed", message, fix)
