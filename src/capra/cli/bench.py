"""The command about our own figures: bench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from capra.cli.app import app
from capra.errors import InputError

# What follows the first word is not ours, not even --help.
_HANDED_ON = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}


@app.command(context_settings=_HANDED_ON)
def bench(context: typer.Context) -> None:
    """Make the experiments behind our figures again: list, run NAME … [--full], page, each with --json.

    In the source tree only.
    """
    if not (Path.cwd() / "benchmarks" / "registry.py").is_file():
        raise InputError("the benchmarks come with the source tree", hint="call this in a clone of Capra")
    raise SystemExit(subprocess.run([sys.executable, "-m", "benchmarks", *context.args], check=False).returncode)
