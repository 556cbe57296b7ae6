"""The command about our own figures: bench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from capra.cli.app import app
from capra.errors import InputError


@app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []})
def bench(context: typer.Context) -> None:
    """Make the experiments behind our figures again: list, run NAME … [--full], page. In the source tree only."""
    if not (Path.cwd() / "benchmarks" / "registry.py").is_file():
        raise InputError("the benchmarks come with the source tree", hint="call this in a clone of Capra")
    raise SystemExit(subprocess.run([sys.executable, "-m", "benchmarks", *context.args], check=False).returncode)
