"""irace's ``scenario.txt``: R assignments (``name = value`` or ``name <- value``) of strings, numbers, TRUE, FALSE, NULL.

The file is R code to irace; here it is data, and anything else in it is an error.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capra.errors import FormatError, InputError, did_you_mean
from capra.formats.aclib import whole
from capra.formats.quantities import duration
from capra.formats.scenarios import ScenarioDraft, refuse_rest
from capra.formats.text import Scanner, numbered_lines
from capra.runs import Objective

__all__ = ["parse", "write"]

# What irace does with these has no counterpart here, and leaving it out would change what is tuned.
_UNSUPPORTED = {
    **dict.fromkeys(
        ("targetCmdline", "targetEvaluator", "targetRunnerParallel", "repairConfiguration", "targetRunnerLauncher"),
        "wrap it in targetRunner",
    ),
    **dict.fromkeys(("forbiddenFile", "forbiddenExps"), "put its lines below [forbidden] in the parameter file"),  # irace 3
}
"""With what to do instead."""
_IGNORED = frozenset(
    """
    logFile recoveryFile seed parallel loadBalancing mpi batchmode targetRunnerRetries targetRunnerTimeout
    targetRunnerLauncherArgs testType firstTest eachTest blockSize nbIterations nbExperimentsPerIteration minNbSurvival
    nbConfigurations mu softRestart softRestartThreshold elitist elitistNewInstances elitistLimit capping
    cappingAfterFirstTest cappingType boundType boundDigits boundAsTimeout minMeasurableTime budgetEstimation
    postselection debugLevel quiet sampleInstances testNbElites testIterationElites digits confidence
    acceptanceFunction minExperiments
    """.split()
)
_USED = frozenset(
    """
    parameterFile targetRunner trainInstancesDir trainInstancesFile testInstancesDir testInstancesFile configurationsFile
    execDir maxExperiments maxTime deterministic boundMax boundPar aclib scenarioFile
    """.split()
)
_KEYS = _USED | _IGNORED | _UNSUPPORTED.keys()

_NAME = re.compile(r"[A-Za-z.][\w.]*", re.ASCII)
_ASSIGN = re.compile(r"=|<-")
_STRING = re.compile(r"\"([^\"\\]*)\"|'([^'\\]*)'")
_WORD = re.compile(r"[^\s#;()\"']+")
_CONSTANTS = {"TRUE": True, "T": True, "FALSE": False, "F": False, "NULL": None, "NA": None}
_ALL_BELOW = "/**/*"
"""The pattern of all files in a folder and in the folders in it, which is what a folder means to irace."""


def parse(text: str, path: Path) -> ScenarioDraft:
    """The options of an irace scenario; relative paths mean the folder of the file, or the current one."""
    found: dict[str, Any] = {}
    lines: dict[str, int] = {}
    draft = ScenarioDraft(path, bases=tuple(dict.fromkeys((path.parent, Path.cwd()))))
    for number, line in numbered_lines(text, path):
        scanner = Scanner(line, path, number)
        if scanner.done or scanner.text[scanner.at] == "#":
            continue
        key, value = _assignment(scanner)
        if key in found:
            raise FormatError(f"{key} is set twice, first on line {lines[key]}", path=path, line=number)
        found[key], lines[key] = value, number
    given = {key: value for key, value in found.items() if value not in (None, "")}
    _translate(given, lines, draft)
    return draft


def _assignment(scanner: Scanner) -> tuple[str, Any]:
    start = scanner.at
    key = scanner.need(_NAME, "name = value")
    if key not in _KEYS:
        scanner.fail(f"unknown option {key!r}", at=start, hint=did_you_mean(key, _KEYS))
    scanner.need(_ASSIGN, "'=' or '<-'")
    value = _value(scanner)
    scanner.skip_blanks()
    if not scanner.text.startswith("#", scanner.at):
        scanner.finish()
    return key, value


def _value(scanner: Scanner) -> Any:
    if string := scanner.take(_STRING):
        return string[1] if string[1] is not None else string[2]
    start = scanner.at
    word = scanner.need(_WORD, "a string, a number, TRUE, FALSE or NULL")
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    try:
        return float(word) if any(char in word for char in ".eE") else int(word)
    except ValueError:
        scanner.fail("expected a string, a number, TRUE, FALSE or NULL (R code is not run)", at=start)


# --- from their keys to ours ---

_PLAIN = {
    "parameterFile": "space",
    "execDir": "directory",
    "configurationsFile": "initial",
    "boundMax": "cutoff",
}


def _translate(found: Mapping[str, Any], lines: Mapping[str, int], draft: ScenarioDraft) -> None:
    def put(option: str, value: Any, key: str) -> None:
        draft.options[option] = value
        draft.lines.setdefault(option, lines.get(key, 1))

    for key in found:
        if key in _UNSUPPORTED:
            raise FormatError(f"{key} is not supported", path=draft.path, line=lines[key], hint=_UNSUPPORTED[key])
        if key in _IGNORED:
            draft.notes.append(f"{draft.path}:{lines[key]}: {key} is an option of irace and is ignored")
    put("target", [found.get("targetRunner", "./target-runner")], "targetRunner")
    put("space", "./parameters.txt", "parameterFile")
    put("directory", ".", "execDir")
    put("dialect", "aclib" if _flag("aclib", found, lines, draft) else "irace", "targetRunner")
    for key, option in _PLAIN.items():
        if key in found:
            put(option, found[key], key)
    for role, option in (("train", "instances"), ("test", "test_instances")):
        _instances(role, option, found, put)
    try:
        _objective(found, put)
    except InputError as error:
        raise FormatError(str(error), path=draft.path, line=lines.get("maxExperiments", lines.get("boundPar", 1))) from None
    if "deterministic" in found:
        put("deterministic", _flag("deterministic", found, lines, draft), "deterministic")


def _flag(key: str, found: Mapping[str, Any], lines: Mapping[str, int], draft: ScenarioDraft) -> bool:
    value = found.get(key, False)
    if value not in (0, 1, "0", "1"):
        raise FormatError(f"{key} is 0 or 1, not {value!r}", path=draft.path, line=lines[key])
    return bool(int(value))


def _instances(role: str, option: str, found: Mapping[str, Any], put: Any) -> None:
    """A file lists instances, a folder holds them, at any depth; with both, the file lists what is in the folder."""
    folder, file = found.get(f"{role}InstancesDir"), found.get(f"{role}InstancesFile")
    if file is not None:
        put(option, file if folder is None else {"file": file, "folder": folder}, f"{role}InstancesFile")
    elif folder is not None:
        put(option, glob.escape(str(folder).rstrip("/")) + _ALL_BELOW, f"{role}InstancesDir")


def _objective(found: Mapping[str, Any], put: Any) -> None:
    """With a bound or a time budget irace minimises time (PAR boundPar), otherwise the cost that the target prints."""
    budget: dict[str, Any] = {}
    if found.get("maxTime"):
        budget["cpu"] = found["maxTime"]
    if found.get("maxExperiments"):
        budget["runs"] = whole(found["maxExperiments"])
    if budget:
        put("budget", budget, "maxTime" if "cpu" in budget else "maxExperiments")
    timed = bool(found.get("boundMax"))
    put("objective", f"par{whole(found.get('boundPar', 1))}" if timed else "quality", "boundMax")


# --- and back ---


def write(options: Mapping[str, Any]) -> str:
    """An irace scenario. InputError names what the format cannot say."""
    known = {
        "target",
        "dialect",
        "objective",
        "budget",
        "deterministic",
        "instances",
        "test_instances",
        "name",
    }
    refuse_rest(options, known | set(_PLAIN.values()), "an irace scenario")
    if options.get("dialect", "native") not in ("irace", "aclib") or len(options["target"]) != 1:
        raise InputError(
            "an irace scenario calls one target-runner: the dialect must be irace or aclib, and the target one program",
            hint="write a target-runner, or keep the scenario in TOML",
        )
    rows: dict[str, Any] = {"targetRunner": options["target"][0]}
    if options["dialect"] == "aclib":
        rows["aclib"] = 1
    rows |= {key: options[option] for key, option in _PLAIN.items() if option in options}
    for role, option in (("train", "instances"), ("test", "test_instances")):
        if option in options:
            _write_instances(role, option, options[option], rows)
    _write_budget(options, rows)
    _write_objective(options, rows)
    rows["deterministic"] = int(bool(options.get("deterministic", False)))
    return "".join(f"{key} = {_format(value)}\n" for key, value in rows.items())


def _write_instances(role: str, option: str, source: Any, rows: dict[str, Any]) -> None:
    if isinstance(source, Mapping) and set(source) == {"file", "folder"}:
        rows |= {f"{role}InstancesFile": source["file"], f"{role}InstancesDir": source["folder"]}
        return
    if not isinstance(source, str):
        raise InputError(f"an irace scenario names a file or folder for {option!r}")
    if source.endswith(_ALL_BELOW):
        source = source.removesuffix(_ALL_BELOW) + "/"
    if any(char in source for char in "*?["):
        raise InputError(f"an irace scenario cannot say the pattern {source!r}", hint="list the instances in a file")
    is_file = Path(source).suffix != "" and not source.endswith("/")
    rows[f"{role}InstancesFile" if is_file else f"{role}InstancesDir"] = source


def _write_budget(options: Mapping[str, Any], rows: dict[str, Any]) -> None:
    budget = options.get("budget", {})
    if "wall" in budget:
        raise InputError("an irace scenario cannot say 'budget.wall'", hint="give budget.cpu or budget.runs")
    if "cpu" in budget:
        rows["maxTime"] = duration(budget["cpu"])
    if "runs" in budget:
        rows["maxExperiments"] = budget["runs"]


def _write_objective(options: Mapping[str, Any], rows: dict[str, Any]) -> None:
    """To irace a bound means that time is minimised."""
    objective = Objective.parse(str(options.get("objective", "par10")))
    if objective.utility is not None:
        raise InputError("an irace scenario cannot say a utility", hint="keep the scenario in TOML")
    if objective.kind == "runtime":
        rows["boundPar"] = int(objective.penalty)
    elif "cutoff" in options:
        raise InputError(
            "an irace scenario with a bound minimises time: it cannot say a cutoff beside the objective quality",
            hint="drop the cutoff, or keep the scenario in TOML",
        )
    if "cutoff" in options:
        rows["boundMax"] = duration(options["cutoff"])


def _format(value: Any) -> str:
    if isinstance(value, str):
        if '"' in value or "\\" in value:
            raise InputError(f"an irace scenario cannot quote {value!r}")
        return f'"{value}"'
    return repr(value)
