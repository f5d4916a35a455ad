"""Removes secrets from what is kept and shown: recognized by their names, by their form, and by their values.

A value with a secret's name in a candidate's environment or arguments, or in the harness's own environment, is learned
once, and removed wherever it occurs again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")

REDACTED = "(redacted)"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET = frozenset(
    {"apikey", "authorization", "credential", "credentials", "passphrase", "passwd", "password", "pwd", "secret",
     "secrets", "token"}
)  # fmt: skip
_OF_SECRET_KEYS = frozenset(
    {"access", "account", "admin", "api", "auth", "client", "encryption", "license", "master", "private", "root",
     "signing"}
)  # fmt: skip
_OF_OTHER_KEYS = frozenset({"cache", "label", "node", "partition", "pod", "public", "sort", "topology", "zone"})
_OF_PLACES = frozenset({"dir", "endpoint", "file", "folder", "host", "path", "url"})


def is_secret_name(name: str) -> bool:
    """Whether a name is that of a secret: `API_TOKEN`, `--db-password`, `clientKeyData`; not `TOKEN_FILE`, `key`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or words[-1] in _OF_PLACES:
        return False
    if _SECRET & set(words):
        return True
    if name.isupper() and words[-1] == "key":
        return not _OF_OTHER_KEYS & set(words)
    return any(key == "key" and before in _OF_SECRET_KEYS for before, key in itertools.pairwise(words))


_NO_SECRET = re.compile(
    r"|true|false|null|none|[\d.]+|\{\w+\}|(/|\./|\.\./|~/)[\w./@+-]*|[a-z][a-z0-9+.-]*://[^@]*", re.IGNORECASE
)
"""Values that are no secrets whatever their name: switches, numbers, placeholders, paths, URLs without a password."""
_ORDINARY = re.compile(r"[a-z]*|([a-z0-9]+[.-])+[a-z0-9]+(/[\w.-]+)?")
"""Values that may occur for other reasons: a word, or a name as Kubernetes has them."""
_FEWEST = 8
"""The least number of characters of a value that is searched everywhere."""

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b([a-z][a-z0-9+.-]{0,20}://[^/\s:@\"']*):[^/\s@\"']+@", re.IGNORECASE), rf"\1:{REDACTED}@"),
    (re.compile(r"\b(bearer\s+)(?=\S*\d)[\w.~+/-]{8,}=*", re.IGNORECASE), rf"\1{REDACTED}"),
    (re.compile(r"\b(authorization[\"']?\s*[:=]\s*[\"']?basic\s+)[\w+/-]+=*", re.IGNORECASE), rf"\1{REDACTED}"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), REDACTED),  # a JSON Web Token
    (
        re.compile(
            r"((?:token|password|passwd|passphrase|secret|(?:api|access|private)[_-]?key|client-key-data)"
            r"\\?[\"']?\s*[=:]\s*\\?[\"']?)(?!\(redacted\))[^\s\"'&,;\\]{6,}",
            re.IGNORECASE,
        ),
        rf"\1{REDACTED}",
    ),
)
_MAY_HAVE_ONE = re.compile(r"://|bearer|basic|eyJ|token|passw|passphrase|secret|key", re.IGNORECASE)
_PASSWORD_OF_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^/\s:@]*:([^/\s@]+)@", re.IGNORECASE)


class Secrets:
    """The learned values, and the removal of them and of everything that looks like a secret."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def learn(self, named: Mapping[str, str]) -> None:
        """Learn the values that have a secret's name, and the passwords in all values."""
        for name, value in named.items():
            if is_secret_name(name) and not _NO_SECRET.fullmatch(value):
                self._note(value)
            for found in _PASSWORD_OF_URL.finditer(value):
                self._note(found[1])

    def learn_all(self, document: Any) -> None:
        """As `learn`, for a document such as a command's arguments: `--token VALUE`, `--token=VALUE`."""
        if isinstance(document, dict):
            self.learn({str(name): value for name, value in document.items() if isinstance(value, str)})
            for value in document.values():
                self.learn_all(value)
        elif isinstance(document, (list, tuple)):
            for item, following in zip(document, [*document[1:], None], strict=False):
                self.learn_all(item)
                if isinstance(item, str):
                    name, equals, value = item.partition("=")
                    self.learn({"": item, name: value if equals else following if _is_option(item, following) else ""})

    def _note(self, value: str) -> None:
        if len(value) >= _FEWEST and not _ORDINARY.fullmatch(value):
            self._values.add(value)
            longest_first = sorted(self._values, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def redact(self, text: str) -> str:
        if self._pattern is not None:
            text = self._pattern.sub(REDACTED, text)
        if _MAY_HAVE_ONE.search(text):
            for pattern, instead in _FORMS:
                text = pattern.sub(instead, text)
        return text

    def redact_all(self, value: T) -> T:
        """As `redact`, for all texts in a document; also by the names of its fields."""
        redacted: Any = value
        if isinstance(value, str):
            redacted = self.redact(value)
        elif isinstance(value, dict):
            redacted = {name: self._field(name, field) for name, field in value.items()}
        elif isinstance(value, (list, tuple)):
            redacted = [*self._items(value)]
        return cast("T", redacted)

    def _field(self, name: object, value: Any) -> Any:
        if isinstance(value, str) and is_secret_name(str(name)) and not _NO_SECRET.fullmatch(value):
            return REDACTED
        return self.redact_all(value)

    def _items(self, items: Sequence[Any]) -> Iterator[Any]:
        """An argument of a command gets its name from the argument before it."""
        name: Any = ""
        for item in items:
            yield self._field(name, item)
            name = item if _is_option(item, item) else ""


def _is_option(item: Any, following: Any) -> bool:
    """Whether an argument is an option whose value is the next argument."""
    return isinstance(item, str) and item.startswith("-") and "=" not in item and isinstance(following, str)


SECRETS = Secrets()
"""The secrets of this process: of its environment, and of the candidates that it has read."""
