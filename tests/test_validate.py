"""Validation in Python: what was run is what was asked for; the command line is tested in test_cli.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import capra
from capra.errors import InputError
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.space import Real, Space
from capra.validate import STORE


def target(config: dict[str, Any], instance: str | None, seed: int, cutoff: float) -> float:
    return float(config["x"]) + (1.0 if instance == "hard" else 0.0)


def scenario(**options: Any) -> Scenario:
    given = {"target": target, "space": Space([Real("x", 0.1, 1.0, 0.5)]), "cutoff": 10.0, "unit": "steps"}
    return Scenario(**given | {"instances": ["hard"], "test_instances": ["easy"]} | options)


def validated(folder: Path, seeds: int = 1, instances: str = "test", **options: Any) -> list[Any]:
    configs = [{"x": 0.5}, {"x": 0.2}]
    return capra.validate(scenario(**options), configs, instances, seeds, engine="simulated", out=folder)


def test_earlier_validations_in_the_folder_do_not_count(tmp_path: Path) -> None:
    validated(tmp_path, seeds=3)
    validated(tmp_path, instances="train")
    default, other = validated(tmp_path)
    assert (default.runs, default.solved, default.cost) == (1, 1, 0.5)
    assert (other.runs, other.solved, other.cost) == (1, 1, 0.2)
    with Store.read(tmp_path / STORE) as store:
        assert len(list(store.runs())) == 8  # the last one's were there already


@pytest.mark.parametrize(("own", "deterministic", "used"), [([4, 5, 6], False, {4, 5}), ([7], True, {7})])
def test_the_scenarios_own_seeds_are_used(tmp_path: Path, own: list[int], deterministic: bool, used: set[int]) -> None:
    told = scenario(seeds=own, deterministic=deterministic)
    capra.validate(told, [told.default], seeds=2, engine="simulated", out=tmp_path)
    with Store.read(tmp_path / STORE) as store:
        assert {run.request.seed for run in store.runs()} == used


@pytest.mark.parametrize("seeds", [0, -1])
def test_there_must_be_a_seed(tmp_path: Path, seeds: int) -> None:
    with pytest.raises(InputError, match="seeds is a whole number of at least 1"):
        validated(tmp_path, seeds)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scenario": "scenario.toml"}, r"expected a Scenario, not 'scenario.toml' \(Scenario.load\('scenario.toml'\)\)"),
        ({"configs": {"x": 0.5}}, r"configs is a list of configurations.*\[config\]"),
        ({"instances": []}, "there is no instance to validate on"),
        ({"seeds": "3"}, "seeds is a whole number of at least 1, not '3'"),
        ({"seed": -1}, "seed is a whole number of at least 0, not -1"),
        ({"workers": 1.5}, "workers is a whole number of at least 1, not 1.5"),
        ({"engine": None}, "engine is a name, not None"),
        ({"out": __file__}, "is a file, and no folder"),
    ],
)
def test_arguments_that_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"scenario": scenario(), "configs": [{"x": 0.5}], "engine": "simulated"}
    with pytest.raises(InputError, match=message):
        capra.validate(**given | changes)
