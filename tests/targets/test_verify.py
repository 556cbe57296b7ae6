"""Verification: known answers, objective values, models against brute force, liars, and real models from clasp."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import itertools
import lzma
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import FormatError, InputError
from capra.targets.dialects import Claim, Reply
from capra.targets.supervisor import Captured
from capra.targets.verify import (
    Answer,
    Verdict,
    check_answer,
    check_model,
    known_answer,
    read_cnf,
    read_verifier,
    verifier_argv,
)

INSTANCES = Path(__file__).resolve().parents[2] / "examples" / "aclib-wrapper" / "instances"
SMALL = "c two clauses\np cnf 3 2\n1 -2 0\n2 3 0\n"

# --- known answers ---


@pytest.mark.parametrize(
    ("specific", "answer"),
    [
        ("", None),
        ("0", None),
        ("some remark", None),
        ("UNKNOWN", None),
        ("opt=1e999", None),
        ("SAT", Answer("SAT")),
        ("SATISFIABLE", Answer("SAT")),
        ("unsat", Answer("UNSAT")),
        ("UNSATISFIABLE", Answer("UNSAT")),
        ("status=SAT", Answer("SAT")),
        ("42.5", Answer(None, 42.5)),
        ("-3e2", Answer(None, -300.0)),
        ("opt=42", Answer(None, 42.0)),
        ("opt=0", Answer(None, 0.0)),
        ("Optimum=-1.5 from 2003", Answer(None, -1.5)),
        ("SAT opt=42", Answer("SAT", 42.0)),
        ("from 2003", None),
        ("10", Answer("SAT", 10.0)),
        ("20", Answer("UNSAT", 20.0)),
    ],
)
def test_known_answers(specific: str, answer: Answer | None) -> None:
    assert known_answer(specific) == answer


@pytest.mark.parametrize(
    ("specific", "reply", "right"),
    [
        ("", Reply(Claim.SUCCESS, answer="SAT"), None),
        ("SAT", Reply(Claim.SUCCESS, answer="SAT"), True),
        ("SATISFIABLE", Reply(Claim.SUCCESS, answer="s UNSATISFIABLE"), False),
        ("UNSAT", Reply(Claim.SUCCESS, answer="SAT"), False),
        ("UNSAT", Reply(Claim.TIMEOUT, answer="SAT"), None),
        ("UNSAT", Reply(Claim.SUCCESS), None),
        ("UNSAT", Reply(Claim.SUCCESS, quality=0.0), None),
        ("opt=42", Reply(Claim.SUCCESS, quality=42.0), True),
        ("opt=42", Reply(Claim.SUCCESS, quality=50.0), True),
        ("opt=42", Reply(Claim.SUCCESS, quality=41.0), False),
        ("opt=42", Reply(Claim.SUCCESS, quality=42.0 - 41e-6), True),
        ("opt=42", Reply(Claim.SUCCESS, quality=42.0 - 43e-6), False),
        ("opt=-42", Reply(Claim.SUCCESS, quality=-42.1), False),
        ("opt=0", Reply(Claim.SUCCESS, quality=-1e-9), True),
        ("opt=42", Reply(Claim.TIMEOUT, quality=0.0), None),
        ("opt=42", Reply(Claim.SUCCESS), None),
        ("opt=42", Reply(Claim.SUCCESS, quality=0.0, answer="SAT"), None),  # a decision, its quality a placeholder
        ("10", Reply(Claim.SUCCESS, quality=0.0, answer="SAT"), True),
        ("20", Reply(Claim.SUCCESS, quality=0.0, answer="SAT"), False),
        ("10", Reply(Claim.SUCCESS, quality=9.0), False),
    ],
)
def test_checked_answers(specific: str, reply: Reply, right: bool | None) -> None:
    verdict = check_answer(known_answer(specific), reply)
    assert verdict.right is right
    assert verdict.reason


# --- formulas ---


def test_a_formula_is_read() -> None:
    formula = read_cnf("c a\n\nc b\np  cnf 4 3 \r\n1 -2\n 0 2\t3 0\nc in between\n0\n\n")
    assert (formula.variables, formula.clauses) == (4, 3)
    assert formula.literals.tolist() == [1, -2, 0, 2, 3, 0, 0]


@pytest.mark.parametrize("text", ["p cnf 0 0", "p cnf 5 0\n", "p cnf 1 1\n1 0\n%\n0\n\n"])
def test_small_formulas(text: str) -> None:
    assert check_model(text, "v 1 0" if "1 1" in text else "v 0").right is True


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "expected 'p cnf"),
        ("c only\n", 2, "expected 'p cnf"),
        ("1 2 0\n", 1, "expected 'p cnf"),
        ("c x\np wcnf 3 2\n", 2, "expected 'p cnf"),
        ("p cnf 3\n", 1, "expected 'p cnf"),
        ("p cnf -3 2\n", 1, "expected 'p cnf"),
        ("p cnf 3 1 1\n1 0\n", 1, "expected 'p cnf"),
        ("p cnf 999999999999 1\n1 0\n", 1, "more than 134,217,728 variables"),
        ("p cnf 3 2\n1 0\nx 2 0\n", 3, "not a literal: 'x'"),
        ("p cnf 3 2\n1 0\n1 -2x 0\n", 3, "not a literal: '-2x'"),
        ("p cnf 3 2\n1 0\n1-2 0\n", 3, "not a literal: '1-2'"),
        ("p cnf 3 2\n1 0\n- 2 0\n", 3, "not a literal: '-'"),
        ("p cnf 3 2\n1 0\n+2 0\n", 3, "not a literal: '+2'"),
        ("p cnf 3 2\n1 0\n1.0 0\n", 3, "not a literal: '1.0'"),
        ("p cnf 3 2\n1 0\np cnf 3 2\n", 3, "not a literal: 'p'"),
        ("p cnf 3 2\n1 0\n" + "\r\v\f" * 30 + "x 0\n", 3, "not a literal: 'x'"),
        ("p cnf 3 1\n1 -9223372036854775808 0\n", 2, "beyond the 3 variables of the header"),
        ("c x\np cnf 3 2\n1 0\n2 -4 0\n", 4, "beyond the 3 variables of the header: '-4'"),
        ("p cnf 3 1\n1 0 " + "9" * 40 + " 0\n", 2, "beyond the 3 variables of the header: '" + "9" * 40),
        ("p cnf 3 2\n1 0\n2 3\n", 3, "not closed by 0"),
        ("c\np cnf 3 3\n1 0\n2 0\n", 2, "declares 3 clauses, the file has 2"),
        ("p cnf 3 1\n1 0\n2 0\n", 1, "declares 1 clauses, the file has 2"),
    ],
)
def test_malformed_formulas(text: str, line: int, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "f.cnf"
    path.write_text(text)
    for source in (path, text):
        with pytest.raises(FormatError) as caught:
            read_cnf(source)
        assert caught.value.line == line
        assert problem in caught.value.message
    assert caught.value.path == "<cnf>"


def test_formulas_in_files(tmp_path: Path) -> None:
    packers = {"f.cnf": bytes, "f.cnf.gz": gzip.compress, "f.cnf.bz2": bz2.compress, "f.cnf.xz": lzma.compress}
    for name, pack in packers.items():
        (tmp_path / name).write_bytes(pack(SMALL.encode()))
        assert check_model(tmp_path / name, "v 1 2 0").right is True
    with pytest.raises(FormatError, match="cannot be read"):
        read_cnf(tmp_path / "missing.cnf")
    for name in list(packers)[1:]:
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:30])
        with pytest.raises(FormatError, match="cannot be read"):
            read_cnf(tmp_path / name)


def test_a_formula_of_10_mb_takes_about_a_second() -> None:
    rng = np.random.default_rng(0)
    model = rng.choice([-1, 1], 100_000) * np.arange(1, 100_001)
    clauses = rng.integers(1, 100_001, (480_000, 3)) * rng.choice([-1, 1], (480_000, 3))
    clauses[:, 1] = rng.choice(model, 480_000)
    text = "p cnf 100000 480000\n" + "".join(f"{a} {b} {c} 0\n" for a, b, c in clauses.tolist())
    output = "s SATISFIABLE\nv " + " ".join(map(str, model.tolist())) + " 0\n"
    assert len(text) > 10_000_000
    start = time.process_time()
    assert check_model(text, output).right is True
    assert time.process_time() - start < 3.0


# --- models ---


@pytest.mark.parametrize(
    ("output", "right", "reason"),
    [
        ("s SATISFIABLE\nv 1 2 -3 0\n", True, "all 2 clauses"),
        ("c x\nv 1 2\nv -3\nv 0\ns SATISFIABLE\n", True, "all 2 clauses"),
        ("SAT\n1 2 -3 0\n", True, "all 2 clauses"),
        ("v 1 3 0", True, "all 2 clauses"),
        ("v 1 3", True, "all 2 clauses"),
        ("v 1 1 3 0", True, "all 2 clauses"),
        ("v -1 2 3 0\nc better\nv 1 2 3 0", True, "all 2 clauses"),
        ("v 1 2 3 0\nc worse\nv -1 2 3 0", False, "clause 1"),
        ("v 1 2 3 0\nv -1 2", True, "all 2 clauses"),
        ("v -1 2 3 0", False, "does not satisfy clause 1"),
        ("v 1 -2 -3 0", False, "does not satisfy clause 2"),
        ("v 1 0", False, "does not satisfy clause 2"),
        ("v 0", False, "does not satisfy clause 1"),
        ("v 1 -2 -3", False, "falsifies clause 2"),
        ("v 1", None, "not closed by 0"),
        ("v", None, "not closed by 0"),
        ("v 1 2 -2 0", False, "both 2 and -2"),
        ("v 1 2 -2", False, "both 2 and -2"),
        ("v 1 2 4 0", False, "beyond the header's 3: 4"),
        ("v 1 2 -" + "9" * 30 + " 0", False, "beyond the header's 3"),
        ("v 1 2 -9223372036854775808 0", False, "beyond the header's 3"),
        ("v 1 2 x 0", False, "not a literal in the model: 'x'"),
        ("v 1 --2 0", False, "not a literal in the model: '--2'"),
        ("v 1 ２ 0", False, "not a literal in the model"),
        ("v 1 \0 0", False, "not a literal in the model"),
        ("", None, "no model"),
        ("s SATISFIABLE\n", None, "no model"),
        ("SAT\n", None, "no model"),
        ("UNSAT\n", None, "no model"),
        ("SAT\nc no literals", None, "no model"),
        ("version 1 2 0", None, "no model"),
        ("s UNSATISFIABLE\nv 1 2 0", None, "says UNSAT"),
        ("s UNSATISFIABLE\ns SATISFIABLE\nv 1 2 0", True, "all 2 clauses"),
    ],
)
def test_models(output: str, right: bool | None, reason: str) -> None:
    verdict = check_model(SMALL, output)
    assert verdict.right is right
    assert reason in verdict.reason


def test_a_clause_without_literals_cannot_hold() -> None:
    assert check_model("p cnf 1 2\n1 0\n0\n", "v 1 0") == Verdict(False, "the model does not satisfy clause 2")


def test_a_clause_with_both_literals_of_a_variable_needs_it_named() -> None:
    assert check_model("p cnf 1 1\n1 -1 0\n", "v -1 0").right is True
    assert check_model("p cnf 1 1\n1 -1 0\n", "v 0").right is False


def test_output_with_a_gap_refutes_nothing() -> None:
    """What the supervisor did not keep may have been another model; a word before the gap may be half of one."""
    whole = Captured(b"v 1 2 -3 0\nnoise no", b"ise\nc bye\n", 1000).text()
    assert check_model(SMALL, whole).right is True
    for head, tail in (
        (b"v -1 2 3", b"3 0\n"),
        (b"v 1 2", b"\nv -2 0\n"),
        (b"v 1 -", b"2 0\n"),
        (b"v 1 4", b"2 0\n"),
        (b"v 1 3", b"1 0\n"),
    ):
        verdict = check_model(SMALL, Captured(head, tail, 10).text())
        assert verdict == Verdict(None, "the output has a gap: the model is not complete")


CLAUSES = st.lists(st.lists(st.integers(-6, 6).filter(bool), max_size=4), max_size=12)
MODELS = st.lists(st.integers(-6, 6).filter(bool), max_size=8)


def dimacs(clauses: list[list[int]]) -> str:
    return f"p cnf 6 {len(clauses)}\n" + "".join(" ".join(map(str, [*clause, 0])) + "\n" for clause in clauses)


@given(CLAUSES, MODELS, st.booleans())
def test_models_against_brute_force(clauses: list[list[int]], model: list[int], closed: bool) -> None:
    output = "v " + " ".join(map(str, model)) + (" 0" if closed else "")
    consistent = not any(-literal in model for literal in model)
    satisfied = consistent and all(set(clause) & set(model) for clause in clauses)
    falsified = any({-literal for literal in clause} <= set(model) for clause in clauses)
    expected = True if satisfied else False if closed or falsified or not consistent else None
    assert check_model(dimacs(clauses), output).right is expected


@given(CLAUSES)
def test_unsatisfiable_formulas_have_no_model(clauses: list[list[int]]) -> None:
    found = []
    for signs in itertools.product((1, -1), repeat=6):
        model = [sign * variable for sign, variable in zip(signs, range(1, 7), strict=True)]
        verdict = check_model(dimacs(clauses), "v " + " ".join(map(str, model)) + " 0")
        assert verdict.right is all(set(clause) & set(model) for clause in clauses)
        found.append(verdict.right)
    assert len(found) == 64


@given(st.text(max_size=60) | st.text(alphabet="vs 0123-\n\tSAT\0\ud800", max_size=60))
def test_no_output_makes_the_checker_fail(output: str) -> None:
    for text in (output, "v " + output, "SAT\n1 " + output):
        verdict = check_model(SMALL, text)
        assert verdict.reason
        assert verdict.reason.encode()


@given(st.text(alphabet="p cnf0123-%\n\tx", max_size=60))
def test_no_formula_fails_but_with_a_format_error(text: str) -> None:
    for source in (text, "p cnf 3 2\n" + text):
        with contextlib.suppress(FormatError):
            formula = read_cnf(source)
            assert np.abs(formula.literals).max(initial=0) <= formula.variables


# --- clasp as a source of models ---


def clasp(path: Path, *arguments: str) -> str:
    pytest.importorskip("clingo")
    command = [sys.executable, "-m", "clingo", "--mode=clasp", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout


@pytest.mark.parametrize("arguments", [(), ("--outf=1",), ("--models=3",), ("--rand-freq=1", "--seed=3")])
@pytest.mark.parametrize("name", ["queens", "random"])
def test_models_of_clasp_are_right_and_spoilt_ones_are_not(name: str, arguments: tuple[str, ...]) -> None:
    path = INSTANCES / f"{name}.cnf"
    output = clasp(path, *arguments)
    assert check_model(path, output).right is True
    literals = [word for line in output.splitlines() if line.startswith("v ") for word in line[2:].split()]
    last = literals[: literals.index("0")]
    flipped = [word[1:] if word.startswith("-") else f"-{word}" for word in last]
    assert check_model(path, "s SATISFIABLE\nv " + " ".join(flipped) + " 0\n").right is False


def test_clasp_says_unsat() -> None:
    output = clasp(INSTANCES / "pigeons.cnf")
    assert "s UNSATISFIABLE" in output
    assert check_model(INSTANCES / "pigeons.cnf", output).right is None


def test_a_liar_is_caught() -> None:
    """There is no model of an unsatisfiable formula, so none that can be claimed."""
    for signs in ([1] * 42, [-1] * 42, [1, -1] * 21):
        model = " ".join(str(sign * (i + 1)) for i, sign in enumerate(signs))
        assert check_model(INSTANCES / "pigeons.cnf", f"s SATISFIABLE\nv {model} 0\n").right is False


# --- a verifier command ---


def test_verifier_command() -> None:
    nasty = "a b;touch pwned $(id).cnf"
    found = verifier_argv(("check", "--in={instance}", "{output}", "-q"), nasty, Path("dir") / "{instance}")
    assert found == ["check", f"--in={nasty}", "dir/{instance}", "-q"]
    with pytest.raises(InputError, match="known are"):
        verifier_argv(("check", "{model}"), nasty, "out")
    with pytest.raises(InputError, match="no instance"):
        verifier_argv(("check", "{instance}"), None, "out")


@pytest.mark.parametrize(("code", "right"), [(0, True), (1, False), (2, None), (127, None), (None, None)])
def test_what_a_verifier_says(code: int | None, right: bool | None) -> None:
    verdict = read_verifier(code, "first\nclause 3 is false\n\n")
    assert verdict.right is right
    assert "clause 3 is false" in verdict.reason
    assert ("warning" in verdict.reason) == (right is None)
    assert read_verifier(code, "").right is right
