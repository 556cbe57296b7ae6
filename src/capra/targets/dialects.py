"""How a target is called, and how what it prints is read: text and facts in, data out.

========  =====================================================================  ==================================
dialect   call                                                                   answer
========  =====================================================================  ==================================
native    the scenario's argument list, placeholders filled in                   exit code and ``OutputRules``
paramils  ``… instance specific cutoff 0 seed -name value …``                    result line, comma fields or JSON
aclib     ``… --instance I --cutoff C --seed S --config -name value …``          the same
smac3     ``… --seed=S --instance=I --instance_features=[…] --cutoff=C --n=v …`` ``cost=…; runtime=…; status=…``
irace     ``… id_configuration id_instance seed instance [bound] switches …``    ``cost`` or ``cost time``
========  =====================================================================  ==================================

One argument stays one argument whatever is in it; no shell is involved. Output is data from elsewhere: reading it never
raises, and every number that comes out is finite. A ``Reply`` is what the target *says*; what to believe is decided
elsewhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from capra.errors import InputError, did_you_mean, shown
from capra.formats.output import OutputRules
from capra.runs import Configuration
from capra.space.arguments import Arguments, value_text

__all__ = ["Call", "Claim", "Dialect", "OutputRules", "Reply", "make_dialect", "normal_answer"]

LONGEST_LINE = 10_000
"""Longer lines are not matched against patterns."""
LONGEST_ANSWER = 200
"""Answers are cut to this length."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LINE_ENDS = re.compile(r"[\r\n]+")
_NO_CUTOFF = "99999999999999"  # what SMAC hands a wrapper that must be given a number
_UNSET = 2.0**32 - 1  # GenericWrapper4AC's quality when there is none


# --- the words ---


@dataclass(frozen=True, slots=True)
class Call:
    """Everything a dialect may put on a command line.

    ``target`` is the scenario's argument list. ``instance`` is the path or name as the target is to see it, ``specific``
    the text that follows it in the instance file. ``cutoff`` is in the scenario's unit, infinite for none. The two
    numbers are irace's: small, and the same whenever the configuration or instance comes again.
    """

    target: tuple[str, ...]
    config: Configuration
    instance: str | None
    specific: str
    seed: int
    cutoff: float
    features: tuple[float, ...] = ()
    config_number: int = 1
    instance_number: int = 1


class Claim(StrEnum):
    """What the target says of itself."""

    SUCCESS = "SUCCESS"
    TIMEOUT = "TIMEOUT"
    MEMOUT = "MEMOUT"
    CRASHED = "CRASHED"
    """It says so, or what it says is missing or nonsense."""
    ABORT = "ABORT"
    """Stop the whole tuning: something is wrong that no configuration can mend."""
    REJECT = "REJECT"
    """Never run this configuration again (irace's Inf)."""
    NONE = "NONE"
    """It ended without a word about success: not by itself, or without the line that says *solved*."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the target said.

    Numbers are finite and ``time`` is not negative. ``answer`` is ``SAT``, ``UNSAT`` or other text. ``reason`` is set
    unless the claim is SUCCESS.
    """

    claim: Claim
    time: float | None = None
    quality: float | None = None
    answer: str | None = None
    reason: str | None = None


class Dialect(Protocol):
    """One convention of calling and answering.

    ``argv`` raises InputError when the call cannot be put in words (an inactive parameter in the template, a line break
    in an argument). ``read`` never raises: ``exit_code`` is None when a signal ended the target.
    """

    def argv(self, call: Call) -> list[str]: ...
    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply: ...


_ANSWERS = {"SAT": "SAT", "SATISFIABLE": "SAT", "UNSAT": "UNSAT", "UNSATISFIABLE": "UNSAT"}
_CLAIMS = {
    **dict.fromkeys(("SUCCESS", *_ANSWERS), Claim.SUCCESS),
    **dict.fromkeys(("TIMEOUT", "KILLED"), Claim.TIMEOUT),
    **dict.fromkeys(("MEMOUT", "MEMORYOUT"), Claim.MEMOUT),
    "CRASHED": Claim.CRASHED,
    "ABORT": Claim.ABORT,
}


def normal_answer(text: str) -> str:
    """``SAT`` or ``UNSAT`` for every common way to say so (``s SATISFIABLE``, ``sat``, …); any other text, stripped."""
    word = text.strip().removeprefix("s ").strip()
    return _ANSWERS.get(word.upper(), word)


# --- reading: pieces ---


class _Nonsense(Exception):
    """The output cannot mean anything. Never leaves this module."""


def _answer(text: str | None) -> str | None:
    """An answer in normal form that can be stored and shown."""
    if text is None:
        return None
    short = normal_answer(text)[:LONGEST_ANSWER]
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in short)


def _number(value: object, what: str, least: float = -math.inf) -> float:
    """A finite number, at least ``least``, from decimal text or a JSON number."""
    if isinstance(value, str) and len(value) <= 400 and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if not isinstance(value, float):
        raise _Nonsense(f"{what} is {shown(value)}, not a number")
    if not math.isfinite(value) or value < least:
        raise _Nonsense(f"{what} is {value!r}")
    return value + 0.0  # no -0.0


def _time(value: object) -> float | None:
    return None if value is None else _number(value, "time", 0.0)


def _quality(value: object) -> float | None:
    return None if value is None else _number(value, "quality")


def _claim(word: object, misc: str = "") -> Reply:
    """The claim, answer and reason of a status word of any of the tools."""
    key = word.strip().upper() if isinstance(word, str) else ""
    if key not in _CLAIMS:
        raise _Nonsense(f"unknown status {shown(word)}")
    said = f"the target says {key}" + (f": {shown(misc)}" if misc.strip() else "")
    return Reply(_CLAIMS[key], answer=_ANSWERS.get(key), reason=None if _CLAIMS[key] is Claim.SUCCESS else said)


def _lines(text: str) -> list[str]:
    return _LINE_ENDS.split(text)


def _object(text: str) -> dict[str, Any] | None:
    """A JSON object, its numbers all floats (a million digits are inf, not an error); None for anything else."""
    try:
        value = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _first(table: Mapping[str, Any], *keys: str) -> Any:
    return next((table[key] for key in keys if table.get(key) is not None), None)


def _guarded(read: Callable[[], Reply]) -> Reply:
    try:
        return read()
    except _Nonsense as error:
        return Reply(Claim.CRASHED, reason=f"nonsense output: {error}")


def _crashed(what: str, exit_code: int | None) -> Reply:
    end = "ended by a signal" if exit_code is None else f"exit code {exit_code}"
    return Reply(Claim.CRASHED, reason=f"{what} ({end})")


# --- reading: the wrappers' result lines ---

# SMAC2's two expressions and GPS's own. Matched against at most 100 characters, so that blanks cannot make it slow.
_RESULT = re.compile(
    r"Result\s*of\s*(?:this\s*)?[Aa]lgorithm\s*[rR]un"
    r"|(?:Final\s*)?[Rr]esult\s+(?:for|of)\s+(?:HAL|ParamILS|SMAC|this wrapper|(?P<gps>GPS))"
)
_LONGEST_HEAD = 100


def _result_line(line: str) -> Reply | None:
    """The reply in one line of output; None if it is no result line."""
    head, colon, rest = line.partition(":")
    head = head.strip()
    match = _RESULT.fullmatch(head) if colon and len(head) <= _LONGEST_HEAD else None
    if match is None:
        return None
    rest = rest.strip()
    return _json_result(rest) if rest.startswith("{") else _comma_result(rest, gps=match["gps"] is not None)


def _comma_result(text: str, *, gps: bool) -> Reply:
    """``status, runtime, runlength, quality, seed[, misc]``; GPS: ``status, runtime, quality[, misc]``."""
    needed, at = (3, 2) if gps else (5, 3)
    words = text.split(",", needed)
    if len(words) < needed:
        raise _Nonsense(f"a result line has at least {needed} fields, not {shown(text)}")
    said = _claim(words[0], "".join(words[needed:]))
    return replace(said, time=_time(words[1]), quality=_set(_quality(words[at])))


def _json_result(text: str) -> Reply:
    table = _object(text)
    if table is None:
        raise _Nonsense(f"not JSON after 'Result': {shown(text)}")
    misc = table.get("misc")
    said = _claim(table.get("status"), misc if isinstance(misc, str) else "")
    return replace(said, time=_time(table.get("runtime")), quality=_set(_quality(_first(table, "cost", "quality"))))


def _set(quality: float | None) -> float | None:
    return None if quality == _UNSET else quality


def _read_wrapper(stdout: str, exit_code: int | None) -> Reply:
    """All result lines must agree: GenericWrapper4AC prints both forms, and the old one with four decimals."""
    found = [reply for line in _lines(stdout) if (reply := _result_line(line)) is not None]
    if not found:
        return _crashed("no result line in the output", exit_code)
    if not all(_agree(found[0], other) for other in found[1:]):
        raise _Nonsense(f"{len(found)} result lines that contradict each other")
    return found[0]


def _agree(one: Reply, other: Reply) -> bool:
    pairs = ((one.time, other.time), (one.quality, other.quality))
    return (one.claim, one.answer) == (other.claim, other.answer) and all(
        a is None or b is None or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-4) for a, b in pairs
    )


# --- calling: pieces ---


def _decimal(number: float) -> str:
    """Shortest exact decimal form, without an exponent and without ``.0``: shell scripts can read it."""
    return str(int(number)) if number == int(number) else format(Decimal(repr(number)), "f")


def _checked(argv: Sequence[str]) -> list[str]:
    for argument in argv:
        if any(char in argument for char in "\0\n\r"):
            raise InputError(f"an argument with a line break or NUL: {shown(argument)}", hint="rename the instance or value")
    return list(argv)


def _pairs(config: Configuration) -> list[str]:
    return [word for name, value in config.items() for word in (f"-{name}", value_text(value))]


# --- the dialects ---


@dataclass(frozen=True, slots=True)
class _ParamILS:
    def argv(self, call: Call) -> list[str]:
        cutoff = _decimal(call.cutoff) if math.isfinite(call.cutoff) else _NO_CUTOFF
        instance = "0" if call.instance is None else call.instance
        fixed = (instance, call.specific or "0", cutoff, "0", str(call.seed))
        return _checked([*call.target, *fixed, *_pairs(call.config)])

    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        """The exit code says nothing here: GenericWrapper4AC hands its solver's on."""
        return _guarded(lambda: _read_wrapper(stdout, exit_code))


@dataclass(frozen=True, slots=True)
class _AClib(_ParamILS):
    def argv(self, call: Call) -> list[str]:
        cutoff = _decimal(call.cutoff) if math.isfinite(call.cutoff) else _NO_CUTOFF
        instance = "0" if call.instance is None else call.instance
        fixed = ("--instance", instance, "--cutoff", cutoff, "--seed", str(call.seed), "--config")
        return _checked([*call.target, *fixed, *_pairs(call.config)])


@dataclass(frozen=True, slots=True)
class _SMAC3:
    def argv(self, call: Call) -> list[str]:
        """In SMAC3's own order; features as it prints them, in brackets, and empty ones too."""
        given = {"seed": str(call.seed)}
        if call.instance is not None:
            given |= {"instance": call.instance, "instance_features": f"[{','.join(map(repr, call.features))}]"}
        if math.isfinite(call.cutoff):
            given["cutoff"] = _decimal(call.cutoff)
        if taken := sorted({"seed", "instance", "instance_features", "budget", "cutoff"} & set(call.config)):
            raise InputError(f"a parameter cannot be named {taken[0]!r} in the dialect smac3, which passes its own")
        given |= {name: value_text(value) for name, value in call.config.items()}
        return _checked([*call.target, *(f"--{name}={value}" for name, value in given.items())])

    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        return _guarded(lambda: self._read(stdout, exit_code))

    def _read(self, stdout: str, exit_code: int | None) -> Reply:
        tables = (_assignments(line) for line in reversed(_lines(stdout)))
        said = next((table for table in tables if "cost" in table or "status" in table), None)
        if said is None:
            return _crashed("no line 'cost=…; status=…' in the output", exit_code)
        reply = _claim(said.get("status", "SUCCESS"), said.get("additional_info", ""))
        if "cost" not in said and reply.claim is Claim.SUCCESS:
            raise _Nonsense("success without a cost")
        if "," in said.get("cost", ""):
            raise _Nonsense(f"one cost is needed, not several: {shown(said['cost'])}")
        return replace(reply, time=_time(_first(said, "runtime", "cpu_time")), quality=_quality(said.get("cost")))


def _assignments(line: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in line.split(";"))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


@dataclass(frozen=True, slots=True)
class _Irace:
    renderer: Arguments

    def argv(self, call: Call) -> list[str]:
        """Words that follow an instance in its file are arguments of their own, as in irace."""
        instance = "0" if call.instance is None else call.instance
        fixed = [str(call.config_number), str(call.instance_number), str(call.seed), instance, *call.specific.split()]
        bound = [_decimal(call.cutoff)] if math.isfinite(call.cutoff) else []
        return _checked([*call.target, *fixed, *bound, *self.renderer.tokens(call.config)])

    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        """As irace: the whole output is one or two numbers, and the exit code is 0."""
        return _crashed("not a regular end", exit_code) if exit_code else _guarded(lambda: self._read(stdout, exit_code))

    def _read(self, stdout: str, exit_code: int | None) -> Reply:
        words = stdout.split(maxsplit=2)
        if not words:
            return _crashed("no output", exit_code)
        if len(words) > 2:
            raise _Nonsense(f"'cost' or 'cost time' is expected, nothing else: {shown(stdout)}")
        time = _time(words[1]) if len(words) == 2 else None
        if words[0].lower() in ("inf", "+inf", "infinity"):
            return Reply(Claim.REJECT, time, reason="the target rejects this configuration (Inf)")
        return Reply(Claim.SUCCESS, time, _quality(words[0]))


# --- the native dialect ---


@dataclass(frozen=True, slots=True)
class _Native:
    renderer: Arguments
    rules: OutputRules

    def argv(self, call: Call) -> list[str]:
        def fill(match: re.Match[str]) -> str:
            return _placeholder(match[1], call)

        argv: list[str] = []
        for token in call.target:
            argv += self.renderer.tokens(call.config) if token == "{params}" else [_PLACEHOLDER.sub(fill, token)]  # noqa: S105
        return _checked(argv)

    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        return _guarded(lambda: self._end(self._said(stdout, stderr, exit_code), exit_code, _last_words(stdout, stderr)))

    def _end(self, said: Reply, exit_code: int | None, last_words: str) -> Reply:
        """An exit code that means no regular end overrules a claim of success."""
        if said.claim not in (Claim.SUCCESS, Claim.NONE) or exit_code in self.rules.codes:
            return said
        if exit_code is None:
            return replace(said, claim=Claim.NONE, reason="ended by a signal")
        reason = f"exit code {exit_code} is not among {list(self.rules.codes)}{last_words}"
        return replace(said, claim=Claim.CRASHED, reason=reason)

    def _said(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        if self.rules.json:
            return _read_json(stdout, exit_code)
        streams = [[line for line in _lines(text) if len(line) <= LONGEST_LINE] for text in (stdout, stderr)]
        said = Reply(
            Claim.SUCCESS,
            _time(_last(self.rules.time, streams)),
            _quality(_last(self.rules.quality, streams)),
            _answer(_last(self.rules.answer, streams)),
        )
        if self.rules.solved and not any(self.rules.solved.search(line) for lines in streams for line in lines):
            return replace(said, claim=Claim.NONE, reason=f"no line matches solved = {self.rules.solved.pattern!r}")
        return said


def _last_words(stdout: str, stderr: str) -> str:
    """The end of a reason: what a target that failed said last, usually why."""
    said = next((line for text in (stderr, stdout) for line in reversed(_lines(text)) if line.strip()), None)
    return f"; it said {shown(said.strip())}" if said else ""


def _placeholder(word: str, call: Call) -> str:
    match word:
        case "instance" if call.instance is not None:
            return call.instance
        case "seed":
            return str(call.seed)
        case "cutoff" if math.isfinite(call.cutoff):
            return _decimal(call.cutoff)
        case "instance" | "cutoff":
            raise InputError(f"{{{word}}} stands in the target, but this run has none", hint=f"set {word}, or drop it")
    name = word.removeprefix("config.")
    if name == word:
        raise InputError(f"the placeholder {{{word}}} cannot be filled in here")
    if name not in call.config:
        hint = "use {params}, or a template in [arguments], for parameters that can be inactive"
        raise InputError(f"{{{word}}} stands in the target, but {name} is inactive in this configuration", hint=hint)
    return value_text(call.config[name])


def _last(pattern: re.Pattern[str] | None, streams: list[list[str]]) -> str | None:
    """What the pattern captured last, in the first stream that has it."""
    if pattern is None:
        return None
    for lines in streams:
        for line in reversed(lines):
            if found := [match[1] for match in pattern.finditer(line) if match[1] is not None]:
                return str(found[-1])
    return None


def _read_json(stdout: str, exit_code: int | None) -> Reply:
    starts = (line.strip() for line in reversed(_lines(stdout)))
    table = next((found for line in starts if line.startswith("{") and (found := _object(line)) is not None), None)
    if table is None:
        return _crashed("no JSON object on a line of the output", exit_code)
    said = _claim(table.get("status", "SUCCESS"))
    answer = table.get("answer") if table.get("answer") is not None else said.answer
    if not isinstance(answer, str | None):
        raise _Nonsense(f"answer is {shown(answer)}, not text")
    return replace(
        said,
        time=_time(_first(table, "time", "steps", "runtime")),
        quality=_quality(_first(table, "quality", "cost")),
        answer=_answer(answer),
    )


# --- by name ---


def make_dialect(name: str, renderer: Arguments, output: OutputRules | None = None) -> Dialect:
    """The dialect of that name. InputError for an unknown one, and for rules of output where the dialect has its own."""
    known: Mapping[str, Callable[[], Dialect]] = {
        "native": lambda: _Native(renderer, output or OutputRules()),
        "paramils": _ParamILS,
        "aclib": _AClib,
        "smac3": _SMAC3,
        "irace": lambda: _Irace(renderer),
    }
    if name not in known:
        raise InputError(f"unknown dialect {name!r}", hint=did_you_mean(name, known) or f"known are {', '.join(known)}")
    if name != "native" and output not in (None, OutputRules()):
        raise InputError(f"rules for the output have no meaning in the dialect {name}, which fixes it")
    return known[name]()
