"""What a strategy with guarantees promises about its answer, now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

__all__ = ["Certificate", "Promise"]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a core can say of itself: the parameters that hold now, in words, and what more time would buy.

    No parameters: nothing is promised yet.
    """

    parameters: dict[str, float]
    says: str
    more: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """The promise that holds for a strategy's answer, and what it took."""

    strategy: str
    answer: str | None
    """Id of the configuration that it is about."""
    parameters: dict[str, float]
    """``epsilon``, ``delta``, ``zeta``, ``gamma`` as the method has them; empty as long as nothing is promised."""
    says: str
    """The promise in one sentence."""
    more: str
    """What more time would buy."""
    restart: float
    """Target time with every longer run made from its beginning."""
    resumed: float
    """Target time had every longer run continued the shorter one."""
    used: float
    """Target time that was really used: ``restart``, less what was saved by continuing runs that the engine held."""
    warnings: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """What ``plain`` has written; a store says besides when that was."""
        known = {field.name: data[field.name] for field in fields(cls)}
        return cls(**{**known, "warnings": tuple(data["warnings"])})

    @property
    def holds(self) -> bool:
        """Is anything promised yet?"""
        return bool(self.parameters)

    def __str__(self) -> str:
        return " ".join([self.says, self.more, *self.warnings])

    def plain(self) -> dict[str, Any]:
        """As data for the store and for ``--json``."""
        return {**asdict(self), "warnings": list(self.warnings)}
