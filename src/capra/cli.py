"""The command line: parse, call, print.

Exit codes: 0 done, 2 bad input, 3 the target cannot be run or does not behave, 130 interrupted.
"""

from __future__ import annotations

import errno
import json
import signal
import sys
import tomllib
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import capra
from capra.check import Finding, check_scenario
from capra.convert import convert as convert_file
from capra.convert import write_atomically
from capra.errors import CapraError, InputError
from capra.formats.plain import plain
from capra.formats.quantities import duration, positive_number
from capra.formats.template import commented_scenario
from capra.intake import import_folder, kind_of
from capra.overview import (
    command_of,
    configuration_of,
    load_scenario,
    open_run,
    status_of,
    summary_of,
    surrogate_of,
    validate_run,
    verdict_of,
)
from capra.rehearse import Rehearsed, findings_of, rehearse
from capra.repeats import Repeats
from capra.report.console import LiveConsole
from capra.report.curve import overtuning_curve
from capra.report.rows import Rows, configuration_rows, status_rows
from capra.report.words import amount, count, standing
from capra.runs import Configuration
from capra.runs.exchange import export_store
from capra.scenario import Scenario
from capra.tune import REPEAT_SHARE, Result, Tuning
from capra.tune import resume as resume_tuning
from capra.tune import tune as run_tuning

app = typer.Typer(
    name="capra",
    help="Find the parameter configuration that makes your algorithm fastest on your instances.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ScenarioPath = Annotated[Path, typer.Argument(help="scenario.toml, or an AClib/SMAC or irace scenario.txt")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
RunFolder = Annotated[Path, typer.Argument(help="The folder of a tuning, as given to tune --out.", metavar="RUN")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that are already there.")]


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


def _print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _say(text: str) -> None:
    """One line, whole even when it is longer than the terminal is wide."""
    Console(soft_wrap=True).print(text, highlight=False)


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    """Columns of marked-up text: wrapped to the terminal's width, or plain unwrapped lines when piped."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    if sys.stdout.isatty():
        Console().print(table)
    else:
        for row in rows:
            _say("  ".join(row))


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        sys.stdout.write(f"capra {capra.__version__}\n")
        raise typer.Exit


@app.command()
def init(
    target: Annotated[
        list[str] | None, typer.Option(help="The command's arguments, one --target each, or module:function.")
    ] = None,
    space: Annotated[str | None, typer.Option(help="Parameter file (PCS, ConfigSpace JSON or irace).")] = None,
    instances: Annotated[str | None, typer.Option(help="Training instances: folder, pattern or list file.")] = None,
    test_instances: Annotated[str | None, typer.Option(help="Instances for validation.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Longest run, in seconds of CPU time.")] = None,
    budget: Annotated[str | None, typer.Option(help="Target time for the whole tuning, for example 2h.")] = None,
    objective: Annotated[str, typer.Option(help="par10, par1, mean or quality.")] = "par10",
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("scenario.toml"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented scenario; asks for what the options leave open, when there is somebody to ask."""
    if out.exists() and not force:
        raise InputError(f"{out} is already there", hint="--force overwrites it")
    answers: dict[str, Any] = {
        "target": _ask("target", target, "What to run (a command with {instance} {seed} {params}, or module:function)"),
        "space": _ask("space", space, "Parameter file"),
        "instances": _ask("instances", instances, "Training instances (folder, pattern or list file)"),
        "cutoff": _ask("cutoff", cutoff, "Longest run, in seconds"),
        "budget": {"cpu": _ask("budget", budget, "Target time for the whole tuning (for example 2h)")},
        "objective": objective,
    }
    answers |= {"test_instances": test_instances} if test_instances else {"split": 0.5}
    write_atomically(out, commented_scenario(_tidy(answers)))
    if as_json:
        _print_json({"scenario": str(out)})
    else:
        _say(f"wrote {escape(str(out))}; next: capra check {escape(str(out))}")


def _ask(option: str, given: Any, question: str) -> Any:
    if given not in (None, []):
        return given
    if not sys.stdin.isatty():
        raise InputError(f"--{option} is missing", hint="or run `capra init` in a terminal and answer the questions")
    try:
        return typer.prompt(question)
    except typer.Abort:  # Ctrl-C at the question
        raise typer.Exit(130) from None


def _tidy(answers: dict[str, Any]) -> dict[str, Any]:
    """A typed command line becomes an argument list, a lone module:function stays text."""
    import shlex

    target = answers["target"]
    try:
        words = shlex.split(target) if isinstance(target, str) else list(target)
        cutoff = positive_number(float(answers["cutoff"]), "a cutoff")
        duration(answers["budget"]["cpu"])
    except ValueError as error:
        raise InputError(f"cannot use that answer: {error}") from None
    if len(words) == 1 and " " in words[0]:
        raise InputError(
            "give each argument of the command in a --target of its own", hint="--target solver --target {instance}"
        )
    is_function = len(words) == 1 and ":" in words[0] and "/" not in words[0]
    return answers | {"target": words[0] if is_function else words, "cutoff": cutoff}


@app.command()
def check(
    scenario: ScenarioPath,
    static: Annotated[bool, typer.Option("--static", help="Do not run the target.")] = False,
    workers: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = 1,
    as_json: AsJson = False,
) -> None:
    """Look a scenario over, then make a few runs to see whether the target behaves. Exit code 3 if it does not."""
    loaded = Scenario.load(scenario)
    findings = check_scenario(loaded)
    if not as_json:
        _say(f"[bold]{escape(loaded.name or str(scenario))}[/]")
        _print_findings(findings)
    warnings: list[str] = []
    runs = [] if static else _rehearse(loaded, workers, warnings.append, quiet=as_json)
    later = findings_of(loaded, runs) if runs else []
    later += [Finding("warning", "machine", text) for text in warnings]
    if as_json:
        document = {"scenario": str(scenario), "findings": plain(findings + later), "runs": [_run(run) for run in runs]}
        _print_json(document)
    else:
        _print_findings(later)
    if any(finding.level == "error" for finding in findings + later):
        raise typer.Exit(3)


def _print_findings(findings: list[Finding]) -> None:
    marks = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "error": "[bold red]error[/]"}
    _print_rows([(marks[finding.level], finding.topic, escape(finding.text)) for finding in findings])


def _rehearse(scenario: Scenario, workers: int, warned: Callable[[str], None], *, quiet: bool) -> list[Rehearsed]:
    def told(run: Rehearsed) -> None:
        if not quiet:
            outcome = run.outcome
            times = f"{outcome.time:.3g} of {amount(outcome.cutoff, scenario.unit)}"
            measured = f"{times}, {(outcome.memory or 0) / 1024**2:.0f} MB"
            parts = [f"[bold]{outcome.status}[/]", run.purpose, escape(run.request.instance or "–"), measured]
            _say("  ".join([*parts, *([escape(outcome.reason)] if outcome.reason else [])]))
            _say(f"    [dim]{escape(run.command)}[/]")

    return rehearse(scenario, workers=workers, told=told, warned=warned)


def _run(run: Rehearsed) -> dict[str, Any]:
    request, outcome = run.request, plain(run.outcome)
    return {
        "purpose": run.purpose,
        "instance": request.instance,
        "seed": request.seed,
        "config": dict(request.config),
        "command": run.command,
        **outcome,
    }


@app.command()
def show(
    what: Annotated[Path, typer.Argument(help="A scenario, or the folder of a tuning.", metavar="SCENARIO|RUN")],
    config: Annotated[
        str | None, typer.Argument(help="With RUN: a configuration: 'default', 'incumbent', or the beginning of an id.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the resolved scenario; or one configuration of a tuning with all its runs."""
    if config is not None:
        _print_document(configuration_of(what, config), configuration_rows, as_json)
    else:
        scenario = load_scenario(what) if what.is_dir() else Scenario.load(what)
        _print_document(scenario.to_dict(), lambda found: [(k, _short(k, v)) for k, v in found.items()], as_json)


def _print_document(document: dict[str, Any], rows_of: Callable[[dict[str, Any]], Rows], as_json: bool) -> None:
    if as_json:
        _print_json(document)
    else:
        _print_rows([(f"[bold]{name}[/]", escape(text)) for name, text in rows_of(document)])


def _short(key: str, value: Any) -> str:
    if key == "space":
        return f"{len(value['parameters'])} parameters: " + ", ".join(p["name"] for p in value["parameters"])
    if key in ("instances", "test_instances"):
        names = [instance["name"] for instance in value]
        return f"{len(names)}: " + ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    return "–" if value in (None, "", [], {}) else json.dumps(value, ensure_ascii=False)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A parameter file or a scenario, in any format.")],
    destination: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; its suffix says the format.")],
    to: Annotated[
        str | None, typer.Option(help="pcs, json, irace, irace3 (parameters); toml, aclib, irace (scenarios).")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Convert parameter files (PCS, ConfigSpace JSON, irace) and scenarios (TOML, AClib/SMAC, irace)."""
    notes = convert_file(source, destination, to, force=force)
    if as_json:
        _print_json({"written": str(destination), "notes": notes})
        return
    for note in notes:
        _say(f"[yellow]note:[/] {escape(note)}")
    _say(f"wrote {escape(str(destination))}")


@app.command()
def tune(
    scenario: ScenarioPath,
    out: Annotated[Path, typer.Option(help="Folder for the run; a tuning that is there already is resumed.")] = Path(
        "runs/latest"
    ),
    strategy: Annotated[str, typer.Option(help="smac, roar or basic.")] = "roar",
    warm_start: Annotated[
        list[Path] | None,
        typer.Option(
            help="An earlier tuning of the same space: its folder, runs (jsonl, csv, json), or trajectory.", metavar="RUN"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the tuning's own choices.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = 1,
    slack: Annotated[
        float, typer.Option(help="Capping: how much longer than the incumbent a challenger may take.", min=1.0)
    ] = 1.3,
    capping: Annotated[bool, typer.Option(help="Stop runs that are provably too long.")] = True,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Another option of the strategy, NAME=VALUE: --set audit=0.05")
    ] = None,
    repeat: Annotated[
        float, typer.Option(help="Share of runs made again, to see whether this machine still measures the same.", min=0.0)
    ] = REPEAT_SHARE,
    as_json: AsJson = False,
) -> None:
    """Find a faster configuration. Ctrl-C stops it and says how to go on."""
    loaded = Scenario.load(scenario)
    options: dict[str, Any] = {"seed": seed, "workers": workers, "repeat": repeat, "slack": slack, "capping": capping}
    options |= {"warm_start": warm_start or []} | dict(_setting(text) for text in settings or [])
    result = _watched(lambda watch: run_tuning(loaded, strategy, out=out, watch=watch, **options), out, as_json)
    _print_result(loaded, result, as_json)


def _setting(text: str) -> tuple[str, Any]:
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
    takeover: Annotated[bool, typer.Option("--takeover", help="Although another process may still be at it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a tuning that was interrupted, exactly where it was; or, with --budget, with one that had ended."""
    more = dict(map(_part, budget)) if budget else None
    result = _watched(lambda watch: resume_tuning(run, watch=watch, budget=more, takeover=takeover), run, as_json)
    _print_result(load_scenario(run), result, as_json)


def _part(text: str) -> tuple[str, Any]:
    """A part of a budget: NAME=VALUE, or only the target time."""
    name, equals, value = text.rpartition("=")
    return (name if equals else "cpu"), (int(value) if value.isdecimal() else value)


def _watched(work: Callable[[Callable[[Tuning], None]], Result], out: Path, as_json: bool) -> Result:
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
            _print_json(summary_of(result) | {"interrupted": True})
        Console(stderr=True).print(f"interrupted; to go on: capra resume {escape(str(out))}", highlight=False)
        raise typer.Exit(130)
    return result


def _print_result(scenario: Scenario, result: Result, as_json: bool) -> None:
    command = command_of(scenario, result.incumbent)
    if as_json:
        _print_json(summary_of(result) | {"command": command})
        return
    found = standing(result.history, Configuration(result.incumbent), scenario.default)
    _say(f"incumbent {found}; {count(len(result.history), 'run')}")
    if (repeats := Repeats.of(result.history)).made:
        _say(str(repeats))
    _say(f"[bold]{escape(command)}[/]")
    _say(f"next: capra validate {escape(str((result.store or Path()).parent))}")


@app.command()
def status(run: RunFolder, as_json: AsJson = False) -> None:
    """Where a tuning stands, running or not."""
    _print_document(status_of(run), status_rows, as_json)


@app.command()
def export(
    run: RunFolder,
    out: Annotated[Path, typer.Argument(help="The file (for aslib: the folder) to write.")],
    to: Annotated[str, typer.Option(help="jsonl, csv, smac (runhistory.json), trajectory (AClib2) or aslib.")] = "jsonl",
    surrogate: Annotated[
        bool, typer.Option("--surrogate", help="Write a model of the target instead: capra.targets.SurrogateTarget.load.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a tuning's runs in a format that other tools read, or a model of the target that was fitted to them."""
    if surrogate:
        surrogate_of(run).save(out)
    else:
        with open_run(run) as store:
            export_store(store, out, to)
    if as_json:
        _print_json({"written": str(out)})
    else:
        _say(f"wrote {escape(str(out))}")


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
        _print_json({"run": str(out), "runs": count})
    else:
        _say(f"took over {count:,} runs; next: capra status {escape(str(out))}")


@app.command()
def validate(
    run: RunFolder,
    seeds: Annotated[int, typer.Option(help="Fresh seeds per instance.", min=1)] = 5,
    workers: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = 1,
    trajectory: Annotated[bool, typer.Option(help="Every incumbent, not only the last: shows overtuning.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the default and the incumbent on the test instances with fresh seeds, and say whether the gain is real."""
    rows = _watched_validation(run, seeds, workers, trajectory=trajectory, as_json=as_json)
    if as_json:
        _print_json({"run": str(run), "configurations": rows})
        return
    for row in rows:
        p_value = "" if row["p_value"] is None else f", p = {row['p_value']:.2g}"
        low, high = row["interval"]
        _say(
            f"{row['name']}: test cost {row['cost']:.4g} [{low:.4g}, {high:.4g}], solved {row['solved']} of {row['runs']}"
            f"{p_value}; training cost {_training(row)}"
        )
    for line in overtuning_curve(rows) if trajectory else []:
        _say(line)
    _say(verdict_of(rows))


def _training(row: dict[str, Any]) -> str:
    cost = row["training_cost"]
    return "unknown" if cost is None else f"{cost:.4g} on {count(row['training_pairs'], 'pair')}"


def _watched_validation(run: Path, seeds: int, workers: int, *, trajectory: bool, as_json: bool) -> list[dict[str, Any]]:
    with LiveConsole() as console:
        watch = (lambda _: None) if as_json else console.watch
        return validate_run(run, seeds=seeds, workers=workers, trajectory=trajectory, watch=watch)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the example; files already there are kept.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of the tuning's own choices.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = 2,
    prepare_only: Annotated[bool, typer.Option("--prepare-only", help="Write scenario and instances, and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tune clasp on generated quasigroup instances for two minutes and validate the result on fresh ones."""
    from capra.demo import prepare

    if not as_json:
        _say(f"Preparing clasp on 60 generated quasigroup instances in {escape(str(out))} …")
    scenario = prepare(out)
    if prepare_only:
        _print_json({"scenario": str(scenario)}) if as_json else _say(f"next: capra check {escape(str(scenario))}")
        return
    run = out / f"seed-{seed}"
    loaded = Scenario.load(scenario)
    result = _watched(lambda watch: run_tuning(loaded, seed=seed, workers=workers, out=run, watch=watch), run, as_json)
    if not as_json:
        _print_result(loaded, result, as_json)
    rows = _watched_validation(run, 3, workers, trajectory=False, as_json=as_json)
    if as_json:
        _print_json(summary_of(result) | {"validation": rows})
    else:
        for row in rows:
            _say(f"{row['name']}: {row['cost']:.4g} on the fresh test instances, solved {row['solved']} of {row['runs']}")
        _say(f"[bold]{escape(verdict_of(rows))}[/]")
