"""Writes the option table of docs/formats.md from the declarations in capra.Scenario. `python docs/make_formats.py`."""

from __future__ import annotations

import re
from pathlib import Path

from capra.formats.template import option_table

PAGE = Path(__file__).with_name("formats.md")
MARKS = ("<!-- options: made by docs/make_formats.py -->", "<!-- end of options -->")


def updated(page: str) -> str:
    """The page with the present table between its marks."""
    start, end = MARKS
    return re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{option_table()}{end}", page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
