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
from capra.errors import CapraError, InputError, did_you_mean, shown

__all__ = [
    "AllWorkers",
    "AsJson",
    "Commands",
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
_Misuse: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises of a command line that it cannot use. Its versions keep that class (UsageError) in different modules."""
ADVICE = {
    errno.EEXIST: "something else has that name: choose another",
    errno.ENOTDIR: "a part of that path is a file: choose another place",
    errno.EISDIR: "that is a folder: give the name of a file",
    errno.EACCES: "choose a place that you may read and write",
    errno.EROFS: "choose a place that can be written",
    errno.ENOSPC: "make room",
}


class Interrupted(CapraError):
    """Ctrl-C, where there was nothing to bring to an end in good order."""

    exit_code = 130


class Commands(TyperGroup):
    """A group of commands that says what was probably meant. Without any argument it prints its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            sys.stderr.write(ctx.get_help() + "\n")
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            hint = did_you_mean(args[0], self.commands) or f"see {ctx.command_path} --help"
            raise InputError(f"no such command: {shown(args[0])}", hint=hint)
        return super().resolve_command(ctx, args)


class _Capra(Commands):
    """The outermost group. Its help begins with what everybody needs first."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return [*USUAL, *(name for name in names if name not in USUAL)]


app = typer.Typer(
    name="capra",
    cls=_Capra,
    help="Find the parameter configuration that makes your algorithm fastest on your instances.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ScenarioPath = Annotated[Path, typer.Argument(help="scenario.toml, or an AClib/SMAC or irace scenario.txt")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
RunFolder = Annotated[Path, typer.Argument(help="The folder of a tuning, as given to tune --out.", metavar="RUN")]
Workers = Annotated[int, typer.Option(help="Runs at a time.", min=1)]
AllWorkers = Annotated[int | None, typer.Option(help="Runs at a time: 1, or all that a cluster can make.", min=1)]
EngineName = Annotated[
    str,
    typer.Option(
        help="Where runs are made: local (this machine), dask (a cluster), simulated (a function that says its own time)."
    ),
]
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
        code = _called()
    except CapraError as error:
        _print_error(error)
        code = error.exit_code
    except OSError as error:
        code = 0 if error.errno == errno.EPIPE else 2
        if code:
            _print_error(_as_input_error(error))
    raise SystemExit(code)


def _called() -> int:
    """The exit code of the command, which typer would print and raise in its own way."""
    try:
        return app(standalone_mode=False) or 0
    except _Misuse as error:
        raise _as_one_line(error) from None
    except typer.Abort:  # Ctrl-C at a question
        raise Interrupted("interrupted") from None


def _as_one_line(error: Any) -> InputError:
    """A usage error without the usage."""
    text, hint = " ".join(error.format_message().split()).rstrip("."), None
    if hasattr(error, "possibilities"):  # there is no such option
        known = [name for option in error.ctx.command.params for name in (*option.opts, *option.secondary_opts)]
        text, hint = error.message, did_you_mean(error.option_name.strip("-"), [name.strip("-") for name in known])
    place = "capra" if error.ctx is None else error.ctx.command_path
    return InputError(text[:1].lower() + text[1:], hint=hint or f"see {place} --help")


def _as_input_error(error: OSError) -> InputError:
    where = "the output" if error.filename is None else error.filename
    return InputError(f"{where}: {error.strerror or error}", hint=ADVICE.get(error.errno or 0))


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
