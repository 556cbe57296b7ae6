"""g-means: as many clusters as the data has normal distributions (Hamerly & Elkan 2003)."""

from __future__ import annotations

import numpy as np

from capra.models.base import Floats
from capra.portfolio.records import Indices

__all__ = ["anderson_darling", "critical_value", "g_means", "k_means", "normality_p_value"]

STEPS = 100
"""Of Lloyd's iteration at most."""


def anderson_darling(values: Floats) -> float:
    """A*² of a sample against the normal distribution with its own mean and deviation: A²·(1 + 4/n − 25/n²)."""
    from scipy.special import log_ndtr  # scipy takes its time to load

    n = len(values)
    spread = values.std(ddof=1)
    if not spread > 0.0:
        return 0.0
    z = np.sort((values - values.mean()) / spread)
    k = np.arange(1, n + 1)
    a2 = -n - np.mean((2 * k - 1) * (log_ndtr(z) + log_ndtr(-z[::-1])))
    return float(a2 * (1.0 + 4.0 / n - 25.0 / n**2))


def normality_p_value(statistic: float) -> float:
    """How often a normal sample has an A*² above this: the lower tail and body from D'Agostino & Stephens 1986, table 4.9.

    Their formulas are for A²·(1 + 0.75/n + 2.25/n²), which the one above approaches for large n. Beyond 2 the exponential
    of their last formula would turn back up, so it goes on along its tangent: critical values for any α, however small.
    """
    a = statistic
    if a < 0.2:
        return float(1.0 - np.exp(-13.436 + 101.14 * a - 223.73 * a * a))
    if a < 0.34:
        return float(1.0 - np.exp(-8.318 + 42.796 * a - 59.938 * a * a))
    if a < 0.6:
        return float(np.exp(0.9177 - 4.279 * a - 1.38 * a * a))
    if a < 2.0:
        return float(np.exp(1.2937 - 5.709 * a + 0.0186 * a * a))
    return float(np.exp(1.2937 - 5.709 * 2.0 + 0.0186 * 4.0 + (a - 2.0) * (-5.709 + 0.0372 * 2.0)))


def critical_value(alpha: float) -> float:
    """The A*² that a normal sample exceeds with probability ``alpha``; 1.8692 at 1e-4, as g-means uses it, within 1 %."""
    low, high = 0.0, 200.0
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if normality_p_value(middle) > alpha else (low, middle)
    return high


def g_means(points: Floats, *, alpha: float = 1e-4, min_size: int = 10) -> Floats:
    """Centres of clusters, (c, d). A cluster is split in two until it looks normal along the line between its halves.

    Every half is tested again, however deep. An early split may have cut through a cluster: neighbours that look normal
    together are joined again. Clusters below ``min_size`` are dissolved at the end, the smallest first: their points go to
    the nearest centres left.
    """
    limit = critical_value(alpha)
    open_, centres = [np.arange(len(points))], []
    while open_:
        members = open_.pop()
        halves = _split(points[members], limit, min_size)
        if halves is None:
            centres.append(points[members].mean(axis=0))
        else:
            open_ += [members[halves == side] for side in (0, 1)]
    return _dissolved(points, _joined(points, k_means(points, np.array(centres))[0], limit), min_size)


def _split(points: Floats, limit: float, min_size: int) -> Indices | None:
    """0 or 1 for each point, or None where one cluster describes the points as well as two.

    The halves start on both sides of the mean along the first principal component (Hamerly & Elkan 2003, section 2.1).
    """
    if (
        len(points) < max(2 * min_size, 8) or not points.shape[1]
    ):  # fewer than 8 points cannot be told from normal ones at all
        return None
    centre = points.mean(axis=0)
    axis, spread = _principal(points - centre)
    if not spread > 0.0:
        return None
    step = axis * spread * np.sqrt(2.0 / np.pi)
    children, halves = k_means(points, np.array([centre - step, centre + step]))
    along = children[1] - children[0]
    if len(np.unique(halves)) < 2 or anderson_darling(points @ along) <= limit:
        return None
    return halves


def _joined(points: Floats, centres: Floats, limit: float) -> Floats:
    """Centres without those that lie in one cluster with their nearest neighbour."""
    while pair := _one_of_two(points, centres, limit):
        middle = centres[list(pair)].mean(axis=0)
        rest = np.delete(centres, pair, axis=0)
        centres = k_means(points, np.vstack([rest, middle]))[0]
    return centres


def _one_of_two(points: Floats, centres: Floats, limit: float) -> tuple[int, int] | None:
    """Two neighbouring centres whose points, taken together, look normal along the line between them."""
    if len(centres) < 2:
        return None
    labels = np.argmin(_squared(points, centres), axis=1)
    apart = _squared(centres, centres)
    np.fill_diagonal(apart, np.inf)
    for one, other in enumerate(np.argmin(apart, axis=1).tolist()):
        together = points[(labels == one) | (labels == other)]
        if len(together) >= 8 and anderson_darling(together @ (centres[other] - centres[one])) <= limit:
            return one, other
    return None


def _principal(centred: Floats) -> tuple[Floats, float]:
    """The direction in which points spread most, and their deviation along it."""
    _, values, rows = np.linalg.svd(centred, full_matrices=False)
    return rows[0], float(values[0] / np.sqrt(len(centred)))


def k_means(points: Floats, centres: Floats) -> tuple[Floats, Indices]:
    """Lloyd's iteration from given centres: where they come to rest, and the nearest of each point."""
    labels = np.zeros(len(points), dtype=np.int64)
    for step in range(STEPS):
        nearest = np.argmin(_squared(points, centres), axis=1)
        if step and np.array_equal(nearest, labels):
            break
        labels = nearest
        sizes = np.bincount(labels, minlength=len(centres))
        sums = (labels == np.arange(len(centres))[:, None]).astype(np.float64) @ points
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return centres, labels


def _squared(points: Floats, centres: Floats) -> Floats:
    return np.stack([np.square(points - centre).sum(axis=1) for centre in centres], axis=1)


def _dissolved(points: Floats, centres: Floats, min_size: int) -> Floats:
    while len(centres) > 1:
        sizes = np.bincount(np.argmin(_squared(points, centres), axis=1), minlength=len(centres))
        if sizes.min() >= min_size:
            break
        centres = np.delete(centres, int(np.argmin(sizes)), axis=0)
    return centres
