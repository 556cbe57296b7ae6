"""Commands that look at finished tunings: importance, ablation, compare, overtuning."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from capra.cli.app import AsJson, RunFolder, Workers, app
from capra.cli.output import print_json, print_rows, say
from capra.errors import InputError
from capra.overview import load_history, load_scenario, validate_run
from capra.report.console import LiveConsole
from capra.report.curve import cost_curves, overtuning_curve
from capra.report.words import amount, cost, count
from capra.runs.foreign import replacing

CsvFile = Annotated[Path | None, typer.Option("--csv", help="Also write the figures to this file.", metavar="FILE")]
Watch = Callable[[Any], None]


def _write_csv(path: Path | None, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    if path is None:
        return
    with replacing(path) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)


def _watched(work: Callable[[Watch], Any], as_json: bool) -> Any:
    with LiveConsole() as console:
        return work((lambda _: None) if as_json else console.watch)


# --- importance ---


@app.command()
def importance(
    run: RunFolder,
    pairs: Annotated[bool, typer.Option("--pairs", help="Also what two of the top ten do together.")] = False,
    local: Annotated[bool, typer.Option("--local", help="Also what matters around the incumbent.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the forest.", min=0)] = 0,
    csv_file: CsvFile = None,
    as_json: AsJson = False,
) -> None:
    """Which parameters matter: shares of the variance of the log cost (fANOVA), by a model that understands capped runs."""
    from capra.analysis.importance import Importance

    scenario = load_scenario(run)
    history, trajectory = load_history(run, scenario)
    if local and not trajectory:
        raise InputError(f"{run} has no incumbent yet", hint="let it run for a while, or leave --local out")
    found = Importance(scenario, history, seed=seed)
    around = trajectory[-1].config if local else None
    document = {"run": str(run), "runs": len(history), **found.to_dict(pairs=pairs, curves=as_json, around=around)}
    parts = {"alone": "parameters", "together": "pairs", "around the incumbent": "local"}
    shares = [(kind, one) for kind, key in parts.items() for one in document.get(key, [])]
    rows = [(kind, one.get("name") or " × ".join(one["names"]), one["share"], one["spread"]) for kind, one in shares]
    _write_csv(csv_file, ("kind", "name", "share", "spread"), rows)
    if as_json:
        print_json(document)
    else:
        _print_importance(document, rows)


def _print_importance(document: dict[str, Any], rows: list[tuple[str, str, float, float]]) -> None:
    last = ""
    for kind, name, share, spread in rows:
        if kind != last:
            say(f"[bold]{kind}[/]")
            last = kind
        bar = "█" * round(30 * share)
        say(f"  {100 * share:5.1f} % ± {100 * spread:4.1f}  {escape(name):30} {bar}".rstrip())
    for name in document["simplified"]:
        say(f"[yellow]note:[/] the condition of {escape(name)} is arithmetic: it counts as always active")


# --- ablation ---


@app.command()
def ablation(
    run: RunFolder,
    model: Annotated[bool, typer.Option("--model", help="By what a model predicts: no run is made.")] = False,
    pairs: Annotated[
        int | None, typer.Option(help="(instance, seed) pairs to compare on; 20 at most by default.", min=1)
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Stop after so much target time (10m); the same command goes on.", metavar="TIME")
    ] = None,
    workers: Workers = 1,
    racing: Annotated[bool, typer.Option(help="Give up steps that are significantly worse. Without: brute force.")] = True,
    csv_file: CsvFile = None,
    as_json: AsJson = False,
) -> None:
    """What made the difference: from the default to the incumbent, one parameter at a time, by real runs."""
    from capra.analysis.ablation import ablate, predict_ablation

    if model:
        found = predict_ablation(run)
    else:
        options: dict[str, Any] = {"pairs": pairs, "budget": budget, "workers": workers, "racing": racing}
        found = _watched(lambda watch: ablate(run, watch=watch, **options), as_json)
    document = {"run": str(run), **found.to_dict()}
    header = ("step", "label", "cost", "low", "high", "share", "p_value", "changes")
    lines = [
        (i, step["label"], step["cost"], *step["interval"], step["share"], step["p_value"], _changes(step["changes"]))
        for i, step in enumerate(document["steps"])
    ]
    _write_csv(csv_file, header, lines)
    if as_json:
        print_json(document)
    else:
        _print_ablation(run, document)


def _changes(changes: dict[str, Any]) -> str:
    def word(value: Any) -> str:
        return "inactive" if value is None else str(value)

    return ", ".join(f"{name} {word(both['from'])} → {word(both['to'])}" for name, both in changes.items())


def _print_ablation(run: Path, document: dict[str, Any]) -> None:
    for step in document["steps"]:
        low, high = step["interval"]
        share = "" if step["share"] is None else f", {100 * step['share']:.3g} % of the difference"
        p_value = "" if step["p_value"] is None else f", p = {step['p_value']:.2g}"
        what = escape(_changes(step["changes"]) or step["label"])
        say(f"{step['cost']:.4g} \\[{low:.4g}, {high:.4g}]{share}{p_value}: [bold]{what}[/]")
    if document["kind"] == "model":
        say("predicted by a model of the tuning's runs; without --model the steps are really run")
    elif not document["finished"]:
        say(f"[yellow]not finished[/] ({count(document['runs'], 'run')}); to go on: capra ablation {escape(str(run))}")
    else:
        say(f"{count(document['runs'], 'run')} on {count(document['pairs'], 'pair')}")


# --- compare ---


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of tunings of the same instances.", metavar="RUN RUN…")],
    seed: Annotated[int, typer.Option(help="Seed of intervals and tests.", min=0)] = 0,
    csv_file: CsvFile = None,
    as_json: AsJson = False,
) -> None:
    """Several tunings side by side: costs with intervals, paired tests, and curves over the budget."""
    from capra.analysis.compare import compare as compare_tunings

    document = compare_tunings(runs, seed=seed)
    points = [(one["name"], point) for one in document["tunings"] for point in one["curve"]]
    keys = ("spent", "wall", "cost", "test_cost", "id")
    _write_csv(csv_file, ("tuning", *keys), [(name, *(point[key] for key in keys)) for name, point in points])
    if as_json:
        print_json(document)
    else:
        _print_comparison(document)


def _print_comparison(document: dict[str, Any]) -> None:
    rows: list[tuple[str, ...]] = []
    for one in document["tunings"]:
        how = f"{one['strategy']}, seed {one['seed']}, {count(one['runs'], 'run')}"
        rows.append((f"[bold]{escape(one['name'])}[/]", how, f"train {_cost(one['train'])}", f"test {_cost(one['test'])}"))
    print_rows(rows)
    for pair in document["comparisons"]:
        for where in ("train", "test"):
            if (shared := pair[where]) is not None:
                names = f"{escape(pair['one'])} {shared['one']:.4g}, {escape(pair['other'])} {shared['other']:.4g}"
                say(f"{where}, {count(shared['pairs'], 'shared pair')}: {names}, p = {shared['p_value']:.2g}")
    series = {one["name"]: [(point["spent"], point["cost"]) for point in one["curve"]] for one in document["tunings"]}
    ends = {one["name"]: one["spent"] for one in document["tunings"]}
    for line in cost_curves(series, ends):
        say(escape(line))


def _cost(told: dict[str, Any] | None) -> str:
    if told is None:
        return "not known"
    low, high = told["interval"]
    return f"{told['cost']:.4g} \\[{low:.4g}, {high:.4g}] on {count(told['pairs'], 'pair')}"


# --- overtuning ---


@app.command()
def overtuning(
    run: RunFolder,
    seeds: Annotated[int, typer.Option(help="Fresh seeds per test instance.", min=1)] = 5,
    workers: Workers = 1,
    csv_file: CsvFile = None,
    as_json: AsJson = False,
) -> None:
    """Training against test cost of every incumbent. Makes the runs that validation has not made yet."""
    from capra.analysis.overtuning import overtuning_of

    rows = _watched(lambda watch: validate_run(run, seeds=seeds, workers=workers, trajectory=True, watch=watch), as_json)
    keys = ("name", "incumbent_since", "training_cost_then", "training_cost", "training_pairs", "cost", "solved", "runs")
    _write_csv(csv_file, keys, [[row[key] for key in keys] for row in rows])
    document = {"run": str(run), "configurations": rows, **overtuning_of(rows)}
    if as_json:
        print_json(document)
        return
    unit = load_scenario(run).unit
    for row in rows:
        since = "" if row["incumbent_since"] is None else f", incumbent since {amount(row['incumbent_since'], unit)}"
        then = "" if row["training_cost_then"] is None else f", training then {row['training_cost_then']:.4g}"
        say(f"{row['name']}: test {cost(row['cost'])}{then}{since}")
    for line in overtuning_curve(rows):
        say(line)
    say(f"[bold]{escape(document['verdict'])}[/]")
