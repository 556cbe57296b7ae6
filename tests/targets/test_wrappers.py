"""The dialects of other configurators: argument lists, and every way a wrapper may answer; the examples as they are."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import InputError
from capra.runs import Configuration, RunRequest, Status, Value
from capra.scenario import Scenario
from capra.space.arguments import Arguments
from capra.targets.command import CommandTarget
from capra.targets.dialects import Claim, OutputRules, Reply, make_dialect
from capra.targets.supervisor import Captured, Facts
from tests.targets.exchanges import NASTY, NONSENSE_TIMES, OLD_PREFIXES, STATUS_WORDS, argv, call, read

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


# --- calling ---

PAIRS = ["-heuristic", "vsids", "-decay", "0.95", "-keep", "true", "-n", "3"]


@pytest.mark.parametrize(
    ("changes", "fixed"),
    [
        ({}, [NASTY, "0", "2.5", "0", "7"]),
        ({"specific": "SAT known since 1999"}, [NASTY, "SAT known since 1999", "2.5", "0", "7"]),
        ({"instance": None}, ["0", "0", "2.5", "0", "7"]),
        ({"cutoff": 5.0}, [NASTY, "0", "5", "0", "7"]),
        ({"cutoff": 0.0000123}, [NASTY, "0", "0.0000123", "0", "7"]),
        ({"cutoff": math.inf}, [NASTY, "0", "99999999999999", "0", "7"]),
    ],
)
def test_paramils_call(changes: dict[str, object], fixed: list[str]) -> None:
    assert argv("paramils", target=("python3", "w.py"), **changes) == ["python3", "w.py", *fixed, *PAIRS]


@pytest.mark.parametrize(
    ("changes", "instance", "cutoff"),
    [({}, NASTY, "2.5"), ({"instance": None, "cutoff": math.inf}, "0", "99999999999999")],
)
def test_aclib_call(changes: dict[str, object], instance: str, cutoff: str) -> None:
    fixed = ["--instance", instance, "--cutoff", cutoff, "--seed", "7", "--config"]
    assert argv("aclib", **changes) == ["solver", *fixed, *PAIRS]


@pytest.mark.parametrize(
    ("changes", "fixed"),
    [
        ({}, ["--seed=7", f"--instance={NASTY}", "--instance_features=[]", "--cutoff=2.5"]),
        (
            {"features": (1.0, 0.25), "cutoff": math.inf},
            ["--seed=7", f"--instance={NASTY}", "--instance_features=[1.0,0.25]"],
        ),
        ({"instance": None}, ["--seed=7", "--cutoff=2.5"]),
    ],
)
def test_smac3_call(changes: dict[str, object], fixed: list[str]) -> None:
    params = ["--heuristic=vsids", "--decay=0.95", "--keep=True", "--n=3"]  # as Python prints them
    assert argv("smac3", **changes) == ["solver", *fixed, *params]


def test_smac3_refuses_parameters_with_the_names_of_its_own() -> None:
    with pytest.raises(InputError, match="cannot be named 'seed'"):
        argv("smac3", config=Configuration({"seed": 3}))


@pytest.mark.parametrize(
    ("changes", "fixed"),
    [
        ({}, ["12", "3", "7", NASTY, "2.5"]),
        ({"cutoff": math.inf}, ["12", "3", "7", NASTY]),
        ({"specific": "--extra 4"}, ["12", "3", "7", NASTY, "--extra", "4", "2.5"]),
    ],
)
def test_irace_call(changes: dict[str, object], fixed: list[str]) -> None:
    switches = {"heuristic": "--h-", "decay": "--decay ", "keep": "", "n": "-n="}
    found = argv("irace", renderer=Arguments(switches=switches), config_number=12, instance_number=3, **changes)
    assert found == ["solver", *fixed, "--h-vsids", "--decay", "0.95", "true", "-n=3"]


@pytest.mark.parametrize(
    ("switch", "value", "words"),
    [
        ("", "", []),
        ("", "--ls 1", ["--ls", "1"]),
        ("--ls ", "", ["--ls"]),
        ("--ls=", "'two words'", ["--ls='two", "words'"]),
        ("--q0 ", 0.00001, ["--q0", "0.00001"]),
        ("--q0 ", 1.0, ["--q0", "1.0"]),
        ("--on ", True, ["--on", "true"]),
    ],
)
def test_irace_pastes_and_splits_at_blanks(switch: str, value: Value, words: list[str]) -> None:
    config = Configuration({"p": value, "last": 3})
    found = argv("irace", renderer=Arguments(switches={"p": switch}), config=config, cutoff=math.inf)
    assert found == ["solver", "1", "1", "7", NASTY, *words, "--last=3"]


IRACE_BOUNDS = [
    (0.3333333333333, "cpu", "1"),
    (2.0, "wall", "2"),
    (7.2, "cpu", "7.5"),  # the bound of all runs is told as it is
    (7.5, "cpu", "7.5"),
    (0.3333333333333, "steps", "0.3333333333333"),  # nobody else keeps it
]


@pytest.mark.parametrize(("cutoff", "unit", "told"), IRACE_BOUNDS)
def test_irace_runners_hear_of_whole_seconds(tmp_path: Path, cutoff: float, unit: str, told: str) -> None:
    (tmp_path / "p.txt").write_text('mode "--" c (fast, safe)\n')
    (tmp_path / "runner").write_text("#!/bin/sh\n")
    (tmp_path / "runner").chmod(0o755)
    scenario = Scenario(base=tmp_path, target=["./runner"], space="p.txt", dialect="irace", cutoff=7.5, unit=unit)
    target, request = CommandTarget(scenario), RunRequest(scenario.default, None, 1, cutoff)
    job = target.job(request)
    assert job.argv[1:] == ["1", "0", "1", "0", told, "--fast"]
    assert (job.limits.cpu if unit == "cpu" else job.limits.wall) == (86400.0 if unit == "steps" else cutoff)
    if unit == "cpu":  # a runner that stops itself there prints what it was told
        facts = Facts(exit_code=0, cutoff=cutoff, cpu=cutoff, wall=cutoff, stdout=Captured(f"9 {told}".encode()))
        outcome = target.outcome(request, facts, tmp_path)
        assert (outcome.status, outcome.time) == (Status.TIMEOUT if cutoff == 7.5 else Status.CAPPED, cutoff)


# --- reading result lines ---

BOTH = pytest.mark.parametrize("name", ["paramils", "aclib"])


@BOTH
@pytest.mark.parametrize("prefix", OLD_PREFIXES)
def test_old_line_with_every_prefix(name: str, prefix: str) -> None:
    text = f"c solver chatter\n{prefix} SAT, 1.25, 0, -3.5, 7, more to say\nc bye\n"
    assert read(name, text) == Reply(Claim.SUCCESS, 1.25, -3.5, "SAT")


@BOTH
def test_gps_line_has_other_fields(name: str) -> None:
    assert read(name, "Result for GPS: SUCCESS, 1.25, 42, misc") == Reply(Claim.SUCCESS, 1.25, 42.0)
    assert read(name, "Result for GPS: SUCCESS, 1.25, 42") == Reply(Claim.SUCCESS, 1.25, 42.0)


@BOTH
def test_json_line(name: str) -> None:
    line = 'Result of this algorithm run: {"status": "SUCCESS", "cost": 3.5, "runtime": 3.2, "misc": ""}'
    assert read(name, line) == Reply(Claim.SUCCESS, 3.2, 3.5)
    assert read(name, 'Result for SMAC: {"status": "SUCCESS", "runtime": 3}') == Reply(Claim.SUCCESS, 3.0)


@pytest.mark.parametrize(("word", "claim", "answer"), STATUS_WORDS)
def test_status_words_of_all_tools(word: str, claim: Claim, answer: str | None) -> None:
    texts = {
        "paramils": f"Result for ParamILS: {word}, 1, 0, 2, 7",
        "aclib": "Result of this algorithm run: " + json.dumps({"status": word, "cost": 2, "runtime": 1}),
        "smac3": f"cost=2; runtime=1; status={word}",
    }
    for name, text in texts.items():
        reply = read(name, text)
        assert (reply.claim, reply.answer, reply.time, reply.quality) == (claim, answer, 1.0, 2.0)
        assert (reply.reason is None) == (claim is Claim.SUCCESS)
    json_rules = OutputRules.parse({"json": True})
    assert read("native", json.dumps({"status": word, "steps": 1}), rules=json_rules).claim is claim


def test_the_reason_quotes_the_remark() -> None:
    reply = read("paramils", "Result for ParamILS: CRASHED, 0.1, 0, 0, 7, licence server is down")
    assert reply.reason is not None
    assert "licence server is down" in reply.reason


@BOTH
def test_genericwrapper_prints_both_lines(name: str) -> None:
    """JSON with all digits, then the old line with four decimals; an unset quality is 2**32 - 1."""
    new = 'Result of this algorithm run: {"status": "SAT", "cost": 0.123456, "runtime": 0.123456, "misc": ""}\n'
    assert read(name, new + "Result for ParamILS: SAT, 0.1235, 0, 0.123456, 7\n") == Reply(
        Claim.SUCCESS, 0.123456, 0.123456, "SAT"
    )
    assert read(name, "Result for ParamILS: SUCCESS, 0.5, 0, 4294967295, 7").quality is None


@BOTH
@pytest.mark.parametrize(
    "second",
    [
        "Result for ParamILS: UNSAT, 1.0, 0, 0, 7",
        "Result for ParamILS: TIMEOUT, 1.0, 0, 0, 7",
        "Result for ParamILS: SAT, 5.0, 0, 0, 7",
        "Result for ParamILS: SAT, 1.0, 0, 9, 7",
        'Result of this algorithm run: {"status": "CRASHED", "runtime": 1.0}',
    ],
)
def test_contradicting_lines_are_nonsense(name: str, second: str) -> None:
    first = "Result for ParamILS: SAT, 1.0, 0, 0, 7"
    assert read(name, f"{first}\n{first}").claim is Claim.SUCCESS
    for text in (f"{first}\n{second}", f"{second}\n{first}"):
        reply = read(name, text)
        assert reply.claim is Claim.CRASHED
        assert "contradict" in str(reply.reason)


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        "",
        "SATISFIABLE",
        "Result for Nobody: SAT, 1, 0, 0, 7",
        "xResult for ParamILS: SAT, 1, 0, 0, 7",
        "Result for ParamILS SAT, 1, 0, 0, 7",
    ],
)
def test_missing_line_is_crashed(name: str, text: str) -> None:
    reply = read(name, text, code=3)
    assert reply == Reply(Claim.CRASHED, reason="no result line in the output (exit code 3)")


@BOTH
@pytest.mark.parametrize(
    "rest",
    [
        "",
        "SAT",
        "SAT, 1, 0, 0",
        "MAYBE, 1, 0, 0, 7",
        ", 1, 0, 0, 7",
        "{",
        "{}",
        "[1]",
        '{"status": "SAT"',
        '{"status": 1}',
        '{"status": null}',
        '{"status": "SAT", "runtime": true}',
        '{"status": "SAT", "runtime": "soon"}',
        '{"status": "SAT", "runtime": [1]}',
        '{"status": "SAT"} trailing',
        '{"status": ' + "[" * 50_000,
        '{"status": "SAT", "misc": ' + "[" * 900 + "]" * 900 + ', "runtime": ' + "[" * 900 + "]" * 900 + "}",
    ],
)
def test_unparsable_line_is_crashed(name: str, rest: str) -> None:
    reply = read(name, f"Result for ParamILS: {rest}")
    assert reply.claim is Claim.CRASHED
    assert str(reply.reason).startswith("nonsense output: ")
    assert len(str(reply.reason)) < 300


@pytest.mark.parametrize("word", NONSENSE_TIMES)
def test_nonsense_times(word: str) -> None:
    json_rules = OutputRules.parse({"json": True})
    rules = OutputRules.parse({"time": "time=(.*)"})
    replies = [
        read("paramils", f"Result for ParamILS: SAT, {word}, 0, 0, 7") if word != "1,5" else None,
        read("aclib", "Result for SMAC: " + json.dumps({"status": "SAT", "runtime": word})),
        read("smac3", f"cost=1; runtime={word}"),
        read("irace", f"1 {word}") if word else None,
        read("native", f"time={word}", rules=rules),
        read("native", json.dumps({"time": word}), rules=json_rules),
    ]
    for reply in replies:
        assert reply is None or (reply.claim is Claim.CRASHED and str(reply.reason).startswith("nonsense output: time is "))


@pytest.mark.parametrize(
    "number", ["-1", "NaN", "Infinity", "-Infinity", "1e999", "-1" + "0" * 400, "true", '"x"', "[]", "{}"]
)
def test_nonsense_json_numbers(number: str) -> None:
    assert read("aclib", f'Result for SMAC: {{"status": "SAT", "runtime": {number}}}').claim is Claim.CRASHED
    rules = OutputRules.parse({"json": True})
    assert read("native", f'{{"status": "SAT", "steps": {number}}}', rules=rules).claim is Claim.CRASHED


@pytest.mark.parametrize("word", ["nan", "inf", "1e999", "best"])
def test_nonsense_qualities(word: str) -> None:
    rules = OutputRules.parse({"quality": "cost=(.*)"})
    for reply in (
        read("paramils", f"Result for ParamILS: SAT, 1, 0, {word}, 7"),
        read("smac3", f"cost={word}"),
        read("native", f"cost={word}", rules=rules),
    ):
        assert reply.claim is Claim.CRASHED
        assert str(reply.reason).startswith("nonsense output: quality is ")
    assert read("smac3", "cost=-7.5").quality == -7.5
    assert str(read("smac3", "cost=-0; runtime=-0.0").time) == "0.0"


@pytest.mark.parametrize("number", ["inf", "nan", "-1", "", "best", "1e999"])
@pytest.mark.parametrize(("word", "claim"), [(word, claim) for word, claim, _ in STATUS_WORDS if claim is not Claim.SUCCESS])
def test_other_claims_stand_without_their_numbers(word: str, claim: Claim, number: str) -> None:
    quality = -1.0 if number == "-1" else None
    texts = {
        "paramils": f"Result for ParamILS: {word}, {number}, 0, {number}, 7",
        "aclib": "Result for SMAC: " + json.dumps({"status": word, "cost": number, "runtime": number}),
        "smac3": f"cost={number}; runtime={number}; status={word}",
    }
    for name, text in texts.items():
        assert read(name, text) == Reply(claim, None, quality, reason=f"the target says {word}")


def test_json_has_numbers_that_are_none() -> None:
    line = 'Result of this algorithm run: {"status": "TIMEOUT", "cost": Infinity, "runtime": NaN}'
    assert read("aclib", line) == Reply(Claim.TIMEOUT, reason="the target says TIMEOUT")
    assert read("smac3", "cost=0.5,0.4; status=TIMEOUT") == Reply(Claim.TIMEOUT, reason="the target says TIMEOUT")


# --- SMAC3 and irace ---


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("cost=0.5", Reply(Claim.SUCCESS, None, 0.5)),
        ("cost=0.5; runtime=0.01; cpu_time=9; status=SUCCESS; additional_info=text", Reply(Claim.SUCCESS, 0.01, 0.5)),
        ("loading...\n cost = 0.5 ; cpu_time = 9\n", Reply(Claim.SUCCESS, 9.0, 0.5)),
        ("status=TIMEOUT", Reply(Claim.TIMEOUT, reason="the target says TIMEOUT")),
        ("cost=0.5;\nstatus=SUCCESS", Reply(Claim.SUCCESS, None, 0.5)),
        ("cost=9;runtime=1\ncost=0.5;\n\nstatus=SUCCESS;\nbye\n", Reply(Claim.SUCCESS, 1.0, 0.5)),
        (
            "cost=1; status=CRASHED; additional_info=no memory",
            Reply(Claim.CRASHED, None, 1.0, reason="the target says CRASHED: 'no memory'"),
        ),
    ],
)
def test_smac3_output(text: str, reply: Reply) -> None:
    assert read("smac3", text) == reply


@pytest.mark.parametrize(
    "text", ["", "hello", "runtime=1", "cost=", "status=SUCCESS", "cost=1;status=RUNNING", "cost=0.5,0.4"]
)
def test_smac3_nonsense(text: str) -> None:
    assert read("smac3", text).claim is Claim.CRASHED


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("12.5\n", Reply(Claim.SUCCESS, None, 12.5)),
        ("-3 0.5", Reply(Claim.SUCCESS, 0.5, -3.0)),
        ("\n 12.5 \n 0.5 \n", Reply(Claim.SUCCESS, 0.5, 12.5)),
        ("Inf", Reply(Claim.REJECT, None, reason="the target rejects this configuration (Inf)")),
        ("Inf 0", Reply(Claim.REJECT, 0.0, reason="the target rejects this configuration (Inf)")),
    ],
)
def test_irace_output(text: str, reply: Reply) -> None:
    assert read("irace", text) == reply


@pytest.mark.parametrize("text", ["", "NA", "-Inf", "nan 1", "1 2 3", "cost 1", "1e999", "1 Inf", "Inf nan"])
def test_irace_nonsense(text: str) -> None:
    assert read("irace", text).claim is Claim.CRASHED


def test_irace_exit_code_must_be_0() -> None:
    assert read("irace", "1 1", code=1) == Reply(Claim.CRASHED, reason="not a regular end (exit code 1)")


STATUSES = st.sampled_from(["SUCCESS", "TIMEOUT", "CRASHED", "ABORT", "MEMOUT"])
TIMES = st.floats(0.0, 1e300)
QUALITIES = st.floats(-1e300, 1e300)


@given(STATUSES, TIMES, QUALITIES, st.integers(0, 2**31), st.text(alphabet="abc ;=:", max_size=10))
def test_rendered_lines_are_read_back(status: str, time: float, quality: float, seed: int, misc: str) -> None:
    old = f"Result for ParamILS: {status}, {time}, 0, {quality}, {seed}, {misc}"
    table = {"status": status, "runtime": time, "cost": quality, "misc": misc}
    new = f"Result of this algorithm run: {json.dumps(table)}"
    for text in (old, new, f"{new}\n{old}\n"):
        reply = read("aclib", text)
        assert (reply.claim, reply.time, reply.quality) == (status, time, quality)


# --- the examples, as their users have them ---


def run_example(folder: str) -> tuple[Scenario, dict[str, Reply]]:
    """Every instance of an example, run with the default configuration."""
    pytest.importorskip("clingo")
    scenario = Scenario.load(EXAMPLES / folder / "scenario.txt")
    dialect = make_dialect(scenario.dialect, scenario.renderer, None)
    assert isinstance(scenario.target, tuple)
    program = str(EXAMPLES / folder / scenario.target[0])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    replies = {}
    for instance in scenario.instances:
        made = call(
            target=(program, *scenario.target[1:]),
            config=scenario.space.default,
            instance=scenario.path_of(instance.name),
            specific=instance.specific,
            cutoff=20.0,
        )
        done = subprocess.run(
            dialect.argv(made), capture_output=True, text=True, check=False, timeout=60, env=os.environ | {"PATH": path}
        )
        replies[instance.name] = dialect.read(done.stdout, done.stderr, done.returncode)
    return scenario, replies


def test_aclib_example() -> None:
    scenario, replies = run_example("aclib-wrapper")
    assert scenario.dialect == "paramils"
    assert {name: reply.answer for name, reply in replies.items()} == {i.name: i.specific for i in scenario.instances}
    assert all(reply.claim is Claim.SUCCESS and 0.0 < (reply.time or 0.0) < 20.0 for reply in replies.values())


def test_irace_example() -> None:
    scenario, replies = run_example("irace-runner")
    assert scenario.dialect == "irace"
    assert len(replies) == 3
    for reply in replies.values():
        assert reply.claim is Claim.SUCCESS
        assert reply.time == reply.quality
        assert 0.0 < (reply.time or 0.0) <= 20.0
