"""irace 3 itself reads what we write for it, and means the same by it."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from capra.errors import SpaceError
from capra.runs import Configuration
from capra.space import And, Apply, Categorical, Compare, Integer, Literal, Member, Name, Or, Ordinal, Real, Space, equals
from capra.space.files import read_space
from capra.space.irace import irace3_forbidden, irace_digits, irace_names, write_irace, write_irace3

READ = """
suppressPackageStartupMessages(library(irace))
given <- commandArgs(trailingOnly = TRUE)
parameters <- readParameters(given[1], digits = as.integer(given[2]))
cat(parameters$names, sep = "\\t"); cat("\\n")
cat(parameters$switches, sep = "\\t"); cat("\\n")
rows <- read.table(given[4], header = TRUE, sep = "\\t", check.names = FALSE, colClasses = ifelse(
  parameters$types %in% c("i", "r"), "numeric", "character"), quote = "", comment.char = "")
holds <- function(expression, row) isTRUE(eval(expression, row))
clauses <- if (file.size(given[3]) > 0) parse(given[3]) else expression()
for (i in seq_len(nrow(rows))) {
  row <- as.list(rows[i, , drop = FALSE])
  active <- vapply(parameters$names, function(name) holds(parameters$conditions[[name]], row), TRUE)
  cat(as.integer(c(any(vapply(clauses, holds, TRUE, row = row)), active)), sep = "\\t"); cat("\\n")
}
"""


@cache
def reason() -> str | None:
    """Why the oracle cannot be asked, if it cannot."""
    if shutil.which("Rscript") is None:
        return "no Rscript: irace cannot be asked (apt-get install r-cran-irace)"
    code = 'quit(status = !(requireNamespace("irace", quietly = TRUE) && packageVersion("irace") < "4"))'
    if subprocess.run(["Rscript", "-e", code], check=False, capture_output=True, timeout=60).returncode:
        return "no irace 3 in R: it cannot be asked (apt-get install r-cran-irace)"
    return None


@pytest.fixture(autouse=True)
def _irace() -> None:
    if (why := reason()) is not None:
        pytest.skip(why)


def every_kind() -> Space:
    return Space(
        [
            Categorical("sp-mode", ("a b", "x,y", "(z)", "3"), "3"),
            Ordinal("level", ("low", "middle", "high"), "low"),
            Integer("n-steps", 1, 1000, 10, log=True),
            Integer("shift", -5, 5, 0),
            Real("rate", 1e-6, 0.1, 0.01, log=True),
            Real("share", 0.0, 1.0, 0.5),
            Categorical("constant", ("only",), "only"),
        ],
        {
            "n-steps": Member("sp-mode", ("x,y", "3")),
            "rate": And((Compare("<=", Name("n-steps"), Literal(500)), Compare("!=", Name("level"), Literal("high")))),
            "share": Or((equals("sp-mode", "(z)"), Compare(">", Name("shift"), Literal(0)))),
        },
        [
            And((equals("sp-mode", "a b"), Compare("<", Apply("^", (Literal(-2), Name("shift"))), Literal(-3)))),
            Compare(">", Apply("ceil", (Apply("*", (Name("share"), Literal(10))),)), Literal(8)),
            Compare("==", Apply("%", (Name("shift"), Literal(4))), Literal(3)),
            Compare(">", Apply("max", (Apply("log10", (Name("n-steps"),)), Apply("abs", (Name("shift"),)))), Literal(4)),
        ],
    )


def drawn(space: Space, n: int) -> list[Configuration]:
    """Configurations of the space as if nothing were forbidden."""
    free = Space(space.parameters.values(), space.conditions)
    return free.decode(free.sample(n, np.random.default_rng(0)))


def is_forbidden(space: Space, config: Configuration) -> bool:
    try:
        space.configuration(config)
    except SpaceError:
        return True
    return False


def asked(space: Space, configs: list[Configuration], folder: Path) -> list[list[str]]:
    """Names, switches, and for each configuration whether it is forbidden and which parameters are active."""
    files = [folder / name for name in ("parameters.txt", "forbidden.txt", "rows.txt", "read.R")]
    rows = ["\t".join(str(config.get(name, "NA")) for name in space.names) for config in configs]
    texts = [write_irace3(space), irace3_forbidden(space), "\n".join(["\t".join(irace_names(space).values()), *rows]), READ]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    parameters, forbidden, table, script = map(str, files)
    argv = ["Rscript", script, parameters, str(irace_digits(space)), forbidden, table]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def check(space: Space, folder: Path) -> None:
    configs = drawn(space, 150)
    names, switches, *answers = asked(space, configs, folder)
    assert names == list(irace_names(space).values())
    assert switches == [f"--{name}=" for name in space.names]
    ours = [[is_forbidden(space, config), *(name in config for name in space.names)] for config in configs]
    assert [[bool(int(word)) for word in answer] for answer in answers] == ours


def test_irace_means_the_same_by_every_kind(tmp_path: Path) -> None:
    configs = drawn(every_kind(), 150)
    assert 20 < sum(is_forbidden(every_kind(), config) for config in configs) < 130
    check(every_kind(), tmp_path)


@pytest.mark.parametrize("name", ["aclib/spear.pcs", "solvers/clasp-trendy.pcs"])
def test_irace_means_the_same_by_a_real_space(shared_data: Path, tmp_path: Path, name: str) -> None:
    check(read_space(shared_data / name), tmp_path)


def test_irace_3_refuses_sections(tmp_path: Path) -> None:
    """Why there are two formats."""
    (tmp_path / "parameters.txt").write_text(write_irace(every_kind()))
    code = f"irace::readParameters({str(tmp_path / 'parameters.txt')!r}, digits = 6)"
    done = subprocess.run(["Rscript", "-e", code], check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode != 0
    assert "[forbidden]" in done.stderr
