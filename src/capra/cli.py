"""The command line: parse, call, print.

Exit codes: 0 done, 1 refused (a check found something), 2 bad input, 3 the target cannot be run, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
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
from capra.formats.template import commented_scenario
from capra.rehearse import Rehearsed, findings_of, rehearse
from capra.scenario import Scenario

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
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that are already there.")]


def main() -> None:
    """Entry point of the ``capra`` command."""
    try:
        app()
    except CapraError as error:
        _print_error(error)
        raise SystemExit(error.exit_code) from None


def _print_error(error: CapraError) -> None:
    if "--json" in sys.argv:
        facts = {key: value for key, value in vars(error).items() if key not in ("message", "hint") and value is not None}
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
    words = shlex.split(target) if isinstance(target, str) else list(target)
    is_function = len(words) == 1 and ":" in words[0] and "/" not in words[0]
    return answers | {"target": words[0] if is_function else words, "cutoff": float(answers["cutoff"])}


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
    runs = [] if static else _rehearse(loaded, workers, quiet=as_json)
    later = findings_of(loaded, runs) if runs else []
    if as_json:
        document = {"scenario": str(scenario), "findings": plain(findings + later), "runs": [_run(run) for run in runs]}
        _print_json(document)
    else:
        _print_findings(later)
    if any(finding.level == "error" for finding in later):
        raise typer.Exit(3)


def _print_findings(findings: list[Finding]) -> None:
    marks = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "error": "[bold red]error[/]"}
    _print_rows([(marks[finding.level], finding.topic, escape(finding.text)) for finding in findings])


def _rehearse(scenario: Scenario, workers: int, *, quiet: bool) -> list[Rehearsed]:
    def told(run: Rehearsed) -> None:
        if not quiet:
            outcome = run.outcome
            measured = (
                f"{outcome.time:.3g} {scenario.unit} of {outcome.cutoff:.3g}, {(outcome.memory or 0) / 1024**2:.0f} MB"
            )
            parts = [f"[bold]{outcome.status}[/]", run.purpose, escape(run.request.instance or "–"), measured]
            _say("  ".join([*parts, *([escape(outcome.reason)] if outcome.reason else [])]))
            _say(f"    [dim]{escape(run.command)}[/]")

    return rehearse(scenario, workers=workers, told=told)


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
def show(scenario: ScenarioPath, as_json: AsJson = False) -> None:
    """Print the resolved scenario: every option, its value, and the files it stands for."""
    document = Scenario.load(scenario).to_dict()
    if as_json:
        _print_json(document)
        return
    _print_rows([(f"[bold]{key}[/]", escape(_short(key, value))) for key, value in document.items()])


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
    to: Annotated[str | None, typer.Option(help="pcs, json, irace (parameters); toml, aclib, irace (scenarios).")] = None,
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
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the example; files already there are kept.")] = Path("runs/demo"),
    as_json: AsJson = False,
) -> None:
    """Prepare the bundled example (clasp on quasigroup instances) and check it. Tuning it comes with a later version."""
    from capra.demo import prepare

    if not as_json:
        _say(f"Preparing clasp on 60 generated quasigroup instances in {escape(str(out))} …")
    check(prepare(out), as_json=as_json)
    if not as_json:
        _say("This version describes and checks scenarios; it does not tune them yet.")
