"""Scenario: what to tune, on what, for how long. Frozen and validated; every option is declared here, once.

``Scenario(target=…, space=…, …)`` takes the options below by name, as Python values; ``Scenario.load`` takes the same from a
TOML file, or reads an AClib/SMAC or irace scenario. Whatever is wrong is said before a second of solver time is spent.
"""

from __future__ import annotations

import dataclasses
import math
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from capra.errors import InputError, ScenarioError, did_you_mean
from capra.formats import options as convert
from capra.formats.instances import Features, Instance
from capra.formats.output import OutputRules
from capra.formats.plain import plain
from capra.runs import Configuration, Objective
from capra.space import Space
from capra.space.arguments import Arguments

__all__ = ["Budget", "Scenario"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much tuning may cost: any of target time (in the scenario's unit), wall seconds, number of runs."""

    cpu: float = math.inf
    wall: float = math.inf
    runs: float = math.inf


@lru_cache(10_000)
def _resolved(place: str) -> str:
    """Without links and dots. Looked up once: that takes a call to the system for every folder above it."""
    return os.path.realpath(place)


def option(
    help: str,
    kind: str,
    reader: Callable[[Any, convert.Context], Any],
    default: Any = dataclasses.MISSING,
    example: str = "",
) -> Any:
    """Declare an option: what it is for, what a value looks like, how a value is read, and the default."""
    return dataclasses.field(metadata={"help": help, "kind": kind, "reader": reader, "example": example, "default": default})


@dataclass(frozen=True, init=False)
class Scenario:
    """See ``docs/formats.md`` for the options; it is made from this class."""

    target: tuple[str, ...] | str | Callable[..., Any] = option(
        "What to run: an argument list with the placeholders {instance} {seed} {cutoff} {params} {config.NAME}, or "
        "'module:function' for a Python function f(config, instance, seed, cutoff).",
        "list of text, or 'module:function'",
        convert.target,
        example='["clasp", "{instance}", "--seed={seed}", "{params}"]',
    )
    space: Space = option(
        "The parameters: a PCS (old or new), ConfigSpace JSON or irace parameter file.",
        "path",
        convert.space,
        example='"parameters.pcs"',
    )
    name: str = option("A name for reports.", "text", convert.text, "", '"clasp-qwh"')
    dialect: str = option(
        "How the target is called and how it answers: native (your own argument list), paramils (ParamILS, SMAC2, AClib "
        "wrappers), aclib (AClib2's --config call), smac3 (SMAC3 2.x scripts), irace (target-runner).",
        "native, paramils, aclib, smac3 or irace",
        convert.one_of("native", "paramils", "aclib", "smac3", "irace"),
        "native",
        '"native"',
    )
    style: str = option(
        "How a parameter becomes an argument (dialect native): a template with {name} and {value}, split at blanks.",
        "template",
        convert.text,
        "--{name}={value}",
        '"--{name}={value}"',
    )
    arguments: Mapping[str, Any] = option(
        "Own templates for single parameters: text, or a table from value to text; other parameters' values as {their "
        'name}; "" renders nothing.',
        "table",
        convert.templates,
        {},
        '{ verbose = "", preprocess = { yes = "--preprocess", no = "--no-preprocess" } }',
    )
    directory: Path | None = option(
        "Where the target runs. Without it every run gets a private empty directory that is removed afterwards.",
        "path",
        convert.directory,
        None,
        '"."',
    )
    environment: tuple[str, ...] = option(
        "Names of environment variables that the target may see, besides PATH, HOME, LANG and OMP_NUM_THREADS.",
        "list of text",
        convert.names,
        (),
        '["LD_LIBRARY_PATH"]',
    )
    instances: tuple[Instance, ...] = option(
        "Training instances: a folder, a glob pattern, a file that lists one per line, or a list.",
        "path, pattern or list of text",
        convert.instances,
        (),
        '"instances/train"',
    )
    test_instances: tuple[Instance, ...] = option(
        "Instances for validation, never used for tuning.",
        "path, pattern or list of text",
        convert.instances,
        (),
        '"instances/test"',
    )
    split: float | None = option(
        "Without test_instances: this share of the instances is for training, the rest for validation.",
        "number between 0 and 1",
        convert.share,
        None,
        "0.7",
    )
    split_seed: int = option("Seed of that split.", "whole number", convert.whole, 0, "0")
    instance_kind: str = option(
        "file: every instance must exist as a file. name: instances are names that only the target understands. By "
        "default file for commands and name for Python functions.",
        "file or name",
        convert.one_of("file", "name", ""),
        "",
        '"file"',
    )
    features: Features = option(
        "Instance features: a CSV with the header instance,feature,… and one row for every instance; or cnf: the instances "
        "are CNF formulas, whose features Capra computes itself; or, for portfolios, an argument list with {instance} that "
        "prints a JSON object.",
        "path, cnf, or list of text",
        convert.features,
        Features(),
        '"features.csv"',
    )
    groups: Mapping[str, tuple[str, ...]] = option(
        "Training instances that belong together, for a portfolio of experts: a table from the group's name to the names "
        "of its instances, or patterns of them.",
        "table of lists of text",
        convert.groups,
        {},
        '{ quasigroup = ["train/quasigroup-*"], random = ["train/uf*"] }',
    )
    unit: str = option(
        "What time is: cpu (seconds of the whole process tree), wall (seconds), or a word for what the target counts and "
        "reports itself (steps, epochs, …).",
        "cpu, wall, or a word",
        convert.unit,
        "cpu",
        '"cpu"',
    )
    crash_cost: float = option(
        "Cost of a run without result under the quality objective.",
        "number",
        convert.number,
        math.inf,
        "1e9",
    )
    objective: Objective = option(
        "What is minimised: parK (mean time, K times the cutoff if unsolved), mean (= par1), quality (a number that the "
        "target reports), or 1 minus a utility: utility:uniform(60), utility:loglaplace(60, 1), utility:exponential(60), "
        "utility:step(60), utility:par10(300).",
        "par10, par1, mean, quality, utility:…",
        convert.objective,
        Objective(),
        '"par10"',
    )
    cutoff: float = option(
        "κ_max: no run lasts longer, in the unit. Required unless the objective is quality.",
        "number or duration",
        convert.cutoff,
        math.inf,
        "300.0",
    )
    memory: int | None = option(
        "Memory limit of a run's whole process tree.",
        "size; a plain number is MB",
        convert.memory,
        None,
        '"2GB"',
    )
    backend: str = option(
        "Who limits and measures runs: process (Capra's own supervisor) or benchexec (the package BenchExec, on machines "
        "that give us control groups; bounds are then not tightened while a run is under way).",
        "process or benchexec",
        convert.one_of("process", "benchexec"),
        "process",
        '"process"',
    )
    wall_limit: float | None = option(
        "Wall time after which a run is stopped whatever its unit: a sleeping target uses no CPU time. By default three "
        "times a cutoff in CPU seconds plus 5 s, and a day for units of the target's own.",
        "duration",
        convert.wall_limit,
        None,
        '"30s"',
    )
    file_size: int = option(
        "Largest file that a run may write.", "size; a plain number is MB", convert.memory, 1024**3, '"1GB"'
    )
    output: OutputRules = option(
        "How the native dialect reads the target: codes (exit codes of a regular end), solved (a pattern that a line must "
        "match for success), quality, time and answer (patterns with one group), json (the last JSON line says it all).",
        "table",
        convert.output,
        OutputRules(),
        '{ solved = "^s (UN)?SATISFIABLE", answer = "^s (.*)" }',
    )
    budget: Budget = option(
        "When tuning ends: target time (cpu), wall time, number of runs (runs); any of them. Our own computing time "
        "counts as target time. At the end of the wall time runs under way are stopped, and count as never made.",
        "table of durations and a count",
        convert.budget,
        Budget(),
        '{ cpu = "2h", wall = "1h", runs = 5000 }',
    )
    deterministic: bool = option(
        "The target's time does not depend on the seed: one seed only.",
        "true or false",
        convert.flag,
        False,
        "false",
    )
    seeds: tuple[int, ...] | None = option(
        "The seeds that may be used. Without it fresh seeds are drawn.",
        "list of whole numbers",
        convert.seeds,
        None,
        "[1, 2, 3]",
    )
    verifier: tuple[str, ...] | str | None = option(
        "Checks answers: 'sat' (a DIMACS model against the instance), 'answers' (the known answer that follows the name in "
        "the instance file), or an argument list with {instance} and {output}, exit code 0 = right.",
        "sat, answers, or list of text",
        convert.verifier,
        None,
        '["./check.sh", "{instance}", "{output}"]',
    )
    configurations: tuple[Configuration, ...] = option(
        "A finite pool: only these configurations are tried. A table with a header (NA = inactive) or a JSON list.",
        "path",
        convert.configurations,
        (),
        '"pool.csv"',
    )
    initial: tuple[Configuration, ...] = option(
        "Configurations to try first, besides the default; same format.",
        "path",
        convert.configurations,
        (),
        '"initial.txt"',
    )

    bases: ClassVar[tuple[Path, ...]] = ()
    """Where relative paths were looked up; not an option."""
    given: ClassVar[Mapping[str, Any]] = {}
    """The options as they were given, before they were read."""

    def __init__(self, *, base: str | Path | tuple[Path, ...] | None = None, **given: Any) -> None:
        """Options by name; relative paths are looked up in ``base`` (the current directory)."""
        bases = (Path(base),) if isinstance(base, str | Path) else tuple(base or (Path.cwd(),))
        object.__setattr__(self, "bases", bases)
        object.__setattr__(self, "given", given)
        declared = {field.name: field.metadata for field in dataclasses.fields(self)}
        for key in given:
            if key not in declared:
                raise ScenarioError("unknown option", key=key, hint=did_you_mean(key, declared))
        for key, meta in declared.items():
            object.__setattr__(self, key, self._read(key, meta, given, bases))
        self._split_instances(set(given))
        self._check(set(given))

    def _read(self, key: str, meta: Mapping[str, Any], given: Mapping[str, Any], bases: tuple[Path, ...]) -> Any:
        if key not in given:
            if meta["default"] is dataclasses.MISSING:
                raise ScenarioError("is missing", key=key, hint=f"for example {key} = {meta['example']}")
            return meta["default"]
        try:
            return meta["reader"](given[key], convert.Context(bases, self.__dict__))
        except ScenarioError:
            raise
        except InputError as error:
            raise ScenarioError(str(error), key=key) from error

    def _split_instances(self, given: set[str]) -> None:
        if self.split is None or ("instances" in given and not self.instances):  # that there is none is said later
            return
        if "test_instances" in given:
            raise ScenarioError("cannot stand beside test_instances", key="split", hint="keep one of them")
        shuffled = random.Random(self.split_seed).sample(self.instances, len(self.instances))  # noqa: S311
        chosen = set(shuffled[: round(self.split * len(shuffled))])
        train = tuple(instance for instance in self.instances if instance in chosen)
        test = tuple(instance for instance in self.instances if instance not in chosen)
        if not train or not test:
            raise ScenarioError(
                f"leaves no instance for {'validation' if train else 'training'} of {len(self.instances)}",
                key="split",
                hint="give more instances, or another share",
            )
        object.__setattr__(self, "instances", train)
        object.__setattr__(self, "test_instances", test)

    # --- checks across options ---

    def _check(self, given: set[str]) -> None:
        self._check_instances(given)
        self._check_time()
        self._check_target(given)
        if self.configurations and (strange := [config for config in self.initial if config not in self.configurations]):
            raise ScenarioError(
                f"{dict(strange[0])} is none of the configurations", key="initial", hint="only those of the pool are tried"
            )
        if self.deterministic and self.seeds is not None and len(self.seeds) > 1:
            raise ScenarioError("a deterministic target has one seed", key="seeds", hint="drop deterministic or seeds")

    def _check_instances(self, given: set[str]) -> None:
        for key in ("instances", "test_instances"):
            if key in given and not getattr(self, key):
                hint = "a folder means the files directly in it; for others write a pattern: 'cnf/**/*.cnf'"
                raise ScenarioError("no instance was found", key=key, hint=hint)
        if self.instances_are_files:
            for instance in (*self.instances, *self.test_instances):
                self.path_of(instance.name)
        if both := self._places(self.instances) & self._places(self.test_instances):
            raise ScenarioError(
                f"{min(both)} is a training and a test instance",
                key="test_instances",
                hint="the sets may not overlap",
            )
        if "features" in given and not self.features.command:
            for instance in (*self.instances, *self.test_instances):
                if instance.name not in self.features.rows:
                    near = did_you_mean(instance.name, self.features.rows)
                    raise ScenarioError(f"no row for the instance {instance.name}", key="features", hint=near)

    def _places(self, instances: tuple[Instance, ...]) -> set[str]:
        """What the instances really are: two spellings of a path are one file."""
        return {self.path_of(instance.name) for instance in instances}

    def _check_time(self) -> None:
        if self.wall_limit is not None and self.unit in ("cpu", "wall") and self.wall_limit < self.cutoff < math.inf:
            raise ScenarioError(f"is less than the cutoff of {self.cutoff:g}", key="wall_limit", hint="lower the cutoff")
        if self.objective.kind == "runtime" and math.isinf(self.cutoff):
            raise ScenarioError("is missing", key="cutoff", hint="a runtime objective needs a bound on single runs")
        if self.budget.cpu < self.cutoff < math.inf:
            raise ScenarioError(
                f"the budget of {self.budget.cpu:g} is less than one run's cutoff of {self.cutoff:g}",
                key="budget",
                hint="raise the budget or lower the cutoff",
            )

    def _check_target(self, given: set[str]) -> None:
        if self.output == OutputRules():
            given = given - {"output"}
        if self.dialect != "native":
            if extra := sorted(given & {"style", "arguments", "output"}):
                raise ScenarioError(f"has no meaning in the dialect {self.dialect}, which fixes it", key=extra[0])
            return
        try:
            self.renderer.check(self.space)
        except InputError as error:
            raise ScenarioError(str(error), key="arguments") from error
        if not isinstance(self.target, tuple):
            if extra := sorted(given & {"style", "arguments", "output", "dialect"}):
                raise ScenarioError("has no meaning for a Python function", key=extra[0])
            return
        if "{value}" not in self.style:
            raise ScenarioError("has no {value}", key="style", hint="for example style = '--{name}={value}'")
        convert.check_placeholders(self.target, self.space)
        if self.instances and not any("{instance}" in token for token in self.target):
            raise ScenarioError(
                "has no {instance}, yet there are instances", key="target", hint="add it where the file goes"
            )
        if self.verifier == "answers" and not self.output.says_answers:
            raise ScenarioError(
                "no rule of output reads an answer, so that nothing would be checked",
                key="verifier",
                hint="for example output = { answer = '^s (.*)' }, or quality for known optima",
            )

    # --- what it says ---

    @property
    def instances_are_files(self) -> bool:
        """Must every instance exist as a file?"""
        return self.instance_kind == "file" or (self.instance_kind == "" and isinstance(self.target, tuple))

    def path_of(self, instance: str) -> str:
        """What the target is given for an instance: the absolute path of its file, or the name where it is only a name."""
        if not self.instances_are_files:
            return instance
        for base in self.bases:
            if os.path.isfile(place := os.path.join(base, instance)):  # False for a name that is too long
                return _resolved(place)
        key = "instances" if any(instance == i.name for i in self.instances) else "test_instances"
        raise ScenarioError(
            f"no such file: {instance}",
            key=key,
            hint="set instance_kind = 'name' if it is not meant to be one",
        )

    @property
    def default(self) -> Configuration:
        """Where tuning starts: the space's default; for a pool that lacks it, the pool's first configuration."""
        default = self.space.default
        return self.configurations[0] if self.configurations and default not in self.configurations else default

    @property
    def renderer(self) -> Arguments:
        """How configurations become arguments."""
        return Arguments(self.style, self.arguments, self.space.switches)

    def to_dict(self) -> dict[str, Any]:
        """The resolved scenario as plain data, for ``capra show --json``."""
        return {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """The scenario of a TOML file, or of an AClib/SMAC or irace ``scenario.txt``."""
        from capra.formats.scenarios import read_options

        draft = read_options(path)
        try:
            return cls(base=draft.bases, **draft.options)
        except ScenarioError as error:
            raise draft.place(error) from error
