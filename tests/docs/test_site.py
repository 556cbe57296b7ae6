"""The documentation builds as a site, every link in it leads somewhere, and reading it fetches nothing from elsewhere."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_site_builds(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "docs" / "gather.py"), run_name="__main__")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert built.returncode == 0, built.stderr
    pages = {page.relative_to(tmp_path).as_posix(): page.read_text() for page in tmp_path.rglob("*.html")}
    assert "docs/tutorial.html" in pages
    assert "capra.tune" in pages["docs/api.html"]
    for name, text in pages.items():
        fetched = re.findall(
            r'(?:<script[^>]* src|<link[^>]* rel="stylesheet"[^>]* href|<img[^>]* src)="(https?:[^"]*)', text
        )
        assert fetched == [], name
