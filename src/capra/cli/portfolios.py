"""Commands about several configurations: portfolio build, run and evaluate; select."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from capra.cli.app import AsJson, Commands, ScenarioPath, Workers, app
from capra.cli.output import next_step, print_json, print_rows, say
from capra.cli.tunings import setting, watched
from capra.errors import InputError, did_you_mean
from capra.scenario import Scenario
from capra.strategies import BUILDERS, STRATEGIES
from capra.tune import REPEAT_SHARE

if TYPE_CHECKING:
    from capra.build import Built

portfolio = typer.Typer(
    cls=Commands,
    help="Several configurations instead of one: build a portfolio, run it in place of the solver, evaluate it.",
    rich_markup_mode=None,
)
app.add_typer(portfolio, name="portfolio")
NO_ANSWER = 124
"""Exit code where no configuration answered in time, as timeout(1) has it."""


@portfolio.command()
def build(
    scenario: ScenarioPath,
    builder: Annotated[str, typer.Option(help=f"One of {', '.join(BUILDERS)}.")] = "hydra",
    out: Annotated[Path, typer.Option(help="Folder for runs and portfolio.json; what is there already is resumed.")] = Path(
        "runs/portfolio"
    ),
    strategy: Annotated[str, typer.Option(help=f"Who tunes inside: one of {', '.join(STRATEGIES)}.")] = "smac",
    seed: Annotated[int, typer.Option(help="Seed of the builder's own choices.", min=0)] = 0,
    workers: Workers = 1,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Another option of the builder or the strategy, NAME=VALUE: --set k=2")
    ] = None,
    repeat: Annotated[
        float, typer.Option(help="Share of runs made again, to see whether this machine still measures the same.", min=0.0)
    ] = REPEAT_SHARE,
    as_json: AsJson = False,
) -> None:
    """Build a portfolio of configurations that complement each other, with a selector or a schedule. Ctrl-C stops it."""
    from capra.build import build as run_building
    from capra.build import summary_of

    loaded = Scenario.load(scenario)
    options: dict[str, Any] = {"seed": seed, "workers": workers, "repeat": repeat, "inner": strategy}
    options |= dict(setting(text) for text in settings or [])
    built = watched(lambda watch: run_building(loaded, builder, out=out, watch=watch, **options), out, as_json, summary_of)
    _print_built(built, as_json)


def resume_portfolio(run: Path, budget: dict[str, Any] | None, *, takeover: bool, as_json: bool) -> None:
    """What ``capra resume`` does with a portfolio's folder."""
    from capra.build import resume_building, summary_of

    built = watched(lambda watch: resume_building(run, watch, budget=budget, takeover=takeover), run, as_json, summary_of)
    _print_built(built, as_json)


def _print_built(built: Built, as_json: bool) -> None:
    from capra.build import summary_of

    document = summary_of(built)
    if as_json:
        print_json(document)
        return
    members = len(document["members"])
    say(f"[bold]{document['builder']}[/]: {members} configuration{'' if members == 1 else 's'}; {document['runs']} runs")
    for lane in document["schedule"]:
        say("schedule: " + _slots(lane))
    if document["selector"]:
        before = f", after the slots {_slots(document['presolve'])}" if document["presolve"] else ""
        say(f"selector: {document['selector']}{before}")
    say(f"[bold]capra portfolio run {escape(document['portfolio'] or '')} INSTANCE[/]")
    if built.file is not None:
        say(next_step("portfolio evaluate", built.file.parent))


def _slots(lane: list[Any]) -> str:
    return ", ".join(f"{c} for {'the rest' if slot is None or math.isinf(slot) else f'{slot:.3g}'}" for c, slot in lane)


@portfolio.command()
def run(
    file: Annotated[Path, typer.Argument(help="portfolio.json", metavar="PORTFOLIO")],
    instance: Annotated[Path, typer.Argument(help="The instance to solve.")],
    seed: Annotated[int, typer.Option(help="Seed for the target.", min=0)] = 1,
    cutoff: Annotated[
        float | None, typer.Option(help="Bound on all runs together, in the scenario's unit; else the scenario's.", min=0.0)
    ] = None,
    cores: Annotated[int, typer.Option(help="Runs at a time: the first answer wins, the others are killed.", min=1)] = 1,
    as_json: AsJson = False,
) -> None:
    """Solve an instance: features, choice or schedule, run. Prints what the solver prints, and ends with its exit code.

    Where no configuration answers in time the last one's output is printed, and the exit code is 124.
    """
    from capra.deploy import run_portfolio, summary

    ran = run_portfolio(file, instance, seed=seed, cutoff=cutoff, cores=cores)
    if as_json:
        print_json(summary(ran))
    elif ran.facts is not None:
        for stream, said in ((sys.stdout, ran.facts.stdout), (sys.stderr, ran.facts.stderr)):
            stream.flush()
            stream.buffer.write(said.head + said.tail)
            stream.buffer.flush()
    code = ran.facts.exit_code if ran.facts is not None and ran.answered else None
    raise typer.Exit(NO_ANSWER if code is None else code)


@portfolio.command()
def evaluate(
    run: Annotated[Path, typer.Argument(help="The folder of a portfolio, as given to build --out.", metavar="RUN")],
    seeds: Annotated[int, typer.Option(help="Fresh seeds for each test instance.", min=1)] = 1,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """How good a portfolio is on test instances, beside the single best and the virtual best of its members."""
    from capra.evaluate import Evaluated, evaluate_folder

    found: Evaluated = watched(
        lambda watch: evaluate_folder(run, seeds=seeds, workers=workers, watch=watch), run, as_json, Evaluated.to_dict
    )
    document = found.to_dict()
    if as_json:
        print_json(document)
        return
    say(f"{document['instances']} test instances, {document['seeds']} seeds each; {document['solved']} runs solved")
    rows = []
    for name in ("single_best", "portfolio", "virtual_best"):
        low, high = document[name]["interval"]
        rows.append(
            (f"[bold]{name.replace('_', ' ')}[/]", f"PAR10 {document[name]['par10']:.4g}", f"[{low:.4g}, {high:.4g}]")
        )
    print_rows([(name, cost, escape(interval)) for name, cost, interval in rows])
    if document["closed_gap"] is not None:
        low, high = document["closed_gap_interval"]
        text = f"{100 * document['closed_gap']:.0f} % of the gap closed"
        say(escape(f"{text} [{100 * low:.0f}, {100 * high:.0f}], features took {document['feature_cost']:.3g} s on average"))


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
