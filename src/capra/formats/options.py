"""How each kind of scenario option is read: from TOML or Python values to what the rest of the house works with.

A reader takes the value and the ``Context`` (where relative paths are looked up, and the options read before it), and
raises InputError with one clear sentence; ``Scenario`` adds the option's name.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capra.errors import InputError, ScenarioError, did_you_mean, shown
from capra.formats.instances import ComputedRows, Features, Instance, find_instances, read_features, read_instance_file
from capra.formats.output import OutputRules
from capra.formats.quantities import as_float, duration, positive_number, size
from capra.runs import Configuration, Objective
from capra.space import Space
from capra.space.configurations import read_configurations
from capra.space.files import as_space

if TYPE_CHECKING:
    from capra.scenario import Budget

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_WORD = re.compile(r"[A-Za-z][\w-]*")
CNF = "cnf"
"""In place of a file of features: compute those of CNF formulas."""
_PLACEHOLDERS = ("instance", "seed", "cutoff", "params")


@dataclass(frozen=True)
class Context:
    """Where relative paths are looked up, first match wins; and the options already read, by name."""

    bases: tuple[Path, ...]
    known: Mapping[str, Any]

    def find(self, path: str | Path) -> Path:
        """The existing file or folder that is meant."""
        if not isinstance(path, str | Path):
            raise InputError(f"expected a path, not {shown(path)}")
        _printable(str(path))
        for base in self.bases:
            if os.path.exists(base / path):  # False for a name that is too long
                return base / path
        raise InputError(f"no such file: {path}", hint="looked in " + ", ".join(map(str, self.bases)))


def text(value: Any, _: Context) -> str:
    if not isinstance(value, str):
        raise InputError(f"expected text, not {shown(value)}")
    return _printable(value)


def _printable(value: str) -> str:
    if any(ord(char) < 32 for char in value):
        raise InputError(f"control characters in {shown(value)}")
    return value


def names(value: Any, context: Context) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"expected a list of text, not {shown(value)}")
    return tuple(text(item, context) for item in value)


def one_of(*words: str) -> Callable[[Any, Context], str]:
    def read(value: Any, _: Context) -> str:
        if value not in words:
            listed = ", ".join(word for word in words if word)
            raise InputError(f"{shown(value)} is none of {listed}", hint=did_you_mean(str(value), words))
        return str(value)

    return read


def number(value: Any, _: Context) -> float:
    found = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else as_float(value)
    if math.isnan(found):
        raise InputError(f"expected a number, not {shown(value)}")
    return found


def whole(value: Any, _: Context) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"expected a whole number, not {shown(value)}")
    return value


def flag(value: Any, _: Context) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"expected true or false, not {shown(value)}")
    return value


def share(value: Any, context: Context) -> float:
    if not 0.0 < number(value, context) < 1.0:
        raise InputError(f"a share lies between 0 and 1, not {shown(value)}")
    return float(value)


def seeds(value: Any, context: Context) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise InputError(f"expected a list of whole numbers, not {shown(value)}")
    found = tuple(whole(item, context) for item in value)
    if len(set(found)) != len(found) or min(found) < 0:
        raise InputError("seeds are different and not negative")
    return found


def target(value: Any, context: Context) -> tuple[str, ...] | str | Callable[..., Any]:
    if callable(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, str):
        if not _FUNCTION.fullmatch(value):
            raise InputError(
                f"{shown(value)} is neither an argument list nor 'module:function'",
                hint='a command is a list, never a shell line: ["solver", "{instance}", "{params}"]',
            )
        return value
    argv = names(value, context)
    if not argv or not argv[0]:
        raise InputError("the argument list is empty")
    return argv


def check_placeholders(argv: Sequence[str], space: Space) -> None:
    """ScenarioError for a placeholder that nobody fills, or {params} inside another argument."""
    for token in argv:
        for word in _PLACEHOLDER.findall(token):
            config = word.removeprefix("config.") if word.startswith("config.") else None
            if config is not None and config not in space.parameters:
                hint = did_you_mean(config, space.names)
                raise ScenarioError(f"unknown parameter in {{{word}}}", key="target", hint=hint)
            if config in space.conditions:
                hint = "let {params} and [arguments] render it"
                raise ScenarioError(f"{{{word}}} is not always active", key="target", hint=hint)
            if config is None and word not in _PLACEHOLDERS:
                hint = did_you_mean(word, _PLACEHOLDERS) or "known are {instance} {seed} {cutoff} {params} {config.NAME}"
                raise ScenarioError(f"unknown placeholder {{{word}}}", key="target", hint=hint)
        if "{params}" in token and token != "{params}":  # noqa: S105
            raise ScenarioError("{params} stands for many arguments and must be one of its own", key="target")


def space(value: Any, context: Context) -> Space:
    return as_space(context.find(value) if isinstance(value, str | Path) else value)


def templates(value: Any, _: Context) -> Mapping[str, Any]:
    def is_template(item: Any) -> bool:
        return isinstance(item, str) or (isinstance(item, Mapping) and all(isinstance(part, str) for part in item.values()))

    if not isinstance(value, Mapping) or not all(is_template(item) for item in value.values()):
        raise InputError("expected a table from parameter to template, or to a table from value to template")
    return value


def groups(value: Any, context: Context) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, Mapping) or not value:
        raise InputError("expected a table from a group's name to a list of instances or patterns")
    return {text(name, context): names(members, context) for name, members in value.items()}


def directory(value: Any, context: Context) -> Path:
    place = context.find(value)
    if not place.is_dir():
        raise InputError(f"{value} is not a folder")
    return place.resolve()


def instances(value: Any, context: Context) -> tuple[Instance, ...]:
    if isinstance(value, str | Path):
        return find_instances(_printable(str(value)), context.bases)
    if isinstance(value, Mapping):
        return _listed(value, context)
    if not isinstance(value, Sequence):
        raise InputError(f"expected a path, a pattern or a list, not {shown(value)}")
    found = tuple(item if isinstance(item, Instance) else Instance(text(item, context)) for item in value)
    if len({instance.name for instance in found}) != len(found):
        raise InputError("an instance stands twice")
    return found


def _listed(table: Mapping[str, Any], context: Context) -> tuple[Instance, ...]:
    """irace's way: a file that lists names, and the folder that they are in."""
    if set(table) != {"file", "folder"}:
        raise InputError(f"expected a table with file and folder, not {shown(table)}")
    return read_instance_file(context.find(table["file"]), text(table["folder"], context))


def features(value: Any, context: Context) -> Features:
    if isinstance(value, Features):
        return value
    if value == CNF:
        return _cnf_features(context)
    if not isinstance(value, list | tuple):
        return read_features(context.find(value))
    command = names(value, context)
    if not command or not any("{instance}" in word for word in command[1:]):
        raise InputError("a command for features needs {instance}", hint='for example ["./features", "{instance}"]')
    return Features(command=command)


def _cnf_features(context: Context) -> Features:
    """A table that is computed from the instances' files when somebody needs it."""
    from capra.formats import cnf  # few scenarios need it

    found = [instance.name for key in ("instances", "test_instances") for instance in context.known[key]]
    if not found:
        raise InputError("there are no instances to compute features of")
    places = {name: next((base / name for base in context.bases if os.path.isfile(base / name)), None) for name in found}
    if missing := [name for name, place in places.items() if place is None]:
        raise InputError(f"the instance {missing[0]} is not a file, so it has no features of a formula")
    paths = {name: place for name, place in places.items() if place is not None}
    rows = ComputedRows(found, lambda cache: cnf.cnf_features(paths, cache).rows)
    return Features(cnf.NAMES, rows, command=(CNF,))


def objective(value: Any, context: Context) -> Objective:
    if isinstance(value, Objective):
        return value
    return Objective.parse(text(value, context), crash_cost=context.known["crash_cost"])


def unit(value: Any, context: Context) -> str:
    if not _WORD.fullmatch(text(value, context)):
        raise InputError(f"{shown(value)} is no unit", hint="use cpu, wall, or one word such as steps")
    return str(value)


def cutoff(value: Any, context: Context) -> float:
    return positive_number(value, "a cutoff") if not isinstance(value, str) else _time(value, context)


def _time(value: Any, context: Context) -> float:
    if isinstance(value, str) and context.known["unit"] not in ("cpu", "wall"):
        raise InputError(f"{shown(value)} is a duration, but the unit is {context.known['unit']}: give a number")
    return duration(value)


def wall_limit(value: Any, _: Context) -> float:
    return duration(value)


def output(value: Any, _: Context) -> OutputRules:
    return value if isinstance(value, OutputRules) else OutputRules.parse(value)


def memory(value: Any, _: Context) -> int:
    return size(value)


def budget(value: Any, context: Context) -> Budget:
    from capra.scenario import Budget

    if isinstance(value, Budget):
        return value
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return Budget(cpu=_time(value, context))
    if not isinstance(value, Mapping) or not value:
        raise InputError("expected a time, or a table with any of cpu, wall, runs")
    for key in value:
        if key not in ("cpu", "wall", "runs"):
            raise InputError(f"unknown key {key!r}", hint=did_you_mean(key, ("cpu", "wall", "runs")))
    cpu = _time(value["cpu"], context) if "cpu" in value else math.inf
    wall = duration(value["wall"]) if "wall" in value else math.inf
    runs = whole(value["runs"], context) if "runs" in value else math.inf
    if runs < 1:
        raise InputError(f"the number of runs is positive, not {runs}")
    return Budget(cpu, wall, runs)


def verifier(value: Any, context: Context) -> tuple[str, ...] | str:
    if isinstance(value, str):
        return one_of("sat", "answers")(value, context)
    argv = names(value, context)
    if not argv:
        raise InputError("the argument list is empty")
    return argv


def configurations(value: Any, context: Context) -> tuple[Configuration, ...]:
    known: Space = context.known["space"]
    if isinstance(value, str | Path):
        return read_configurations(context.find(value), known)
    if not isinstance(value, Sequence) or not all(isinstance(item, Mapping) for item in value):
        raise InputError("expected a path or a list of configurations")
    return tuple(dict.fromkeys(known.configuration(item) for item in value))
