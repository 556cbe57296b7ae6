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

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from capra.errors import InputError, did_you_mean, shown
from capra.formats.output import OutputRules
from capra.space.arguments import Arguments, value_text
from capra.targets.exchange import (
    Call,
    Claim,
    Dialect,
    Nonsense,
    Reply,
    checked,
    crashed,
    decimal,
    first_of,
    guarded,
    json_object,
    lines_of,
    normal_answer,
    read_claim,
    read_quality,
    read_time,
    short_answer,
    with_numbers,
)
from capra.targets.wrappers import SMAC3, AClib, Irace, ParamILS

__all__ = ["Call", "Claim", "Dialect", "OutputRules", "Reply", "make_dialect", "normal_answer"]

LONGEST_LINE = 10_000
"""Longer lines are not matched against patterns."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


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
        return checked(argv)

    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        return guarded(lambda: self._end(self._said(stdout, stderr, exit_code), exit_code, _last_words(stdout, stderr)))

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
        streams = [[line for line in lines_of(text) if len(line) <= LONGEST_LINE] for text in (stdout, stderr)]
        said = Reply(
            Claim.SUCCESS,
            read_time(_last(self.rules.time, streams)),
            read_quality(_last(self.rules.quality, streams)),
            short_answer(_last(self.rules.answer, streams)),
        )
        if self.rules.solved and not any(self.rules.solved.search(line) for lines in streams for line in lines):
            return replace(said, claim=Claim.NONE, reason=f"no line matches solved = {self.rules.solved.pattern!r}")
        return said


def _last_words(stdout: str, stderr: str) -> str:
    """The end of a reason: what a target that failed said last, usually why."""
    said = next((line for text in (stderr, stdout) for line in reversed(lines_of(text)) if line.strip()), None)
    return f"; it said {shown(said.strip())}" if said else ""


def _placeholder(word: str, call: Call) -> str:
    match word:
        case "instance" if call.instance is not None:
            return call.instance
        case "seed":
            return str(call.seed)
        case "cutoff" if math.isfinite(call.cutoff):
            return decimal(call.cutoff)
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
    starts = (line.strip() for line in reversed(lines_of(stdout)))
    table = next((found for line in starts if line.startswith("{") and (found := json_object(line)) is not None), None)
    if table is None:
        return crashed("no JSON object on a line of the output", exit_code)
    said = read_claim(table.get("status", "SUCCESS"))
    answer = table.get("answer") if table.get("answer") is not None else said.answer
    if not isinstance(answer, str | None):
        raise Nonsense(f"answer is {shown(answer)}, not text")
    said = with_numbers(said, first_of(table, "time", "steps", "runtime"), first_of(table, "quality", "cost"))
    return replace(said, answer=short_answer(answer))


def make_dialect(name: str, renderer: Arguments, output: OutputRules | None = None) -> Dialect:
    """The dialect of that name. InputError for an unknown one, and for rules of output where the dialect has its own."""
    known: Mapping[str, Callable[[], Dialect]] = {
        "native": lambda: _Native(renderer, output or OutputRules()),
        "paramils": ParamILS,
        "aclib": AClib,
        "smac3": SMAC3,
        "irace": lambda: Irace(renderer),
    }
    if name not in known:
        raise InputError(f"unknown dialect {name!r}", hint=did_you_mean(name, known) or f"known are {', '.join(known)}")
    if name != "native" and output not in (None, OutputRules()):
        raise InputError(f"rules for the output have no meaning in the dialect {name}, which fixes it")
    return known[name]()
