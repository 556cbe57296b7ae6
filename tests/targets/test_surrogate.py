"""A model of recorded runs as a target: right where it has data, plausible elsewhere, the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import capra
from capra.errors import InputError
from capra.runs import History, RunRequest, Status
from capra.space import Categorical, Real, Space
from capra.targets import SurrogateTarget, Table

SPACE = Space([Real("x", 0.0, 1.0, 0.9), Categorical("mode", ("good", "bad"), "bad")])
NAMES = [f"i{j}" for j in range(12)]
CUTOFF = 10.0


def truth(config: capra.Configuration, hardness: float) -> float:
    return float(hardness * (0.05 + (config["x"] - 0.3) ** 2 * 20) * (4.0 if config["mode"] == "bad" else 1.0))


@pytest.fixture(scope="module")
def surrogate() -> SurrogateTarget:
    rng = np.random.default_rng(0)
    hardness = rng.lognormal(0.0, 1.0, len(NAMES))
    configs = SPACE.decode(SPACE.sample(150, rng))
    times = np.array([[truth(config, h) for h in hardness] for config in configs])
    table = Table(np.minimum(times, CUTOFF), times <= CUTOFF, [{"row": i} for i in range(150)], NAMES, CUTOFF)
    return SurrogateTarget.of_table(table, SPACE, configs)


def request(config: capra.Configuration, cutoff: float = CUTOFF, seed: int = 0) -> RunRequest:
    return RunRequest(config, "i3", seed, cutoff)


def test_it_ranks_configurations_that_it_has_never_seen(surrogate: SurrogateTarget) -> None:
    hardness = np.random.default_rng(0).lognormal(0.0, 1.0, len(NAMES))
    fresh = SPACE.decode(SPACE.sample(80, np.random.default_rng(1)))
    told = [surrogate.costs(config, NAMES).mean() for config in fresh]
    times = np.array([[truth(config, h) for h in hardness] for config in fresh])
    true = np.where(times <= CUTOFF, times, 10 * CUTOFF).mean(axis=1)
    assert spearmanr(told, true).statistic > 0.9


def test_cutoffs_cut(surrogate: SurrogateTarget) -> None:
    config = SPACE.configuration({"x": 0.5, "mode": "good"})
    whole = surrogate.run(request(config))
    assert whole.status is Status.SUCCESS
    cut = surrogate.run(request(config, whole.time / 2))
    assert (cut.status, cut.time) == (Status.CAPPED, whole.time / 2)
    worst = surrogate.run(RunRequest(SPACE.configuration({"x": 1.0, "mode": "bad"}), "i3", 0, CUTOFF))
    assert (worst.status, worst.time) == (Status.TIMEOUT, CUTOFF)


def test_a_seed_is_a_quantile(surrogate: SurrogateTarget) -> None:
    random = SurrogateTarget(SPACE, NAMES, surrogate.recorded, CUTOFF)
    config = SPACE.configuration({"x": 0.77, "mode": "good"})
    times = [random.run(request(config, seed=seed)).time for seed in range(30)]
    assert len(set(times)) > 5
    assert random.run(request(config, seed=7)).time == times[7]
    assert {surrogate.run(request(config, seed=seed)).time for seed in range(5)} == {surrogate.run(request(config)).time}


def test_a_file_gives_the_same_answers(surrogate: SurrogateTarget, tmp_path: Path) -> None:
    surrogate.save(tmp_path / "surrogate.npz")
    again = SurrogateTarget.load(tmp_path / "surrogate.npz")
    for config in SPACE.decode(SPACE.sample(20, np.random.default_rng(2))):
        assert again.run(request(config)) == surrogate.run(request(config))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a file of arrays"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.npz").write_bytes(content)
    with pytest.raises(InputError, match="is not a surrogate"):
        SurrogateTarget.load(tmp_path / "other.npz")


def test_the_whole_space_is_tuned_on_a_virtual_clock(surrogate: SurrogateTarget) -> None:
    scenario = surrogate.scenario(train=NAMES[:8], test=NAMES[8:], budget={"runs": 400})
    result = capra.tune(scenario, engine="simulated", overhead="ignore")
    assert result.incumbent["mode"] == "good"
    assert abs(result.incumbent["x"] - 0.3) < 0.15


def test_a_history_becomes_a_surrogate(surrogate: SurrogateTarget) -> None:
    scenario = surrogate.scenario(train=NAMES, budget={"runs": 400})
    result = capra.tune(scenario, engine="simulated", overhead="ignore")
    learnt = SurrogateTarget.of_history(scenario, result.history)
    assert learnt.recorded.censored.any()
    assert learnt.costs(result.incumbent, NAMES).mean() < learnt.costs(scenario.default, NAMES).mean()


def test_nothing_to_learn_from() -> None:
    scenario = capra.Scenario(target=truth, space=SPACE, cutoff=CUTOFF, unit="steps")
    with pytest.raises(InputError, match="no recorded run"):
        SurrogateTarget.of_history(scenario, History(scenario.objective, CUTOFF))
