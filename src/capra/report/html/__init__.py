"""The report of a tuning as one HTML file. ``sections.py`` lists what it shows, ``page.js`` draws it."""

from capra.report.html.page import write_report

__all__ = ["write_report"]
