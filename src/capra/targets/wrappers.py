"""The dialects of other configurators' wrappers: ParamILS and SMAC2, AClib2, SMAC3, irace. ``dialects`` lists them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from capra.errors import InputError, shown
from capra.runs import Configuration
from capra.space.arguments import Arguments, value_text
from capra.targets.exchange import (
    Call,
    Claim,
    Nonsense,
    Reply,
    checked,
    crashed,
    decimal,
    first_of,
    guarded,
    json_object,
    lines_of,
    read_claim,
    read_quality,
    read_time,
    with_numbers,
)

__all__ = ["SMAC3", "AClib", "Irace", "ParamILS"]

_NO_CUTOFF = "99999999999999"  # what SMAC hands a wrapper that must be given a number
_UNSET = 2.0**32 - 1  # GenericWrapper4AC's quality when there is none


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
        raise Nonsense(f"a result line has at least {needed} fields, not {shown(text)}")
    said = read_claim(words[0], "".join(words[needed:]))
    return _set(with_numbers(said, words[1], words[at]))


def _json_result(text: str) -> Reply:
    table = json_object(text)
    if table is None:
        raise Nonsense(f"not JSON after 'Result': {shown(text)}")
    misc = table.get("misc")
    said = read_claim(table.get("status"), misc if isinstance(misc, str) else "")
    return _set(with_numbers(said, table.get("runtime"), first_of(table, "cost", "quality")))


def _set(said: Reply) -> Reply:
    return replace(said, quality=None) if said.quality == _UNSET else said


def _read_wrapper(stdout: str, exit_code: int | None) -> Reply:
    """All result lines must agree: GenericWrapper4AC prints both forms, and the old one with four decimals."""
    found = [reply for line in lines_of(stdout) if (reply := _result_line(line)) is not None]
    if not found:
        return crashed("no result line in the output", exit_code)
    if not all(_agree(found[0], other) for other in found[1:]):
        raise Nonsense(f"{len(found)} result lines that contradict each other")
    return found[0]


def _agree(one: Reply, other: Reply) -> bool:
    pairs = ((one.time, other.time), (one.quality, other.quality))
    return (one.claim, one.answer) == (other.claim, other.answer) and all(
        a is None or b is None or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-4) for a, b in pairs
    )


# --- the dialects ---


def _pairs(config: Configuration) -> list[str]:
    return [word for name, value in config.items() for word in (f"-{name}", value_text(value))]


@dataclass(frozen=True, slots=True)
class ParamILS:
    """The call of ParamILS and SMAC2, and result lines."""

    def argv(self, call: Call) -> list[str]:
        cutoff = decimal(call.cutoff) if math.isfinite(call.cutoff) else _NO_CUTOFF
        instance = "0" if call.instance is None else call.instance
        fixed = (instance, call.specific or "0", cutoff, "0", str(call.seed))
        return checked([*call.target, *fixed, *_pairs(call.config)])

    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        """The exit code says nothing here: GenericWrapper4AC hands its solver's on."""
        return guarded(lambda: _read_wrapper(stdout, exit_code))


@dataclass(frozen=True, slots=True)
class AClib(ParamILS):
    """AClib2's call with ``--config``, and result lines."""

    def argv(self, call: Call) -> list[str]:
        cutoff = decimal(call.cutoff) if math.isfinite(call.cutoff) else _NO_CUTOFF
        instance = "0" if call.instance is None else call.instance
        fixed = ("--instance", instance, "--cutoff", cutoff, "--seed", str(call.seed), "--config")
        return checked([*call.target, *fixed, *_pairs(call.config)])


@dataclass(frozen=True, slots=True)
class SMAC3:
    """SMAC3's call of scripts, and its assignments."""

    def argv(self, call: Call) -> list[str]:
        """In SMAC3's own order; features as it prints them, in brackets, and empty ones too."""
        given = {"seed": str(call.seed)}
        if call.instance is not None:
            given |= {"instance": call.instance, "instance_features": f"[{','.join(map(repr, call.features))}]"}
        if math.isfinite(call.cutoff):
            given["cutoff"] = decimal(call.cutoff)
        if taken := sorted({"seed", "instance", "instance_features", "budget", "cutoff"} & set(call.config)):
            raise InputError(f"a parameter cannot be named {taken[0]!r} in the dialect smac3, which passes its own")
        given |= {name: str(value) for name, value in call.config.items()}  # True and False in capitals, as SMAC3 has them
        return checked([*call.target, *(f"--{name}={value}" for name, value in given.items())])

    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        return guarded(lambda: self._read(stdout, exit_code))

    def _read(self, stdout: str, exit_code: int | None) -> Reply:
        said = _assignments(stdout)
        if "cost" not in said and "status" not in said:
            return crashed("no 'cost=…; status=…' in the output", exit_code)
        reply = read_claim(said.get("status", "SUCCESS"), said.get("additional_info", ""))
        if reply.claim is Claim.SUCCESS and "cost" not in said:
            raise Nonsense("success without a cost")
        if reply.claim is Claim.SUCCESS and "," in said["cost"]:
            raise Nonsense(f"one cost is needed, not several: {shown(said['cost'])}")
        return with_numbers(reply, first_of(said, "runtime", "cpu_time"), said.get("cost"))


def _assignments(text: str) -> dict[str, str]:
    """All assignments of an output, on one line or on several; the last one of a name counts."""
    pairs = (part.partition("=") for line in lines_of(text) for part in line.split(";"))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


@dataclass(frozen=True, slots=True)
class Irace:
    """The call of irace's target-runner, and its one or two numbers."""

    renderer: Arguments

    def argv(self, call: Call) -> list[str]:
        """As irace pastes its command line: words that follow an instance in its file are arguments of their own."""
        instance = "0" if call.instance is None else call.instance
        fixed = [str(call.config_number), str(call.instance_number), str(call.seed), instance, *call.specific.split()]
        bound = [decimal(call.cutoff)] if math.isfinite(call.cutoff) else []
        return checked([*call.target, *fixed, *bound, *self.renderer.pasted(call.config)])

    def read(self, stdout: str, stderr: str, exit_code: int | None) -> Reply:
        """As irace: the whole output is one or two numbers, and the exit code is 0."""
        return crashed("not a regular end", exit_code) if exit_code else guarded(lambda: self._read(stdout, exit_code))

    def _read(self, stdout: str, exit_code: int | None) -> Reply:
        words = stdout.split(maxsplit=2)
        if not words:
            return crashed("no output", exit_code)
        if len(words) > 2:
            raise Nonsense(f"'cost' or 'cost time' is expected, nothing else: {shown(stdout)}")
        time = read_time(words[1]) if len(words) == 2 else None
        if words[0].lower() in ("inf", "+inf", "infinity"):
            return Reply(Claim.REJECT, time, reason="the target rejects this configuration (Inf)")
        return Reply(Claim.SUCCESS, time, read_quality(words[0]))
