"""The application that commands are added to, the options that several of them have, and what an error looks like."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

import capra
from capra.errors import CapraError, InputError

__all__ = [
    "AllWorkers",
    "AsJson",
    "EngineName",
    "Force",
    "Local",
    "RunFolder",
    "ScenarioPath",
    "Scheduler",
    "Workers",
    "app",
    "cluster_of",
    "main",
]

USUAL = ("demo", "init", "check", "tune", "resume", "status", "validate", "report", "serve", "show")
"""The commands of every tuning, in the order in which they are needed."""


class _InOrder(TyperGroup):
    """Help that begins with what everybody needs first."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return [*USUAL, *(name for name in names if name not in USUAL)]


app = typer.Typer(
    name="capra",
    cls=_InOrder,
    help="Find the parameter configuration that makes your algorithm fastest on your instances.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ScenarioPath = Annotated[Path, typer.Argument(help="scenario.toml, or an AClib/SMAC or irace scenario.txt")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
RunFolder = Annotated[Path, typer.Argument(help="The folder of a tuning, as given to tune --out.", metavar="RUN")]
Workers = Annotated[int, typer.Option(help="Runs at a time.", min=1)]
AllWorkers = Annotated[int | None, typer.Option(help="Runs at a time: 1, or all that a cluster can make.", min=1)]
EngineName = Annotated[str, typer.Option(help="Where runs are made: local (this machine) or dask (a cluster).")]
Scheduler = Annotated[
    str | None, typer.Option(help="Engine dask: the address of the cluster's scheduler.", metavar="tcp://HOST:PORT")
]
Local = Annotated[int | None, typer.Option(help="Engine dask: so many worker processes on this machine instead.", min=1)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that are already there.")]


def cluster_of(scheduler: str | None, local: int | None) -> str | int | None:
    """What ``--scheduler`` and ``--local`` say, as ``client`` of ``capra.tune``."""
    if scheduler is not None and local is not None:
        raise InputError("--scheduler and --local name two clusters", hint="keep one of them")
    return local if scheduler is None else scheduler


def main() -> None:
    """Entry point of the ``capra`` command."""
    try:
        app()
    except CapraError as error:
        _print_error(error)
        raise SystemExit(error.exit_code) from None
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise SystemExit(0) from None
        sys.stderr.write(f"error: {error.strerror}: {error.filename or 'output'}\n")
        raise SystemExit(2) from None


def _print_error(error: CapraError) -> None:
    if "--json" in sys.argv:
        skipped = ("message", "hint")
        facts = {k: v for k, v in vars(error).items() if k not in skipped and k[0] != "_" and v is not None}
        document = {"error": {"kind": type(error).__name__, "message": error.message, "hint": error.hint, **facts}}
        sys.stdout.write(json.dumps(document, default=str) + "\n")
    else:
        Console(stderr=True, soft_wrap=True).print(f"[bold red]error:[/] {escape(str(error))}", highlight=False)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        sys.stdout.write(f"capra {capra.__version__}\n")
        raise typer.Exit
