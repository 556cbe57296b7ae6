"""One setting of the target's parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import ItemsView, Iterator, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["Configuration", "Value"]

Value = str | int | float | bool
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Configuration(Mapping[str, Value]):
    """The active parameters and their values: immutable, hashable, the same ``id`` on every machine and in every run.

    Two configurations are equal when the same parameters are active with the same values (1, 1.0 and True are three
    values); the order in which they were written does not matter. A configuration knows nothing of its space:
    ``Space.configuration`` checks one.
    """

    __slots__ = ("_id", "_values")

    _values: MappingProxyType[str, Value] | str
    """The values, or their JSON until somebody asks: of the millions in a store only a few are ever looked at."""
    _id: str | None

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = MappingProxyType(dict(values))
        self._id = None

    def _mapping(self) -> MappingProxyType[str, Value]:
        if isinstance(self._values, str):
            self._values = MappingProxyType(json.loads(self._values))
        return self._values

    @property
    def id(self) -> str:
        """16 hexadecimal digits that depend on the values only."""
        if self._id is None:
            text = _canonical(dict(self._mapping()))
            self._id = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        return self._id

    def __getitem__(self, name: str) -> Value:
        return self._mapping()[name]

    # What the base class makes of __getitem__ is called so often that it is felt in a tuning of short runs.

    def get(self, name: str, default: Any = None) -> Any:
        return self._mapping().get(name, default)

    def items(self) -> ItemsView[str, Value]:
        return self._mapping().items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping())

    def __len__(self) -> int:
        return len(self._mapping())

    def __eq__(self, other: object) -> bool:
        return (self._id or self.id) == (other._id or other.id) if isinstance(other, Configuration) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._id or self.id)

    def __repr__(self) -> str:
        return f"Configuration({dict(self._mapping())!r})"

    def __reduce__(self) -> tuple[type[Configuration], tuple[dict[str, Value]]]:
        return Configuration, (dict(self._mapping()),)
