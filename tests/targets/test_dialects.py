"""Dialects: argument lists byte for byte, and every way a target may answer, or lie, or babble."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import InputError
from capra.runs import Configuration
from capra.scenario import Scenario
from capra.space.arguments import Arguments
from capra.targets.dialects import Call, Claim, OutputRules, Reply, make_dialect, normal_answer

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NASTY = "a b;touch pwned $(id).cnf"
CONFIG = Configuration({"heuristic": "vsids", "decay": 0.95, "keep": True, "n": 3})
NAMES = ("native", "paramils", "aclib", "smac3", "irace")


def call(**changes: object) -> Call:
    given = {
        "target": ("solver",),
        "config": CONFIG,
        "instance": NASTY,
        "specific": "",
        "seed": 7,
        "cutoff": 2.5,
    }
    return Call(**(given | changes))  # type: ignore[arg-type]


def argv(name: str, *, renderer: Arguments | None = None, **changes: object) -> list[str]:
    return make_dialect(name, renderer or Arguments(), None).argv(call(**changes))


def read(name: str, stdout: str, *, stderr: str = "", code: int | None = 0, rules: OutputRules | None = None) -> Reply:
    return make_dialect(name, Arguments(), rules).read(stdout, stderr, code)


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
    params = ["--heuristic=vsids", "--decay=0.95", "--keep=true", "--n=3"]
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


# --- reading result lines ---

OLD_PREFIXES = [
    "Result for ParamILS:",
    "Result for SMAC:",
    "Result for HAL:",
    "Result of this algorithm run:",
    "Result of this Algorithm Run :",
    "Result of algorithm run:",
    "Resultofthisalgorithmrun:",
    "Final Result for ParamILS:",
    "Final result of SMAC:",
    "result for this wrapper:",
    "   Result  for  ParamILS:",
]
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


STATUS_WORDS = [
    ("SUCCESS", Claim.SUCCESS, None),
    ("SAT", Claim.SUCCESS, "SAT"),
    ("SATISFIABLE", Claim.SUCCESS, "SAT"),
    ("UNSAT", Claim.SUCCESS, "UNSAT"),
    ("UNSATISFIABLE", Claim.SUCCESS, "UNSAT"),
    ("sat", Claim.SUCCESS, "SAT"),
    ("TIMEOUT", Claim.TIMEOUT, None),
    ("KILLED", Claim.TIMEOUT, None),
    ("MEMOUT", Claim.MEMOUT, None),
    ("MEMORYOUT", Claim.MEMOUT, None),
    ("CRASHED", Claim.CRASHED, None),
    ("ABORT", Claim.ABORT, None),
]


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


NONSENSE_TIMES = [
    "-1",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "1e999",
    "-1e-300",
    "0x10",
    "1_0",
    "١",
    "",
    "1,5",
    "9" * 5000,
]


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


# --- SMAC3 and irace ---


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("cost=0.5", Reply(Claim.SUCCESS, None, 0.5)),
        ("cost=0.5; runtime=0.01; cpu_time=9; status=SUCCESS; additional_info=text", Reply(Claim.SUCCESS, 0.01, 0.5)),
        ("loading...\n cost = 0.5 ; cpu_time = 9\n", Reply(Claim.SUCCESS, 9.0, 0.5)),
        ("status=TIMEOUT", Reply(Claim.TIMEOUT, reason="the target says TIMEOUT")),
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
