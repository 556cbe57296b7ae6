"""Every block of code in every page is run, or says why not.

Commands are typed as they stand, page by page, in a folder that has what the page takes for granted. Those that would take too long, never
end or need another machine are parsed all the same; `pytest -rP` prints why they were not run.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.docs.test_pages import ROOT
from tests.test_benchmarks import parse as parse_benchmark
from typer.main import get_command

from capra.cli import app
from capra.scenario import Scenario

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "examples/*/README.md")
    for path in ROOT.glob(pattern)
)
HERE = (
    "README.md",
    "docs/features.md",
    "docs/migrate-smac.md",
    "docs/migrate-irace.md",
    "docs/portfolios.md",
    "docs/report.md",
)
TYPED = (*HERE, *(page for page in PAGES if page.startswith("examples/")))
"""Pages whose commands are run by this file."""
ELSEWHERE = {
    "docs/tutorial.md": "test_tutorial.py",
    "docs/analysis.md": "test_analysis.py",
    "docs/report.md": "test_report.py",
}
ELSEWHERE |= {"docs/classics.md": "test_classics.py", "docs/clusters.md": "../test_clusters.py"}
SMALLER = {
    "--set rounds=3": "--set rounds=1 --strategy roar",
    "--builder hydra": "--builder hydra --set rounds=1 --strategy roar",
    "mix 300s": "mix 3s",
    "lesson.py lesson": "lesson.py lesson 1",
    "validate runs/cbc": "validate runs/cbc --seeds 1",
    "validate runs/walksat": "validate runs/walksat --seeds 1",
    "check scenario.txt": "check scenario.txt || test $? = 3",  # wrappers with wall limits of their own give up on a busy machine
    "smac-scenario.txt scenario.toml": "smac-scenario.txt smac.toml",
}
"""What is typed instead, so that a test takes seconds."""
NOT_RUN = {
    r"^make ": "sets up, tests or builds the whole project",
    r"^\. \.venv": "the environment that make setup has made",
    r"^capra demo": "takes minutes; tests/test_cli.py runs it small",
    r"^capra (tune|validate) clasp-demo|^capra check clasp-demo": "follows the demo",
    r"^capra portfolio": "takes a tuning for each member; tests/portfolio builds small ones",
    r"^capra serve": "never ends; tests/report starts it",
    r"^capra init": "asks questions; tests/test_cli.py answers them",
    r"^capra select": "needs ASlib's scenarios",
    r"tcp://": "needs a cluster; tests/test_clusters.py has one",
    r"--local \d": "starts a cluster; tests/test_clusters.py does",
    r"^(taskset .*)?python -m benchmarks": "takes minutes to hours; its words are parsed",
    r"^(apt-get|pip) ": "changes the machine",
}
PROGRAMS = {"examples/minisat/README.md": "minisat", "examples/cbc/README.md": "cbc", "examples/compiler/README.md": "g++"}


class Block(NamedTuple):
    page: str
    language: str
    text: str


def blocks_of(page: str) -> list[Block]:
    found = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    return [Block(page, language, text) for language, text in found]


def lines_of(block: Block) -> Iterator[str]:
    """The commands of a block: after `$ ` on a console, every line of a shell's."""
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        typed = line.removeprefix("$ ") if block.language != "sh" else line
        if (typed != line or block.language == "sh" or line.startswith("python -m")) and not typed.startswith("#"):
            yield re.sub(r"\s+# .*$", "", typed).strip()


def commands_of(page: str) -> list[str]:
    shell = [line for block in blocks_of(page) if block.language in ("console", "sh", "") for line in lines_of(block)]
    indented = re.findall(r"(?<=\n    )capra .*", (ROOT / page).read_text())
    return [line for line in (*shell, *indented) if line and not line.startswith("#!")]


def why_not(line: str) -> str | None:
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, line)), None)


# --- every command can be parsed ---


def parse_capra(words: list[str]) -> None:
    """A usage error for what the command line would refuse."""
    command: Any = get_command(app)
    context, name = None, "capra"
    while hasattr(command, "resolve_command"):
        context = command.make_context(name, words, parent=context)
        words = [*context._protected_args, *context.args]
        if not words:
            return  # capra --version
        name, command, words = command.resolve_command(context, words)
    command.make_context(name, words, parent=context)


def simple_commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a line, without what stands before `python`, and without files to write to."""
    lexer = shlex.shlex(re.sub(r"> \S+", "", line), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    for is_mark, group in groupby(lexer, key=lambda word: set(word) <= set(";|&")):
        words = list(group)
        if not is_mark:
            yield words[words.index("python") if "python" in words else 0 :]


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)])
def test_commands_are_understood(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for line in commands_of(page):
        if page == "docs/clusters.md" and re.match(r"(trap|wait|source|export|\w+=)", line):
            continue  # of the batch script, which bash reads below
        for words in simple_commands(line):
            if words[:1] == ["capra"]:
                parse_capra(words[1:])
            elif words[:2] == ["python", "-m"] and words[2].startswith("benchmarks."):
                parse_benchmark(shlex.join([words[2].removeprefix("benchmarks."), *words[3:]]).replace("'", ""), monkeypatch)
    for block in blocks_of(page):
        if block.language == "sh":
            subprocess.run(["bash", "-n"], input=block.text, text=True, check=True, timeout=60)


def test_a_command_that_is_wrong_is_found() -> None:
    for wrong in ("nonsense", "tune --no-such-option", "portfolio nonsense"):
        with pytest.raises(Exception, match=r"(?i)no such"):  # typer has a click of its own, or not: the class depends on it
            parse_capra(wrong.split())


# --- commands are run ---


def example_folder(place: Path) -> None:
    shutil.copytree(ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for file in place.rglob("scenario.*"):  # a few runs are enough
        text = re.sub(r"(cpu|wall) = .*", "runs = 12", file.read_text())
        text = re.sub(r"tuner_timeout = .*", "runcount_limit = 12", text)
        file.write_text(re.sub(r"maxTime = .*", "maxExperiments = 12", text))


def small_project(place: Path) -> None:
    """What the README takes for granted: a scenario, some files of other tools, two finished tunings, formulas."""
    example_folder(place)
    for name in ("scenario.toml", "walksat.py", "parameters.pcs"):
        shutil.copy(place / "examples/python-function" / name, place / name)
    shutil.copy(place / "parameters.pcs", place / "params.pcs")
    for name in ("scenario.txt", "wrapper.py", "instances.txt", "instances"):
        (shutil.copytree if name == "instances" else shutil.copy)(place / "examples/aclib-wrapper" / name, place / name)
    shutil.copy(place / "scenario.txt", place / "smac-scenario.txt")
    formulas(place / "instances" / "train")


def formulas(folder: Path) -> None:
    from capra.demo.quasigroup import quasigroup_cnf, with_holes

    folder.mkdir(parents=True)
    for seed in (100, 101):
        (folder / f"qwh-30-{seed}.cnf").write_text(quasigroup_cnf(with_holes(order=30, holes=378, seed=seed)))


def typed(page: str) -> str:
    """The commands of a page as one script, so that `cd` stays; what is not run is printed."""
    script = ["set -e -o pipefail"]
    for line in commands_of(page):
        if why := why_not(line):
            print(f"{page}: not run: {line}: {why}")  # noqa: T201 (seen with -rP)
            continue
        for large, small in SMALLER.items():
            line = line.replace(large, small)
        script += [f"echo {shlex.quote('$ ' + line)}", line]
    return "\n".join(script) + "\n"


@pytest.mark.parametrize("page", TYPED)
def test_commands_run(page: str, tmp_path: Path) -> None:
    if page in PROGRAMS and not shutil.which(PROGRAMS[page]):
        pytest.skip(f"{PROGRAMS[page]} is not installed here")
    (small_project if page in HERE and "migrate" not in page else example_folder)(tmp_path)
    if page == "docs/report.md":
        subprocess.run(
            [sys.executable, "-m", "capra", "tune", "scenario.toml", "--out", "runs/first"], cwd=tmp_path, check=True
        )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", typed(page)],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_every_page_with_commands_is_run_somewhere() -> None:
    """Pages that are not must have a reason for every one of their commands."""
    for page in PAGES:
        if page not in TYPED and page not in ELSEWHERE:
            for line in commands_of(page):
                assert why_not(line) or f"\n    {line}" in (ROOT / page).read_text(), f"{page}: {line}"


# --- Python, TOML and JSON ---


def test_python_is_run_by_somebody() -> None:
    """A page's Python is run here if it needs nothing, else by the test that names it."""
    tests = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    for page in PAGES:
        for block in blocks_of(page):
            if block.language == "py":
                ast.parse(block.text)
                print(f"{page}: only parsed, because it needs another machine: {block.text.splitlines()[0]}")  # noqa: T201
            elif block.language == "python" and page not in HERE:
                assert any(f'"{page}"' in text and '"python"' in text for text in tests.values()) or page in ELSEWHERE, page


@pytest.mark.parametrize(
    "page", [p for p in HERE if p != "README.md" and [b for b in blocks_of(p) if b.language == "python"]]
)
def test_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks_of(page):
        if block.language == "python":
            exec(compile(block.text, page, "exec"), names)  # noqa: S102 (our own page)


BASE = {
    "target": ["minisat", "{params}", "{instance}"], "space": "minisat.pcs", "instances": "cnf/*.cnf", "split": 0.5, "cutoff": 10,
}  # fmt: skip
"""What a block that shows a few options leaves out."""


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p != "docs/tutorial.md" and [b for b in blocks_of(p) if b.language == "toml"]]
)
def test_toml_is_a_scenario(page: str, tmp_path: Path) -> None:
    parameters = ("restarts {no, luby} [no]", "base [1, 9] [2]", "verbose {a, b} [a]", "luby {on, off} [on]")
    (tmp_path / "minisat.pcs").write_text("\n".join(parameters) + "\n")
    (tmp_path / "cnf").mkdir()
    for name in "abcd":
        (tmp_path / "cnf" / f"{name}.cnf").write_text("p cnf 1 1\n1 0\n")
    for number, block in enumerate(block for block in blocks_of(page) if block.language == "toml"):
        given = tomllib.loads(block.text)
        rest = "".join(f"{key} = {json.dumps(value)}\n" for key, value in BASE.items() if key not in given)
        file = tmp_path / f"{number}.toml"
        file.write_text(rest + block.text)
        assert Scenario.load(file).cutoff > 0
