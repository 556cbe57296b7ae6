"""Commands about scenarios and parameter files: init, check, show, convert."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from capra.check import Finding, check_scenario
from capra.cli.app import AsJson, Force, ScenarioPath, Workers, app
from capra.cli.output import next_step, print_document, print_json, print_rows, say
from capra.convert import convert as convert_file
from capra.convert import write_atomically
from capra.errors import InputError
from capra.formats.plain import plain
from capra.formats.quantities import duration, positive_number
from capra.formats.template import commented_scenario
from capra.overview import configuration_of, load_scenario
from capra.rehearse import Rehearsed, findings_of, rehearse
from capra.report.rows import configuration_rows
from capra.report.words import amount
from capra.runs import Objective
from capra.scenario import Scenario


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
    Objective.parse(objective)  # what it refuses is not asked about
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
        print_json({"scenario": str(out)})
    else:
        say(f"wrote {escape(str(out))}; {next_step('check', out)}")


def _ask(option: str, given: Any, question: str) -> Any:
    if given not in (None, []):
        return given
    if not sys.stdin.isatty():
        raise InputError(f"--{option} is missing", hint="or run `capra init` in a terminal and answer the questions")
    return typer.prompt(question)


def _tidy(answers: dict[str, Any]) -> dict[str, Any]:
    """A typed command line becomes an argument list, a lone module:function stays text."""
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
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Look a scenario over, then make a few runs to see whether the target behaves. Exit code 3 if it does not."""
    loaded = Scenario.load(scenario)
    findings = check_scenario(loaded)
    if not as_json:
        say(f"[bold]{escape(loaded.name or str(scenario))}[/]")
        _print_findings(findings)
    warnings: list[str] = []
    runs = [] if static else _rehearse(loaded, workers, warnings.append, quiet=as_json)
    later = findings_of(loaded, runs) if runs else []
    later += [Finding("warning", "machine", text) for text in warnings]
    if as_json:
        document = {"scenario": str(scenario), "findings": plain(findings + later), "runs": [_run(run) for run in runs]}
        print_json(document)
    else:
        _print_findings(later)
    if any(finding.level == "error" for finding in findings + later):
        raise typer.Exit(3)
    if not as_json:
        say(next_step("tune", scenario))


def _print_findings(findings: list[Finding]) -> None:
    marks = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "error": "[bold red]error[/]"}
    print_rows([(marks[finding.level], finding.topic, escape(finding.text)) for finding in findings])


def _rehearse(scenario: Scenario, workers: int, warned: Callable[[str], None], *, quiet: bool) -> list[Rehearsed]:
    def told(run: Rehearsed) -> None:
        if not quiet:
            outcome = run.outcome
            times = f"{outcome.time:.3g} of {amount(outcome.cutoff, scenario.unit)}"
            measured = f"{times}, {(outcome.memory or 0) / 1024**2:.0f} MB"
            parts = [f"[bold]{outcome.status}[/]", run.purpose, escape(run.request.instance or "–"), measured]
            say("  ".join([*parts, *([escape(outcome.reason)] if outcome.reason else [])]))
            say(f"    [dim]{escape(run.command)}[/]")

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
        print_document(configuration_of(what, config), configuration_rows, as_json)
    else:
        scenario = load_scenario(what) if what.is_dir() else Scenario.load(what)
        print_document(scenario.to_dict(), lambda found: [(k, _short(k, v)) for k, v in found.items()], as_json)


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
        print_json({"written": str(destination), "notes": notes})
        return
    for note in notes:
        say(f"[yellow]note:[/] {escape(note)}")
    say(f"wrote {escape(str(destination))}")
