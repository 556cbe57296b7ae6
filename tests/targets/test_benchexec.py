"""BenchExec behind the supervisor's protocol: real runs, where BenchExec can work at all.

Nothing here is in a hurry: bounds on wall time are far away, since on a busy machine a second of CPU time may take a minute.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from capra.engines import LocalEngine
from capra.runs import RunRequest, Status
from capra.scenario import Scenario
from capra.targets.supervisor import Facts, Job, Limits, Supervised, run
from capra.testing import hostile
from tests.engines.test_local import until

pytestmark = pytest.mark.skipif(importlib.util.find_spec("benchexec") is None, reason="BenchExec is not installed")


PATIENCE = 600.0


def measured(job: Job) -> Facts:
    facts = run(job)
    if facts.lost:
        pytest.skip(f"BenchExec cannot run here: {facts.reason}")
    return facts


def job(argv: list[str], **limits: float) -> Job:
    return Job(argv, Limits(**({"wall": PATIENCE} | limits)), backend="benchexec")  # type: ignore[arg-type]


def test_a_run_and_what_it_said() -> None:
    facts = measured(job(["sh", "-c", "echo out; echo err >&2; exit 7"], cpu=10.0))
    assert (facts.exit_code, facts.limit, facts.backend) == (7, None, "benchexec")
    assert (facts.stdout.text(), facts.stderr.text()) == ("out\n", "err\n")


def test_only_the_given_environment_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "sings")
    facts = measured(job(["sh", "-c", 'echo "[$CANARY]$LANG"'], cpu=10.0))
    assert facts.stdout.text() == "[]C\n"


def test_the_cpu_bound_is_kept() -> None:
    facts = measured(job(hostile.busy(PATIENCE), cpu=1.0))
    assert facts.limit == "cpu"
    assert facts.stopped
    assert facts.cpu >= 1.0


@pytest.mark.parametrize("begun", [True, False])
def test_stop_now(begun: bool, tmp_path: Path) -> None:
    """Also if BenchExec has not come to starting the target yet."""
    measured(job(["true"], cpu=10.0))
    sign = tmp_path / "begun"
    target = ["sh", "-c", 'touch "$1"; while :; do :; done', "sh", str(sign)]
    with Supervised.start(job(target, cpu=500.0)) as under_way:
        if begun:
            until(sign.exists, PATIENCE)
        under_way.tighten(0.0)
        facts = under_way.wait(PATIENCE)
    assert facts is not None
    assert facts.limit == "command"
    assert 0.0 < facts.cutoff < 500.0


def test_through_the_engine(folder: Path) -> None:
    measured(job(["true"], cpu=10.0))
    scenario = Scenario(
        base=folder,
        target=["sh", "-c", "exit 0", "{instance}", "{params}"],
        space="parameters.pcs",
        instances="train",
        cutoff=10.0,
        backend="benchexec",
    )
    with LocalEngine(scenario) as engine:
        engine.submit(RunRequest(scenario.default, "train/a.cnf", 1, 10.0))
        ((_, outcome),) = engine.wait(PATIENCE)
    assert outcome.status is Status.SUCCESS
    assert outcome.backend == "benchexec"
