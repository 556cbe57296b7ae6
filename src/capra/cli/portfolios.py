"""Commands about choosing between configurations: select."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from capra.cli.app import AsJson, app
from capra.cli.output import print_json, print_rows, say
from capra.errors import InputError, did_you_mean


@app.command()
def select(
    scenario: Annotated[
        Path, typer.Argument(help="The folder of an ASlib scenario (description.txt, *.arff).", metavar="SCENARIO_DIR")
    ],
    selectors: Annotated[
        str | None, typer.Option(help="Only these, with commas between: auto,knn,survival.", metavar="NAMES")
    ] = None,
    repetition: Annotated[int, typer.Option(help="Which repetition of the scenario's cross-validation.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of forests, inner folds and intervals.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """How well an algorithm per instance can be selected: all selectors, cross-validated with the scenario's own folds.

    The normalised PAR10 is 0 for the virtual best (an oracle) and 1 for the single best algorithm of the training folds;
    above 1, selection does harm. The time of features is counted.
    """
    from capra.portfolio.aslib import read_aslib
    from capra.portfolio.evaluation import evaluate

    names = _names(selectors)
    found = read_aslib(scenario, repetition=repetition)
    with Progress(console=Console(stderr=True), transient=True, disable=as_json) as progress:
        task = progress.add_task("selecting")

        def told(name: str, fold: int, folds: int) -> None:
            done = (fold - 1) * len(names) + names.index(name)
            text = f"fold {fold} of {folds}: {name}"
            progress.update(task, description=text, completed=done, total=folds * len(names))

        document = evaluate(found, names, seed=seed, told=told).to_dict()
    if as_json:
        print_json(document)
    else:
        _print(document)


def _names(text: str | None) -> list[str]:
    from capra.portfolio.evaluation import AUTO
    from capra.portfolio.selectors import SELECTORS

    known = [AUTO, *SELECTORS]
    names = known if text is None else list(dict.fromkeys(part.strip() for part in text.split(",")))
    if unknown := [name for name in names if name not in known]:
        hint = did_you_mean(unknown[0], known) or f"one of {', '.join(known)}"
        raise InputError(f"unknown selector {unknown[0]!r}", hint=hint)
    return names


def _print(document: dict[str, Any]) -> None:
    left = document["instances"] - document["scored"]
    unsolved = f"; {left} that nobody solves are left out" if left else ""
    say(f"[bold]{escape(document['scenario'])}[/]: {document['scored']} instances{unsolved}")
    say(f"PAR10 of the single best {document['sbs']:.4g}, of the virtual best {document['vbs']:.4g}")
    parts = ({"auto": document["auto"]} if "auto" in document else {}) | document["selectors"]
    print_rows([_row(name, part) for name, part in parts.items()])
    if chosen := document.get("auto", {}).get("chosen"):
        counts = {name: chosen.count(name) for name in sorted(set(chosen), key=lambda n: -chosen.count(n))}
        say("auto chose " + ", ".join(f"{name} in {count}" for name, count in counts.items()) + f" of {len(chosen)} folds")


def _row(name: str, part: dict[str, Any]) -> tuple[str, str, str]:
    if part["npar10"] is None:
        return f"[bold]{name}[/]", f"PAR10 {part['par10']:.4g}", "single and virtual best are the same"
    low, high = part["npar10_interval"]
    gap = f"{100 * part['closed_gap']:.0f} % of the gap closed"
    return (
        f"[bold]{name}[/]",
        f"PAR10 {part['par10']:.4g}",
        f"normalised {part['npar10']:.3f} [{low:.3f}, {high:.3f}], {gap}",
    )
