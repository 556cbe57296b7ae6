"""Linear algebra in one thread.

Matrices of a thousand rows gain little from several threads and lose much: between two operations the others spin, on cores
that belong to the targets. A Gaussian process took a quarter of the CPU time with one thread of two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["in_one_thread"]

P = ParamSpec("P")
T = TypeVar("T")


@cache
def _libraries() -> Any:
    """Those that are loaded; looking for them takes longer than a prediction."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with numpy's and scipy's linear algebra limited to the thread that calls it."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
