"""Is the answer right? Known answers, objective values, models of CNF formulas, and what a verifier command said.

A ``Verdict`` is never a guess: ``right`` is None wherever there is nothing to check against. Formulas are handled as whole
arrays; a file of 10 MB takes a fraction of a second.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from capra.errors import FormatError, InputError
from capra.formats.instances import Instance
from capra.formats.packed import read_packed
from capra.targets.dialects import Claim, Reply, normal_answer

__all__ = [
    "Answer",
    "Formula",
    "Verdict",
    "check_answer",
    "check_model",
    "known_answer",
    "known_answers",
    "read_cnf",
    "read_verifier",
    "verifier_argv",
]

TOLERANCE = 1e-6
"""Relative; an objective value better than the optimum by less is rounding."""
MOST_VARIABLES = 1 << 27

Literals = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``right`` is None when there is nothing to check against; ``reason`` says why in any case."""

    right: bool | None
    reason: str


# --- known answers ---


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of an instance: SAT or UNSAT, the least possible objective value, or (written 10 or 20) either."""

    text: str | None = None
    optimum: float | None = None


_VALUE = re.compile(
    r"(?:(?:opt|optimum|best|value)=)?([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)",
    re.ASCII | re.IGNORECASE,
)
_EXIT_CODES = {"10": "SAT", "20": "UNSAT"}  # solvers' exit codes, which GenericWrapper4AC takes as answers


def known_answer(specific: str) -> Answer | None:
    """The answer in an instance's specific string: ``SAT``, ``UNSATISFIABLE``, ``opt=42``, ``42.5``, ``SAT opt=42`` …

    A number without ``opt=`` must be all there is, and ``0`` is the old protocol's word for nothing.
    """
    words = specific.split()
    texts = [answer for word in words if (answer := normal_answer(word.rpartition("=")[2])) in ("SAT", "UNSAT")]
    numbers = [number for word in words if (number := _optimum(word, alone=len(words) == 1)) is not None]
    text = texts[0] if texts else _EXIT_CODES.get(specific.strip())
    if text is None and not numbers:
        return None
    return Answer(text, numbers[0] if numbers else None)


def known_answers(instances: Iterable[Instance]) -> dict[str, Answer]:
    """By the instances' names, where something is known."""
    found = ((instance.name, known_answer(instance.specific)) for instance in instances)
    return {name: answer for name, answer in found if answer is not None}


def _optimum(word: str, *, alone: bool) -> float | None:
    match = _VALUE.fullmatch(word[:400])
    if match is None or word == "0" or not (alone or "=" in word):
        return None
    return float(match[1]) if math.isfinite(float(match[1])) else None


def check_answer(known: Answer | None, reply: Reply) -> Verdict:
    """Does a claimed success contradict what is known? An objective value is wrong when it is less than the optimum."""
    if known is None:
        return Verdict(None, "no answer is known")
    if reply.claim is not Claim.SUCCESS:
        return Verdict(None, "no answer was given")
    answer = normal_answer(reply.answer or "")
    if answer in ("SAT", "UNSAT"):
        return _compare(known.text, answer)
    if known.optimum is not None and reply.quality is not None:
        return _bound(known.optimum, reply.quality)
    return Verdict(None, "the reply says neither SAT nor UNSAT" if known.text else "the reply has no objective value")


def _compare(known: str | None, answer: str) -> Verdict:
    if known is None:
        return Verdict(None, f"nothing is known to hold against {answer}")
    return Verdict(known == answer, f"the instance is {known}" + ("" if known == answer else f", the target says {answer}"))


def _bound(optimum: float, quality: float) -> Verdict:
    if quality < optimum - TOLERANCE * max(1.0, abs(optimum)):
        return Verdict(False, f"objective value {quality!r} is better than the optimum {optimum!r}")
    return Verdict(True, f"objective value {quality!r} is not better than the optimum {optimum!r}")


# --- CNF formulas ---


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A CNF formula: ``literals`` are the clauses one after the other, each closed by 0."""

    variables: int
    literals: Literals

    @property
    def clauses(self) -> int:
        return int(np.count_nonzero(self.literals == 0))


_COMMENTS = re.compile(rb"^[ \t]*c.*$", re.MULTILINE)
_TRAILER = re.compile(rb"^%", re.MULTILINE)
_HEADER = re.compile(rb"[ \t]*p[ \t]+cnf[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*")


def read_cnf(source: str | Path, name: str | Path = "<cnf>") -> Formula:
    """The formula in DIMACS text, or in the file at a ``Path`` (also .gz, .bz2, .xz).

    FormatError, with the line, for anything but comments, one header, and as many closed clauses over as many variables
    as that declares. SATLIB's trailer (a ``%`` line and what follows) is accepted.
    """
    data, name = (read_packed(source), source) if isinstance(source, Path) else (source.encode("utf-8", "replace"), name)
    data = _COMMENTS.sub(b"", data)  # an empty line remains: numbers of lines stay
    start = len(data) - len(data.lstrip())
    end = data.find(b"\n", start) % (len(data) + 1)  # of the line, or of the data
    header = _HEADER.fullmatch(data, start, end)
    if header is None:
        _fail("expected 'p cnf VARIABLES CLAUSES'", name, data, start)
    variables, clauses = int(header[1]), int(header[2])
    if variables > MOST_VARIABLES:
        _fail(f"more than {MOST_VARIABLES:,} variables", name, data, start)
    return Formula(variables, _clauses(data, end, variables, clauses, name))


def _clauses(data: bytes, start: int, variables: int, clauses: int, name: str | Path) -> Literals:
    trailer = _TRAILER.search(data, start)
    end = trailer.start() if trailer else len(data)
    body = data[start:end]
    if (bad := _first_bad(body)) is not None:
        _fail(f"not a literal: {_word(body, bad)!r}", name, data, start + bad)
    literals = _integers(body)
    if (beyond := np.flatnonzero((literals > variables) | (literals < -variables))).size:
        at = start + _offset(body, int(beyond[0]))
        _fail(f"a literal beyond the {variables} variables of the header: {_word(data, at)!r}", name, data, at)
    if literals.size and literals[-1] != 0:
        _fail("the last clause is not closed by 0", name, data, start + len(body.rstrip()))
    if (found := int(np.count_nonzero(literals == 0))) != clauses:
        _fail(f"the header declares {clauses} clauses, the file has {found}", name, data, data.index(b"p"))
    return literals


def _fail(message: str, name: str | Path, data: bytes, at: int) -> NoReturn:
    raise FormatError(message, path=name, line=data.count(b"\n", 0, at) + 1)


# --- whole numbers in text, as arrays ---

_DIGIT, _MINUS, _BLANK = 1, 2, 3
_KINDS = np.zeros(256, np.uint8)
_KINDS[list(b"0123456789")] = _DIGIT
_KINDS[ord("-")] = _MINUS
_KINDS[list(b" \t\r\n\v\f")] = _BLANK


def _first_bad(text: bytes) -> int | None:
    """Where the first byte stands that belongs to no whole number (optional minus, digits), or None."""
    kinds = np.empty(len(text) + 2, np.uint8)
    kinds[0] = kinds[-1] = _BLANK
    kinds[1:-1] = _KINDS[np.frombuffer(text, np.uint8)]
    bad = kinds[1:-1] == 0
    minus = kinds[1:-1] == _MINUS
    bad |= minus & ((kinds[:-2] != _BLANK) | (kinds[2:] != _DIGIT))
    found = np.flatnonzero(bad)
    return int(found[0]) if found.size else None


def _integers(text: bytes) -> Literals:
    """The numbers of text that ``_first_bad`` has passed; too large ones become the largest there is."""
    return np.fromstring(text, np.int64, sep=" ") if text.strip() else np.empty(0, np.int64)


def _offset(text: bytes, index: int) -> int:
    """Where the word with that number begins."""
    kinds = _KINDS[np.frombuffer(text, np.uint8)] != _BLANK
    starts = np.flatnonzero(kinds & ~np.concatenate(([False], kinds[:-1])))
    return int(starts[index])


def _word(text: bytes, at: int) -> str:
    """The word around a place, for a message."""
    start = max(text.rfind(blank, 0, at) for blank in b" \t\r\n\v\f") + 1
    return text[start : start + 40].split(maxsplit=1)[0].decode("utf-8", "replace")


# --- models ---

_GAP = re.compile(r"\[\.\.\. \d+ bytes dropped \.\.\.\]")  # how the supervisor marks what it did not keep


def check_model(cnf: Formula | Path | str, output: str) -> Verdict:
    """Does the model in ``output`` satisfy the formula (given as such, as a path, or as DIMACS text)?

    A model stands on ``v`` lines, or is the content of minisat's result file (``SAT``, then the literals); of several the
    last one counts. Variables that it does not name are free: every clause must hold without them. No verdict on output
    that says UNSAT or has no model; nor, unless the clauses hold all the same, on a model without its closing 0 that leaves
    a clause open, or on output with a gap, where the halves may be of different models.
    Raises FormatError for a malformed formula, never for the output.
    """
    words, cut = _model_text(output)
    if words is None:
        return Verdict(None, "no model in the output")
    if _says_unsat(output):
        return Verdict(None, "the target says UNSAT: a model proves nothing")
    verdict = _check(cnf if isinstance(cnf, Formula) else read_cnf(cnf), words.encode("utf-8", "replace"), cut)
    if cut and not verdict.right:
        return Verdict(None, "the output has a gap: the model is not complete")
    return verdict


def _says_unsat(output: str) -> bool:
    said = {normal_answer(line) for line in output.splitlines() if line.startswith("s ")}
    return "UNSAT" in said and "SAT" not in said


def _model_text(output: str) -> tuple[str | None, bool]:
    """The words of all models (None if there is none), and whether something was cut out of the output."""
    lines = output.splitlines()
    gap = next((i for i, line in enumerate(lines) if _GAP.fullmatch(line)), None)
    if gap is not None and gap > 0:
        lines[gap - 1] = lines[gap - 1].rpartition(" ")[0]  # its last word may be a half
    found = [line[1:] for line in lines if line == "v" or line.startswith(("v ", "v\t"))]
    return "\n".join(found) if found else _result_file(lines), gap is not None


def _result_file(lines: list[str]) -> str | None:
    """The literals in minisat's result file."""
    filled = [line for line in lines if line.strip()]
    if len(filled) < 2 or filled[0].strip() != "SAT" or not re.match(r"\s*-?\d", filled[1], re.ASCII):
        return None
    return "\n".join(filled[1:])


def _check(formula: Formula, text: bytes, cut: bool) -> Verdict:
    if (bad := _first_bad(text)) is not None:
        return Verdict(False, f"not a literal in the model: {_word(text, bad)!r}")
    model, closed = _last_model(_integers(text), cut)
    n = formula.variables
    if (beyond := model[(model > n) | (model < -n)]).size:
        return Verdict(False, f"the model names a variable beyond the header's {n}: {int(beyond[0])}")
    holds = np.zeros(2 * n + 1, np.bool_)  # by literal, from -n to n
    holds[model + n] = True
    if (both := model[holds[n - model]]).size:
        return Verdict(False, f"the model has both {abs(int(both[0]))} and {-abs(int(both[0]))}")
    return _check_clauses(formula, holds, closed)


def _last_model(literals: Literals, cut: bool) -> tuple[Literals, bool]:
    """The last closed model and True, or what there is of an open one and False."""
    ends = np.flatnonzero(literals == 0)
    if cut or not ends.size:
        return literals[literals != 0], False
    start = int(ends[-2]) + 1 if ends.size > 1 else 0
    return literals[start : int(ends[-1])], True


def _check_clauses(formula: Formula, holds: NDArray[np.bool_], closed: bool) -> Verdict:
    """``holds`` tells of every literal, from -n to n, whether the model has it; it never has 0."""
    n, literals = formula.variables, formula.literals
    broken = np.flatnonzero(_per_clause(holds[literals + n], literals) == 0)
    if not broken.size:
        return Verdict(True, f"the model satisfies all {formula.clauses} clauses")
    if closed:
        return Verdict(False, f"the model does not satisfy clause {int(broken[0]) + 1}")
    not_false = ~holds[n - literals] & (literals != 0)
    if (false := broken[_per_clause(not_false, literals)[broken] == 0]).size:
        return Verdict(False, f"the model falsifies clause {int(false[0]) + 1}")
    return Verdict(None, "the model is not closed by 0 and leaves clauses open")


def _per_clause(mask: NDArray[np.bool_], literals: Literals) -> NDArray[np.int64]:
    """How many literals of each clause are in the mask; empty clauses have 0."""
    counts: NDArray[np.int64] = np.diff(np.cumsum(mask, dtype=np.int64)[literals == 0], prepend=0)
    return counts


# --- a verifier command ---

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def verifier_argv(template: Sequence[str], instance: str | None, output_path: str | Path) -> list[str]:
    """The verifier's argument list: {instance} and {output} (the file with what the target printed) filled in."""
    values = {"instance": instance, "output": str(output_path)}

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if value is None:
            problem = "this run has no instance" if match[1] in values else "known are {instance} and {output}"
            raise InputError(f"the verifier's placeholder {{{match[1]}}} cannot be filled in: {problem}")
        return value

    return [_PLACEHOLDER.sub(fill, token) for token in template]


def read_verifier(exit_code: int | None, stdout: str) -> Verdict:
    """Exit code 0 is right, 1 is wrong; anything else means that the verifier itself failed, which proves nothing."""
    said = next((line.strip() for line in reversed(stdout.splitlines()) if line.strip()), "")[:200]
    remark = f": {said!r}" if said else ""
    if exit_code in (0, 1):
        return Verdict(
            exit_code == 0, ("the verifier accepts the answer", "the verifier refutes the answer")[exit_code] + remark
        )
    end = "was ended by a signal" if exit_code is None else f"ended with exit code {exit_code}"
    return Verdict(None, f"warning: the verifier {end}, the answer is unchecked{remark}")
