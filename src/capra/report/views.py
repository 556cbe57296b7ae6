"""What a result can show of itself in a notebook: figures (matplotlib) and frames (pandas), both loaded when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from capra.runs import Value

__all__ = ["Views"]


class Views:
    """The part of ``Result`` that is for looking. Needs the extra ``plots``: ``pip install 'capra[plots]'``."""

    __slots__ = ()

    def plot_trajectory(self) -> Figure:
        """Training cost of the incumbents over the budget, and test cost where they were validated."""
        from capra.report import plots

        return plots.trajectory(self)  # type: ignore[arg-type]

    def plot_scatter(self, one: Mapping[str, Value] | None = None, other: Mapping[str, Value] | None = None) -> Figure:
        """Costs of two configurations on the pairs they share: the default against the incumbent, unless given."""
        from capra.report import plots

        return plots.scatter(self, one, other)  # type: ignore[arg-type]

    def plot_cactus(self) -> Figure:
        """How many of the pairs the default and the incumbent solve within a time."""
        from capra.report import plots

        return plots.cactus(self)  # type: ignore[arg-type]

    def plot_ecdf(self) -> Figure:
        """The share of the pairs that the default and the incumbent solve within a time."""
        from capra.report import plots

        return plots.ecdf(self)  # type: ignore[arg-type]

    def plot_matrix(self, most: int = 60) -> Figure:
        """Configurations × instances: cost where known, a dot where a run was capped. Shows racing and capping."""
        from capra.report import plots

        return plots.matrix(self, most)  # type: ignore[arg-type]

    def plot_statuses(self) -> Figure:
        """How runs ended, over the tuning, and their cutoffs."""
        from capra.report import plots

        return plots.statuses(self)  # type: ignore[arg-type]

    def plot_importance(self, *, local: bool = False, most: int = 20) -> Figure:
        """Which parameters matter, over the whole space or around the incumbent."""
        from capra.report import plots

        return plots.importance(self, local=local, most=most)  # type: ignore[arg-type]

    def plot_curve(self, name: str) -> Figure:
        """The predicted cost over the values of one parameter."""
        from capra.report import plots

        return plots.curve(self, name)  # type: ignore[arg-type]

    def plot_ablation(self, *, model: bool = False) -> Figure:
        """The path from the default to the incumbent: of `capra ablation`'s runs, or by a model."""
        from capra.report import plots

        return plots.ablation(self, model=model)  # type: ignore[arg-type]

    def to_frame(self, what: str = "runs") -> DataFrame:
        """A pandas frame: "runs" (one row each), "configurations", "trajectory" or "matrix" (mean costs of configurations
        in rows on instances in columns)."""
        from capra.report import frames

        data: Any = self
        return frames.frame_of(data, what)
