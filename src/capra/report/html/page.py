"""The page: one HTML file that holds its style, its script and its data, and needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from capra import __version__
from capra.errors import InputError
from capra.report.html.sections import SECTIONS
from capra.report.html.view import View
from capra.report.words import count
from capra.runs.foreign import replacing

__all__ = ["document_of", "html_page", "policy", "write_report"]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript><p>The plots of this page are drawn by a script that is part of it: please allow it.</p></noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def document_of(view: View) -> dict[str, Any]:
    """All sections of a tuning as plain data."""
    made = [section(view) for section in SECTIONS]
    strategy = view.settings.get("strategy", "")
    state = f"{strategy}, {count(len(view.history), 'run')}" if len(view.history) else "no runs yet"
    return {
        "name": view.name,
        "state": state,
        "capra": __version__,
        "sections": [section.plain() for section in made if section is not None],
    }


def html_page(title: str, data: dict[str, Any]) -> str:
    """A whole page around ``data``; the same data give the same page."""
    return _PAGE.format(
        policy=html.escape(policy(live="document" not in data)),
        title=html.escape(title),
        style=_part("page.css"),
        script=_script(),
        data=embedded(data),
    )


def write_report(run: Path, out: Path | None = None) -> dict[str, Any]:
    """Write the report of a tuning (``report.html`` in its folder); where it is, and what it shows."""
    path = out or (run.parent if run.is_file() else run) / "report.html"
    if path.is_dir():
        raise InputError(f"{path} is a folder", hint=f"give the name of a file: {path / 'report.html'}")
    view = View(run)
    try:
        view.update()
        document = document_of(view)
    finally:
        view.close()
    text = html_page(f"{document['name']} – Capra", {"document": document})
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text)
    shown = [section["key"] for section in document["sections"]]
    return {"report": str(path), "bytes": len(text.encode()), "runs": len(view.history), "sections": shown}


def embedded(data: Any) -> str:
    """JSON that can stand in a script element whatever it holds: no ``<``, so that nothing in it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def policy(*, live: bool) -> str:
    """The content security policy: this very style and script, pictures made by them, and nothing else.

    A live page may also ask the server it came from.
    """
    sources = {"style": _digest(_part("page.css")), "script": _digest(_script())}
    connect = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; style-src '{sources['style']}'; script-src '{sources['script']}'; img-src data: blob:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


@cache
def _part(name: str) -> str:
    return resources.files("capra.report.html").joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    return _part("plots.js") + _part("page.js")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
