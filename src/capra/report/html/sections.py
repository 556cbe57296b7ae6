"""The sections of a report, in their order. A new one is a file with a function, and a line here."""

from __future__ import annotations

from collections.abc import Callable

from capra.report.html.blocks import Section
from capra.report.html.censoring import censoring
from capra.report.html.footprint import footprint
from capra.report.html.matrix import matrix
from capra.report.html.mattered import mattered
from capra.report.html.notices import notices
from capra.report.html.over_time import over_time
from capra.report.html.portfolio import portfolio
from capra.report.html.promises import promises
from capra.report.html.reproduce import reproduce
from capra.report.html.scatter import scatter
from capra.report.html.summary import summary
from capra.report.html.trajectory import trajectory
from capra.report.html.view import View
from capra.report.html.worst import worst

__all__ = ["SECTIONS"]

SECTIONS: list[Callable[[View], Section | None]] = [
    summary,
    portfolio,
    trajectory,
    promises,
    scatter,
    matrix,
    over_time,
    censoring,
    footprint,
    mattered,
    worst,
    notices,
    reproduce,
]
"""Each says what it shows of a tuning, or None where there is nothing to show (yet)."""
