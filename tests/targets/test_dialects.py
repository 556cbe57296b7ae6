"""Dialects: argument lists byte for byte, and every way a target may answer, or lie, or babble."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import InputError
from capra.space.arguments import Arguments
from capra.targets.dialects import Claim, OutputRules, Reply, make_dialect, normal_answer
from tests.targets.exchanges import NAMES, NASTY, NONSENSE_TIMES, OLD_PREFIXES, STATUS_WORDS, argv, read

# --- calling ---


def test_native_call_keeps_every_template_token_one_token() -> None:
    template = ("solver", "{instance}", "--in={instance}:{seed}", "{params}", "-t", "{cutoff}", "--h={config.heuristic}")
    params = ["--heuristic=vsids", "--decay=0.95", "--keep=true", "--n=3"]
    expected = ["solver", NASTY, f"--in={NASTY}:7", *params, "-t", "2.5", "--h=vsids"]
    assert argv("native", target=template) == expected


def test_what_is_filled_in_is_not_filled_in_again() -> None:
    assert argv("native", target=("s", "{instance}"), instance="{seed} {params}") == ["s", "{seed} {params}"]


@pytest.mark.parametrize(
    ("token", "changes", "problem"),
    [
        ("{config.gone}", {}, "gone is inactive"),
        ("{instance}", {"instance": None}, "this run has none"),
        ("{cutoff}", {"cutoff": math.inf}, "this run has none"),
        ("{sede}", {}, "cannot be filled in"),
        ("x{params}", {}, "cannot be filled in"),
    ],
)
def test_native_placeholders_that_cannot_be_filled(token: str, changes: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        argv("native", target=("solver", token), **changes)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("char", ["\n", "\0", "\r"])
def test_line_breaks_and_nul_are_refused(name: str, char: str) -> None:
    with pytest.raises(InputError, match="line break or NUL"):
        argv(name, target=("solver", "{instance}"), instance=f"a{char}b")


@pytest.mark.parametrize("name", NAMES)
def test_arguments_arrive_byte_for_byte(name: str, tmp_path: Path) -> None:
    """A real process is given the nasty name; nothing splits it, and nothing in it is run."""
    program = (sys.executable, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))")
    command = argv(name, target=(*program, "{instance}", "{params}") if name == "native" else program)
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=30)
    assert json.loads(done.stdout) == command[3:]
    assert any(NASTY in argument for argument in command)
    assert not (tmp_path / "pwned").exists()


@given(st.text(st.characters(blacklist_characters="\0\n\r", blacklist_categories=["Cs"]), min_size=1), st.integers(0, 2**31))
def test_any_instance_is_one_argument(instance: str, seed: int) -> None:
    for name in ("paramils", "aclib", "irace"):
        assert argv(name, instance=instance, seed=seed).count(instance) >= 1
    assert argv("native", target=("s", "{instance}"), instance=instance) == ["s", instance]


# --- native ---

SOLVER_RULES = {
    "solved": r"^s (?:UN)?SATISFIABLE",
    "answer": r"^s (\S+)",
    "time": r"steps: (\S+)",
    "quality": r"^o (\S+)",
}


@pytest.mark.parametrize(
    ("table", "stdout", "code", "reply"),
    [
        ({}, "", 0, Reply(Claim.SUCCESS)),
        ({}, "", 20, Reply(Claim.SUCCESS)),
        ({}, "", 1, Reply(Claim.CRASHED, reason="exit code 1 is not among [0, 10, 20]")),
        ({}, "", None, Reply(Claim.NONE, reason="ended by a signal")),
        ({"codes": [3]}, "", 3, Reply(Claim.SUCCESS)),
        (SOLVER_RULES, "o 9\no 7\r\nc steps: 1e3\ns SATISFIABLE\nv 1 0\n", 10, Reply(Claim.SUCCESS, 1000.0, 7.0, "SAT")),
        (SOLVER_RULES, "o 9\no -7", None, Reply(Claim.NONE, None, -7.0, None, "ended by a signal")),
        ({"quality": "q=([0-9]+)?"}, "q=1 q=2 q=", 0, Reply(Claim.SUCCESS, None, 2.0)),
        ({"quality": "q=(.*)"}, "q=1\nq=2" + " " * 10_000, 0, Reply(Claim.SUCCESS, None, 1.0)),
        (
            {"json": True},
            '{"quality": 1}\n{"cost": 2, "steps": 3, "answer": "ok"}\n{"x"',
            0,
            Reply(Claim.SUCCESS, 3.0, 2.0, "ok"),
        ),
        ({"json": True}, '{"status": "UNSAT", "runtime": 3, "time": null}', 20, Reply(Claim.SUCCESS, 3.0, None, "UNSAT")),
        ({"json": True}, '{"status": "TIMEOUT"}', 1, Reply(Claim.TIMEOUT, reason="the target says TIMEOUT")),
        ({"json": True}, '{"status": "TIMEOUT", "cost": NaN}', 1, Reply(Claim.TIMEOUT, reason="the target says TIMEOUT")),
        (
            {"json": True},
            'loaded\n{"status": "SUCCESS"}\n \n',
            1,
            Reply(Claim.CRASHED, reason='exit code 1 is not among [0, 10, 20]; it said \'{"status": "SUCCESS"}\''),
        ),
        (
            {"json": True},
            "[1]\n{oops}\n",
            0,
            Reply(Claim.CRASHED, reason="no JSON object on a line of the output (exit code 0)"),
        ),
    ],
)
def test_native_output(table: dict[str, object], stdout: str, code: int | None, reply: Reply) -> None:
    assert read("native", stdout, code=code, rules=OutputRules.parse(table)) == reply


def test_native_without_the_solved_line() -> None:
    reply = read("native", "s UNKNOWN", rules=OutputRules.parse(SOLVER_RULES))
    assert (reply.claim, reply.answer) == (Claim.NONE, "UNKNOWN")
    assert "no line matches solved" in str(reply.reason)
    assert read("native", "s UNKNOWN", code=1, rules=OutputRules.parse(SOLVER_RULES)).claim is Claim.CRASHED


def test_native_looks_at_stderr_only_if_stdout_has_nothing() -> None:
    rules = OutputRules.parse({"quality": "q=(.*)", "time": "t=(.*)"})
    assert read("native", "q=1", stderr="q=2\nt=3", rules=rules) == Reply(Claim.SUCCESS, 3.0, 1.0)


def test_answers_can_be_stored() -> None:
    rules = OutputRules.parse({"json": True})
    answer = read("native", '{"answer": "\\ud800\\u0000' + "x" * 1000 + '"}', rules=rules).answer
    assert answer is not None
    assert answer.encode()
    assert len(answer) == 200
    assert answer.isprintable()


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("s SATISFIABLE", "SAT"),
        ("SAT", "SAT"),
        (" satisfiable\n", "SAT"),
        ("s UNSATISFIABLE", "UNSAT"),
        ("UNSAT", "UNSAT"),
        ("s OPTIMUM FOUND", "OPTIMUM FOUND"),
        ("", ""),
    ],
)
def test_normal_answer(text: str, normal: str) -> None:
    assert normal_answer(text) == normal


# --- rules and names ---


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"qualty": "x"}, "unknown key 'qualty' (did you mean 'quality'?)"),
        ({"quality": "("}, "quality: bad regular expression '(' at character 1: missing ), unterminated subpattern"),
        ({"time": "x"}, "time: 'x' has 0 groups"),
        ({"answer": "(a)(b)"}, "answer: '(a)(b)' has 2 groups"),
        ({"solved": 3}, "solved: expected a regular expression, not 3"),
        ({"solved": "a{99999999999999}"}, "solved: the regular expression 'a{99999999999999}' is too large"),
        ({"codes": [0, "1"]}, "codes: expected a list of exit codes from 0 to 255, not [0, '1']"),
        ({"codes": [True]}, "codes: expected a list"),
        ({"codes": 0}, "codes: expected a list"),
        ({"codes": []}, "codes: expected a list"),
        ({"codes": [256]}, "codes: expected a list"),
        ({"json": 1}, "json: expected true or false, not 1"),
        ({"json": True, "time": "(x)"}, "time: with json = true the JSON line says it"),
    ],
)
def test_mistakes_in_output_rules(table: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        OutputRules.parse(table)
    assert message in str(caught.value)


def test_output_rules_are_read() -> None:
    rules = OutputRules.parse({"codes": [0, 30], "solved": "done", "quality": "q (.)"})
    assert rules == OutputRules((0, 30), re.compile("done"), re.compile("q (.)"))


def test_names_of_dialects() -> None:
    with pytest.raises(InputError, match="did you mean 'paramils'"):
        make_dialect("paramlis", Arguments(), None)
    with pytest.raises(InputError, match="no meaning in the dialect irace"):
        make_dialect("irace", Arguments(), OutputRules(json=True))
    assert make_dialect("irace", Arguments(), OutputRules())


# --- whatever it prints ---

TOKENS = """
    Result for of this ParamILS SMAC GPS algorithm run wrapper : , ; = { } [ ] " SAT UNSAT SUCCESS TIMEOUT ABORT MAYBE status
    cost runtime time quality answer 0 1 -1 2.5 1e999 nan inf Inf NaN null true s v o
""".split()
PIECES = [" ", "\n", "\r", "\0", "\u2028", "\ud800", '"status": "SAT"', '"runtime": ', "Result for ParamILS: ", "cost="]
WORDS = st.sampled_from([*TOKENS, *PIECES])
BABBLE = st.lists(WORDS | st.text(max_size=4), max_size=30).map("".join)
GRAMMAR = st.builds(
    "{}{}{}, {}, {}, {}, {}{}".format,
    st.sampled_from(["", "c chatter\n"]),
    st.sampled_from([*OLD_PREFIXES, "Result for GPS:"]),
    st.sampled_from([word for word, _, _ in STATUS_WORDS] + ["MAYBE", ""]),
    *[st.sampled_from([*NONSENSE_TIMES, "0", "1.5", "1e-9"]) | st.floats().map(str)] * 4,
    st.sampled_from(["", ", misc", "\n"]),
)
RULES = st.sampled_from(
    [None, OutputRules.parse({"json": True}), OutputRules.parse(SOLVER_RULES), OutputRules.parse({"time": "(.*)"})]
)


def check_sane(reply: Reply) -> None:
    assert reply.time is None or (math.isfinite(reply.time) and reply.time >= 0.0)
    assert reply.quality is None or math.isfinite(reply.quality)
    assert (reply.claim is Claim.SUCCESS) == (reply.reason is None)
    json.dumps([reply.answer, reply.reason], ensure_ascii=False).encode()


@given(BABBLE | GRAMMAR, BABBLE, st.none() | st.integers(0, 255), RULES)
def test_reading_never_raises(stdout: str, stderr: str, code: int | None, rules: OutputRules | None) -> None:
    for name in NAMES:
        check_sane(make_dialect(name, Arguments(), rules if name == "native" else None).read(stdout, stderr, code))


@pytest.mark.parametrize(
    "line",
    [
        " " * 9_999,
        "Result" + " " * 9_000 + "of",
        "Final" + " " * 9_000,
        "Result of" + " " * 9_000 + ": SAT, 1, 0, 0, 7",
        "1" * 9_999 + "x",
        "{" * 9_999,
        '{"a":' * 1_999,
        "Result for ParamILS: SAT, " + "1" * 9_000 + "x, 0, 0, 7",
        "cost=" * 1_999,
        ";" * 9_999,
    ],
)
def test_hostile_text_is_read_fast(line: str) -> None:
    text = "\n".join([line] * 13)  # what the supervisor keeps: 128 kB
    start = time.perf_counter()
    for name in NAMES:
        for rules in (None, OutputRules.parse({"json": True}), OutputRules.parse(SOLVER_RULES)):
            check_sane(make_dialect(name, Arguments(), rules if name == "native" else None).read(text, text, 0))
    assert time.perf_counter() - start < 5.0
