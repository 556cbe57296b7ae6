"""AClib / SMAC ``scenario.txt``: one ``key = value`` a line, with every spelling that SMAC2 and SMAC3 1.4 accept."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capra.errors import FormatError, InputError, ScenarioError, did_you_mean
from capra.formats.options import CNF
from capra.formats.scenarios import ScenarioDraft, refuse_rest
from capra.formats.text import numbered_lines, strip_comment

__all__ = ["ALIASES", "parse", "whole", "write"]

ALIASES: Mapping[str, tuple[str, ...]] = {
    "algo": ("algo-exec", "algoExec"),
    "execdir": ("algo-exec-dir", "exec-dir", "execDir"),
    "deterministic": ("algo-deterministic",),
    "paramfile": ("paramFile", "pcs-file", "param-file", "pcs_fn"),
    "run_obj": ("run-obj", "run-objective", "runObj"),
    "overall_obj": (
        "intra-obj", "intra-instance-obj", "overall-obj", "intraInstanceObj", "overallObj", "intra_instance_obj",
    ),
    "inter_obj": ("inter-instance-obj", "inter-obj", "interInstanceObj", "inter_instance_obj"),
    "cost_for_crash": ("cost-for-crash",),
    "cutoff_time": (
        "algo-cutoff-time", "target-run-cputime-limit", "target_run_cputime_limit", "cutoff-time", "cutoffTime", "cutoff",
    ),
    "cutoff_length": ("algo-cutoff-length", "cutoffLength", "cutoff-length"),
    "memory_limit": ("memory-limit",),
    "tuner_timeout": (
        "cputime-limit", "cputime_limit", "tunertime-limit", "tuner-timeout", "tunerTimeout", "algo_runs_timelimit",
    ),
    "wallclock_limit": ("wallclock-limit", "runtime-limit", "runtimeLimit", "wallClockLimit"),
    "runcount_limit": (
        "runcount-limit", "totalNumRunsLimit", "numRunsLimit", "numberOfRunsLimit", "ta_run_limit",
    ),
    "output_dir": ("output-dir", "outputDirectory", "outdir"),
    "instance_file": (
        "instances", "instance-file", "instance-dir", "instanceFile", "i", "train_inst_fn",
    ),
    "test_instance_file": (
        "test-instances", "test-instance-file", "test-instance-dir", "testInstanceFile", "test_inst_fn",
    ),
    "feature_file": ("feature-file", "instanceFeatureFile", "feature_fn"),
    "initial_incumbent": ("initial-incumbent",),
}  # fmt: skip
_CANONICAL = {alias: key for key, aliases in ALIASES.items() for alias in (key, *aliases)}

# Options of the tools themselves that may stand in the same file; Capra has its own.
_OF_THE_TOOL = frozenset(
    """
    abort_on_first_run_crash limit_resources minR maxR shared_model input_psmac_dirs use_ta_time always_race_default
    intensification_percentage transform_y acq_opt_challengers intens_adaptive_capping_slackfactor intens_min_chall
    rand_prob save_instantly multi_objectives
    """.split()
)
_LINE = re.compile(r"([A-Za-z][\w-]*)(?:\s*=\s*|\s+)(.*)", re.ASCII)
_OBJECTIVE = re.compile(r"(par|mean)(\d*)", re.IGNORECASE | re.ASCII)


def parse(text: str, path: Path) -> ScenarioDraft:
    """The options of an AClib scenario. Relative paths mean the current folder, the scenario's, or execdir."""
    found: dict[str, str] = {}
    draft = ScenarioDraft(path)
    lines: dict[str, int] = {}
    for number, line in numbered_lines(text, path):
        content = " ".join(strip_comment(line).split())
        if content:
            key, value = _pair(content, path, number)
            if _ignored(key):
                draft.notes.append(f"{path}:{number}: {key} is an option of SMAC and is ignored")
                continue
            key = _canonical(key, path, number)
            if key in found:
                raise FormatError(f"{key} is set twice, first on line {lines[key]}", path=path, line=number)
            found[key], lines[key] = value, number
    _translate(found, lines, draft)
    draft.bases = _bases(draft)
    return draft


def _pair(content: str, path: Path, number: int) -> tuple[str, str]:
    match = _LINE.fullmatch(content)
    if not match or not match[2]:
        raise FormatError("expected 'key = value'", path=path, line=number)
    return match[1], match[2]


def _ignored(key: str) -> bool:
    word = key.replace("-", "_")
    return word in _OF_THE_TOOL or word.startswith("rf_")


def _canonical(key: str, path: Path, number: int) -> str:
    if key.endswith("instance_seed_file"):
        raise FormatError(
            f"{key}: files with '<seed> <instance>' lines are not supported",
            path=path,
            line=number,
            hint="list the instances alone in instance_file: Capra draws the seeds",
        )
    if key not in _CANONICAL:
        raise FormatError(f"unknown key {key!r}", path=path, line=number, hint=did_you_mean(key, _CANONICAL))
    return _CANONICAL[key]


def _bases(draft: ScenarioDraft) -> tuple[Path, ...]:
    here = [Path.cwd(), draft.path.parent]
    if (directory := draft.options.get("directory")) is not None:
        here += [base / directory for base in here]
    return tuple(dict.fromkeys(here))


# --- from their keys to ours ---


def _translate(found: Mapping[str, str], lines: Mapping[str, int], draft: ScenarioDraft) -> None:
    def put(option: str, key: str, value: Any) -> None:
        draft.options[option] = value
        draft.lines.setdefault(option, lines[key])

    for key, value in found.items():
        try:
            _translate_one(key, value, found, put, draft)
        except InputError as error:
            raise FormatError(f"{key}: {error}", path=draft.path, line=lines[key]) from None
    if "algo" not in found:
        raise draft.place(ScenarioError("is missing", key="algo", hint="the wrapper's command line"))
    draft.options["dialect"] = "paramils"
    draft.options.setdefault("directory", ".")  # SMAC's default: wrappers name files beside them
    if "deterministic" not in found:
        draft.notes.append(f"{draft.path}: deterministic is not set; taken as 0 (SMAC2's default; SMAC3 1.4 has 1)")


_PLAIN = {
    "execdir": "directory",
    "paramfile": "space",
    "instance_file": "instances",
    "test_instance_file": "test_instances",
    "feature_file": "features",
}
_NUMBERS = {"cutoff_time": "cutoff", "memory_limit": "memory", "cost_for_crash": "crash_cost"}
_BUDGETS = {"tuner_timeout": "cpu", "wallclock_limit": "wall", "runcount_limit": "runs"}


def _translate_one(key: str, value: str, found: Mapping[str, str], put: Any, draft: ScenarioDraft) -> None:
    if key in _PLAIN:
        put(_PLAIN[key], key, value)
    elif key in _NUMBERS:
        put(_NUMBERS[key], key, _number(value))
    elif key in _BUDGETS:
        table = {_BUDGETS[key]: whole(value) if key == "runcount_limit" else _number(value)}
        put("budget", key, draft.options.get("budget", {}) | table)
    elif key == "algo":
        put("target", key, _split(value))
    elif key == "deterministic":
        put("deterministic", key, _flag(value))
    elif key in ("run_obj", "overall_obj"):
        put("objective", key, _objective(found))
    else:
        draft.notes.append(f"{draft.path}: {key} = {value} has no counterpart here and is ignored")


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{value!r} is not a number") from None


def whole(value: object) -> int:
    """A count, however it was written."""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise InputError(f"{value!r} is not a whole number")
    return int(number)


def _flag(value: str) -> bool:
    words = {"0": False, "1": True, "false": False, "true": True}
    if value.lower() not in words:
        raise InputError(f"{value!r} is neither 0 nor 1", hint="true and false will do as well")
    return words[value.lower()]


def _split(value: str) -> list[str]:
    """The command line as an argument list; quotes as in a shell, but no shell ever sees it."""
    try:
        return shlex.split(value)
    except ValueError as error:
        raise InputError(str(error)) from None


def _objective(found: Mapping[str, str]) -> str:
    kind = found.get("run_obj", "runtime").lower()
    if kind not in ("runtime", "quality"):
        raise InputError(f"{kind!r} is neither runtime nor quality")
    match = _OBJECTIVE.fullmatch(found.get("overall_obj", "par10"))
    if not match:
        raise InputError(f"{found['overall_obj']!r} is not PARk or MEANk")
    return "quality" if kind == "quality" else f"par{match[2] or 1}"


# --- and back ---


def write(options: Mapping[str, Any]) -> str:
    """An AClib scenario. InputError names what the format cannot say."""
    known = {
        "target",
        "dialect",
        "objective",
        "budget",
        "deterministic",
        "name",
        *_PLAIN.values(),
        *_NUMBERS.values(),
    }
    refuse_rest(options, known, "an AClib scenario")
    if options.get("dialect", "native") != "paramils":
        raise InputError(
            "an AClib scenario calls a wrapper in the old way: the dialect must be paramils",
            hint="write a wrapper, or keep the scenario in TOML",
        )
    rows: dict[str, Any] = {"algo": shlex.join(options["target"])}
    for key, option in _PLAIN.items():
        if option in options:
            rows[key] = _path(option, options[option])
    for key, option in _NUMBERS.items():
        if option in options:
            rows[key] = _plain_number(option, options[option])
    for key, option in _BUDGETS.items():
        if option in options.get("budget", {}):
            rows[key] = _plain_number(f"budget.{option}", options["budget"][option])
    objective = str(options.get("objective", "par10")).lower()
    if objective.startswith("utility:"):
        raise InputError("an AClib scenario cannot say a utility", hint="keep the scenario in TOML")
    rows["run_obj"] = "quality" if objective == "quality" else "runtime"
    if objective != "quality":
        rows["overall_obj"] = objective
    rows["deterministic"] = int(bool(options.get("deterministic", False)))
    return "".join(f"{key} = {_legible(key, str(value))}\n" for key, value in rows.items())


def _legible(key: str, value: str) -> str:
    """The value, if it is read as it was written."""
    if " ".join(strip_comment(value).split()) != value:
        raise InputError(
            f"an AClib scenario cannot say {key} = {value}: a '#' begins a comment, and blanks in a row are one",
            hint="rename it, or keep the scenario in TOML",
        )
    return value


def _path(option: str, value: Any) -> str:
    if option == "features" and (value == CNF or not isinstance(value, str)):
        raise InputError(
            "an AClib scenario names a file for 'features': it cannot have them computed",
            hint="write the table first, with `capra features … --out features.csv` for formulas, and name it",
        )
    if not isinstance(value, str):
        raise InputError(f"an AClib scenario names a file for {option!r}", hint="write the list to a file first")
    return value


def _plain_number(option: str, value: Any) -> str:
    from capra.formats.quantities import duration, size

    if isinstance(value, str):
        number = size(value) / 1024**2 if option == "memory" else duration(value)
        return repr(int(number) if number.is_integer() else number)
    return repr(value)
