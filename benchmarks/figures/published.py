"""What others published, where more than one experiment or page needs it."""

from __future__ import annotations

__all__ = ["TABLE_1"]

TABLE_1 = {
    "branin": {10: (62.6, 33.6, 31.5, 28.6), 20: (57.1, 21.4, 22.7, 22.8), 40: (53.3, 22.2, 22.4, 19.2), 80: (24.6, 15.1, 14.0, 8.2)},
    "camel": {10: (31.9, 25.5, 24.2, 23.6), 20: (31.4, 25.2, 23.9, 22.6), 40: (29.6, 25.8, 22.7, 20.4), 80: (15.3, 18.0, 11.7, 8.7)},
    "hart3": {10: (1.6, 0.2, 0.3, 0.3), 20: (1.2, 0.2, 0.3, 0.2), 40: (0.5, 0.2, 0.2, 0.2), 80: (0.2, 0.2, 0.2, 0.2)},
    "hart6": {10: (0.5, 0.2, 0.2, 0.3), 20: (0.3, 0.2, 0.2, 0.2), 40: (0.3, 0.2, 0.2, 0.2), 80: (0.2, 0.2, 0.2, 0.2)},
}  # fmt: skip
"""Eggensperger et al. 2021, Table 1: error by function and percentile of censoring, of networks with I, D, S&H, T."""
