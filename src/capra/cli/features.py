"""The command that computes features of CNF formulas: features."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from capra.cli.app import AsJson, Force, app
from capra.cli.output import print_json, print_rows, say
from capra.convert import write_atomically
from capra.errors import InputError
from capra.formats.instances import find_instances

if TYPE_CHECKING:
    from capra.formats.cnf import Extracted


@app.command()
def features(
    files: Annotated[
        list[Path], typer.Argument(help="CNF formulas (DIMACS, also .gz .bz2 .xz), or folders of them.", metavar="FILES")
    ],
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the table that --out would write, and nothing else.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the table for a scenario's `features` to this file.")] = None,
    force: Force = False,
    workers: Annotated[int | None, typer.Option(help="Files at a time; by default one per core.", min=1)] = None,
) -> None:
    """Compute features of CNF formulas: sizes, balances, graph degrees, short probes. docs/features.md explains them.

    Instances have the names of their files as given here: give them as the scenario does.
    """
    from capra.formats import cnf

    if out is not None and out.exists() and not force:
        raise InputError(f"{out} is already there", hint="--force overwrites it")
    paths = _paths(files)
    with Progress(console=Console(stderr=True), transient=True, disable=as_json or len(paths) < 2) as progress:
        task = progress.add_task("features", total=len(paths))
        found = cnf.extract_all(paths, workers=workers, told=lambda _: progress.advance(task))
    if out is not None:
        write_atomically(out, cnf.as_csv(found))
    if as_json:
        print_json({name: _document(cnf.NAMES, one) for name, one in found.items()})
    elif as_csv:
        sys.stdout.write(cnf.as_csv(found))
    else:
        _print(cnf.NAMES, found)
        if out is not None:
            say(f"wrote {escape(str(out))}: {len(cnf.NAMES)} features of {len(found)} instances")


def _paths(files: list[Path]) -> dict[str, Path]:
    """What was named, as it was named; a folder means the files directly in it."""
    names = []
    for file in files:
        names += [instance.name for instance in find_instances(file, [Path()])] if file.is_dir() else [str(file)]
    if not names:
        raise InputError("there is no file in what was given")
    return {name: Path(name) for name in names}


def _document(names: tuple[str, ...], one: Extracted) -> dict[str, object]:
    return {"features": dict(zip(names, one.values, strict=True)), "seconds": one.seconds}


def _print(names: tuple[str, ...], found: Mapping[str, Extracted]) -> None:
    """All features of a single file; of many, a line each."""
    if len(found) == 1:
        (one,) = found.values()
        print_rows([(f"[bold]{name}[/]", f"{value:.6g}") for name, value in zip(names, one.values, strict=True)])
    else:
        print_rows([(f"[bold]{escape(name)}[/]", *_sizes(names, one)) for name, one in found.items()])
    seconds = sum(one.seconds for one in found.values())
    say(f"{seconds:.3g} s of CPU time" + (f", {seconds / len(found):.3g} s per file" if len(found) > 1 else ""))


def _sizes(names: tuple[str, ...], one: Extracted) -> tuple[str, str, str]:
    by_name = dict(zip(names, one.values, strict=True))
    return f"{by_name['variables']:,.0f} variables", f"{by_name['clauses']:,.0f} clauses", f"{one.seconds:.3g} s"
