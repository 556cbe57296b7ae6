"""Commands about tunings: tune, resume, status, export, import, validate, demo."""

from __future__ import annotations

import signal
import tomllib
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from capra.cli.app import AllWorkers, AsJson, EngineName, Local, RunFolder, ScenarioPath, Scheduler, Workers, app, cluster_of
from capra.cli.output import next_step, print_document, print_json, say
from capra.dashboards import export_run
from capra.errors import InputError
from capra.intake import import_folder, kind_of
from capra.overview import (
    command_of,
    is_portfolio,
    load_scenario,
    status_of,
    summary_of,
    surrogate_of,
    validate_run,
    verdict_of,
)
from capra.repeats import Repeats
from capra.report.console import LiveConsole
from capra.report.curve import overtuning_curve
from capra.report.rows import status_rows
from capra.report.words import cost, count, standing
from capra.runs import Configuration
from capra.scenario import Scenario
from capra.strategies import BUILDERS, STRATEGIES
from capra.tune import REPEAT_SHARE, Result, Tuning
from capra.tune import resume as resume_tuning
from capra.tune import tune as run_tuning

R = TypeVar("R")


@app.command()
def tune(
    scenario: ScenarioPath,
    out: Annotated[Path, typer.Option(help="Folder for the run; a tuning that is there already is resumed.")] = Path(
        "runs/latest"
    ),
    strategy: Annotated[str, typer.Option(help=f"One of {', '.join(STRATEGIES)}.")] = "smac",
    warm_start: Annotated[
        list[Path] | None,
        typer.Option(
            help="An earlier tuning of the same space: its folder, runs (jsonl, csv, json), or trajectory.", metavar="RUN"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the tuning's own choices.", min=0)] = 0,
    workers: AllWorkers = None,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    local: Local = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Engine dask: scale times to the speed of this machine.")
    ] = False,
    stage: Annotated[
        str | None, typer.Option(help="Engine dask: space on workers' own disks for copies of instances.", metavar="2GB")
    ] = None,
    slack: Annotated[
        float | None, typer.Option(help="Capping: how much longer than the incumbent a challenger may take.", min=1.0)
    ] = None,
    capping: Annotated[bool, typer.Option(help="Stop runs that are provably too long.")] = True,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Another option of the strategy, NAME=VALUE: --set audit=0.05")
    ] = None,
    repeat: Annotated[
        float, typer.Option(help="Share of runs made again, to see whether this machine still measures the same.", min=0.0)
    ] = REPEAT_SHARE,
    hold: Annotated[
        str | None,
        typer.Option(
            help="Memory for runs that were stopped at their cap, which then go on when a longer one is wanted "
            "(strategies with guarantees): 4GB",
            metavar="SIZE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find a faster configuration. Ctrl-C stops it and says how to go on."""
    loaded = Scenario.load(scenario)
    options: dict[str, Any] = {"seed": seed, "workers": workers, "repeat": repeat, "engine": engine, "hold": hold}
    options |= {"client": cluster_of(scheduler, local), "calibrate": calibrate, "stage": stage}
    options |= ({} if slack is None else {"slack": slack}) | ({} if capping else {"capping": False})
    options |= {"warm_start": warm_start or []} | dict(setting(text) for text in settings or [])
    if strategy in BUILDERS:
        raise InputError(f"{strategy} builds portfolios", hint=f"capra portfolio build {scenario} --builder {strategy}")
    result = watched(lambda watch: run_tuning(loaded, strategy, out=out, watch=watch, **options), out, as_json, summary_of)
    _print_result(loaded, result, as_json)


def setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as in TOML; text needs no quotes."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"--set {text} is not NAME=VALUE")
    if name in signature(run_tuning).parameters:
        raise InputError(f"{name} is not an option of a strategy", hint=f"see `capra tune --help` for --{name}")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


@app.command()
def resume(
    run: RunFolder,
    budget: Annotated[
        list[str] | None,
        typer.Option(help="A larger budget for the whole tuning: 4h (target time), wall=1h or runs=5000.", metavar="MORE"),
    ] = None,
    scheduler: Scheduler = None,
    local: Local = None,
    takeover: Annotated[bool, typer.Option("--takeover", help="Although another process may still be at it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a tuning that was interrupted, exactly where it was; or, with --budget, with one that had ended."""
    more = dict(map(_part, budget)) if budget else None
    if is_portfolio(run):
        from capra.cli.portfolios import resume_portfolio  # it takes its time to load

        return resume_portfolio(run, more, takeover=takeover, as_json=as_json)
    how: dict[str, Any] = {"budget": more, "takeover": takeover, "client": cluster_of(scheduler, local)}
    result = watched(lambda watch: resume_tuning(run, watch=watch, **how), run, as_json, summary_of)
    _print_result(load_scenario(run), result, as_json)


def _part(text: str) -> tuple[str, Any]:
    """A part of a budget: NAME=VALUE, or only the target time."""
    name, equals, value = text.rpartition("=")
    return (name if equals else "cpu"), (int(value) if value.isdecimal() else value)


def watched(
    work: Callable[[Callable[[Tuning], None]], R], out: Path, as_json: bool, summary: Callable[[R], dict[str, Any]]
) -> R:
    """Show a tuning while it runs; the first Ctrl-C ends it in good order, the second at once."""
    running: list[Tuning] = []

    def stop(*_: object) -> None:
        if not running or running[0].stopping:
            raise KeyboardInterrupt
        running[0].stop()

    with LiveConsole() as console:

        def watch(tuning: Tuning) -> None:
            running[:] = [tuning]
            if not as_json:
                console.watch(tuning)

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            result = work(watch)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if running and running[0].stopping:
        if as_json:
            print_json(summary(result) | {"interrupted": True})
        Console(stderr=True).print(f"interrupted; to go on: capra resume {escape(str(out))}", highlight=False)
        raise typer.Exit(130)
    return result


def _print_result(scenario: Scenario, result: Result, as_json: bool) -> None:
    command = command_of(scenario, result.incumbent)
    if as_json:
        print_json(summary_of(result) | {"command": command})
        return
    if not result.trajectory:
        say(f"no incumbent yet, after {count(len(result.history), 'run')}: none was run to its end, or nothing is promised")
        say(f"{next_step('resume', (result.store or Path()).parent)} --budget …")
        return
    found = standing(result.history, Configuration(result.incumbent), scenario.default)
    say(f"incumbent {found}; {count(len(result.history), 'run')}")
    if result.certificate is not None:
        say(escape(str(result.certificate)))
    if (repeats := Repeats.of(result.history)).made:
        say(str(repeats))
    say(f"[bold]{escape(command)}[/]")
    say(next_step("validate", (result.store or Path()).parent))


@app.command()
def status(run: RunFolder, as_json: AsJson = False) -> None:
    """Where a tuning stands, running or not."""
    print_document(status_of(run), status_rows, as_json)


@app.command()
def export(
    run: RunFolder,
    out: Annotated[Path, typer.Argument(help="The file (for aslib and deepcave: the folder) to write.")],
    to: Annotated[
        str,
        typer.Option(
            help="jsonl, csv, smac (runhistory.json), trajectory (AClib2), aslib, deepcave (a folder) or optuna (SQLite)."
        ),
    ] = "jsonl",
    surrogate: Annotated[
        bool, typer.Option("--surrogate", help="Write a model of the target instead: capra.targets.SurrogateTarget.load.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a tuning's runs in a format that other tools read, or a model of the target that was fitted to them."""
    if surrogate:
        surrogate_of(run).save(out)
    else:
        export_run(run, out, to)
    if as_json:
        print_json({"written": str(out)})
    else:
        say(f"wrote {escape(str(out))}")


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="The file (for aslib: the folder) with the runs.", metavar="FILE")],
    scenario: Annotated[Path, typer.Option(help="The scenario that the runs were made for.")],
    out: Annotated[Path, typer.Option(help="The folder to make.")],
    kind: Annotated[
        str | None, typer.Option("--from", help="jsonl, csv, smac (runhistory.json) or aslib; else told by the name.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a tuning's folder of runs that were made elsewhere: to look at, validate or export."""
    count = import_folder(path, kind or kind_of(path), Scenario.load(scenario), out)
    if as_json:
        print_json({"run": str(out), "runs": count})
    else:
        say(f"took over {count:,} runs; {next_step('status', out)}")


@app.command()
def validate(
    run: RunFolder,
    seeds: Annotated[int, typer.Option(help="Fresh seeds per instance.", min=1)] = 5,
    workers: AllWorkers = None,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    local: Local = None,
    trajectory: Annotated[bool, typer.Option(help="Every incumbent, not only the last: shows overtuning.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the default and the incumbent on the test instances with fresh seeds, and say whether the gain is real."""
    how = {"workers": workers, "engine": engine, "client": cluster_of(scheduler, local)}
    rows = _watched_validation(run, as_json, seeds=seeds, trajectory=trajectory, **how)
    if as_json:
        print_json({"run": str(run), "configurations": rows})
        return
    for row in rows:
        p_value = "" if row["p_value"] is None else f", p = {row['p_value']:.2g}"
        low, high = row["interval"]
        interval = "" if low is None or high is None else f" [{low:.4g}, {high:.4g}]"
        say(
            f"{row['name']}: test cost {cost(row['cost'])}{escape(interval)}, solved {row['solved']} of {row['runs']}"
            f"{p_value}; training cost {_training(row)}"
        )
    for line in overtuning_curve(rows) if trajectory else []:
        say(line)
    say(verdict_of(rows))
    say(next_step("report", run))


def _training(row: dict[str, Any]) -> str:
    cost = row["training_cost"]
    return "unknown" if cost is None else f"{cost:.4g} on {count(row['training_pairs'], 'pair')}"


def _watched_validation(run: Path, as_json: bool, **how: Any) -> list[dict[str, Any]]:
    with LiveConsole() as console:
        watch = (lambda _: None) if as_json else console.watch
        return validate_run(run, watch=watch, **how)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the example; files already there are kept.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of the tuning's own choices.", min=0)] = 0,
    workers: Workers = 2,
    prepare_only: Annotated[bool, typer.Option("--prepare-only", help="Write scenario and instances, and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tune clasp on generated quasigroup instances for two minutes, validate the result on fresh ones, write a report."""
    from capra.demo import prepare
    from capra.report.html import write_report

    if not as_json:
        say(f"Preparing clasp on 60 generated quasigroup instances in {escape(str(out))} …")
    scenario = prepare(out)
    if prepare_only:
        print_json({"scenario": str(scenario)}) if as_json else say(next_step("check", scenario))
        return
    run = out / f"seed-{seed}"
    loaded = Scenario.load(scenario)
    result = watched(
        lambda watch: run_tuning(loaded, seed=seed, workers=workers, out=run, watch=watch), run, as_json, summary_of
    )
    if not as_json:
        _print_result(loaded, result, as_json)
    rows = _watched_validation(run, as_json, seeds=3, workers=workers)
    page = write_report(run)["report"]
    if as_json:
        print_json(summary_of(result) | {"validation": rows, "report": page})
    else:
        for row in rows:
            say(f"{row['name']}: {row['cost']:.4g} on the fresh test instances, solved {row['solved']} of {row['runs']}")
        say(f"[bold]{escape(verdict_of(rows))}[/]")
        say(f"to see it all, open {escape(page)}")
