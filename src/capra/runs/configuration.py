"""One setting of the target's parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

__all__ = ["Configuration", "Value"]

Value = str | int | float | bool


class Configuration(Mapping[str, Value]):
    """The active parameters and their values: immutable, hashable, the same ``id`` on every machine and in every run.

    Two configurations are equal when the same parameters are active with the same values (1, 1.0 and True are three
    values); the order in which they were written does not matter. A configuration knows nothing of its space:
    ``Space.configuration`` checks one.
    """

    __slots__ = ("_id", "_values")

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = MappingProxyType(dict(values))
        self._id: str | None = None

    @property
    def id(self) -> str:
        """16 hexadecimal digits that depend on the values only."""
        if self._id is None:
            text = json.dumps(dict(self._values), sort_keys=True, separators=(",", ":"))
            self._id = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        return self._id

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Configuration) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Configuration({dict(self._values)!r})"

    def __reduce__(self) -> tuple[type[Configuration], tuple[dict[str, Value]]]:
        return Configuration, (dict(self._values),)
