"""The page of results."""

from benchmarks.figures.page import PAGE, page

__all__ = ["PAGE", "page"]
