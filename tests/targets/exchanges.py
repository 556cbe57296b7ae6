"""One call and one reply in any dialect, for tests."""

from __future__ import annotations

from capra.runs import Configuration
from capra.space.arguments import Arguments
from capra.targets.dialects import Call, Claim, OutputRules, Reply, make_dialect

NASTY = "a b;touch pwned $(id).cnf"
CONFIG = Configuration({"heuristic": "vsids", "decay": 0.95, "keep": True, "n": 3})
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
