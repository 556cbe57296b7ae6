"""The rules of the house: who may import whom, what is public, what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import capra

PACKAGE = Path(capra.__file__).parent
LAYERS = {
    # part: the parts of ours it may import
    "errors": set(),
    "runs": {"errors", "_rows"},
    "models": {"errors", "_kernels"},
    "space": {"errors", "runs", "space", "formats", "_kernels"},
    "formats": {"errors", "runs", "space", "formats", "scenario", "_cnf"},
    "scenario": {"errors", "runs", "space", "formats"},
    "targets": {"errors", "runs", "space", "formats", "scenario", "models", "_kernels"},
    "engines": {"errors", "runs", "formats", "scenario", "targets"},
    "portfolio": {"errors", "formats", "models", "runs", "scenario", "search", "space", "strategies"},
    "search": {"errors", "runs", "space", "models", "_kernels"},
    "minimize": {"errors", "runs", "space", "search"},
    "strategies": {"errors", "runs", "scenario", "space", "models", "search", "_guarantees"},
    "keeper": {"errors", "runs"},
    "budget": {"runs", "scenario"},
    "breaker": {"runs"},
    "repeats": {"errors", "runs"},
    "features": {"errors", "formats", "scenario", "targets"},
    "folder": {"", "engines", "errors", "formats", "runs", "scenario"},
    "intake": {"errors", "folder", "runs", "scenario"},
    "warmstart": {"errors", "folder", "formats", "intake", "runs", "scenario", "search"},
    "loop": {
        "breaker", "budget", "engines", "errors", "folder", "keeper", "repeats", "report", "runs", "scenario", "strategies"
    },
}  # fmt: skip
WATCHES = {"report/console.py", "analysis/ablation.py"}
"""Who may know a tuning that is under way: the live terminal, and ablation, which makes runs of its own."""
HEAVY = {"scipy", "ConfigSpace", "sklearn", "pandas", "matplotlib", "optuna", "distributed"}


def imports(path: Path) -> set[str]:
    """Parts of capra that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "capra":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {(alias.name + ".").split(".")[1] for alias in node.names if alias.name.split(".")[0] == "capra"}
    return found


@pytest.mark.parametrize("part", LAYERS)
def test_parts_import_only_what_they_may(part: str) -> None:
    files = [PACKAGE / f"{part}.py"] if (PACKAGE / f"{part}.py").exists() else sorted((PACKAGE / part).rglob("*.py"))
    assert files
    for file in files:
        assert imports(file) <= LAYERS[part] | {part}, file


def test_analyses_and_reports_read_what_is_stored() -> None:
    files = [file for part in ("analysis", "report") for file in (PACKAGE / part).rglob("*.py")]
    watching = {str(file.relative_to(PACKAGE)) for file in files if imports(file) & {"loop", "engines", "keeper", "budget"}}
    assert watching == WATCHES


def test_only_formats_text_below_space() -> None:
    """``space`` reads files with ``formats.text``; the rest of ``formats`` stands above it."""
    for file in (PACKAGE / "space").rglob("*.py"):
        lines = [line for line in file.read_text().splitlines() if "capra.formats" in line]
        assert all("capra.formats.text" in line for line in lines), file


def test_public_names() -> None:
    assert len(set(capra.__all__)) == len(capra.__all__)
    for name in capra.__all__:
        assert getattr(capra, name) is not None
    public = {name for name in vars(capra) if not name.startswith("_")}
    modules = {name for name in public if isinstance(getattr(capra, name), type(sys))}
    assert public - modules == {name for name in capra.__all__ if not name.startswith("_")}


def loaded_by(code: str) -> set[str]:
    """Packages that a new Python has loaded at the end of ``code``, whatever that printed."""
    last = "import sys; print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    ran = subprocess.run([sys.executable, "-c", f"{code}\n{last}"], capture_output=True, text=True, check=True)
    found = set(ran.stdout.splitlines()[-1].split())
    assert "capra" in found
    return found


def test_import_loads_nothing_heavy() -> None:
    assert not (HEAVY | {"typer", "rich"}) & loaded_by("import capra")


def test_models_are_loaded_by_who_fits_one() -> None:
    """A portfolio at work pays for every import with its user's time; a status is asked for in a loop."""
    parts = ("build", "deploy", "evaluate", "models", "overview", "portfolio", "rehearse")
    assert not HEAVY & loaded_by("import " + ", ".join(f"capra.{part}" for part in parts))


@pytest.mark.parametrize("words", ["--help", "portfolio run --help", "status nowhere"])
def test_commands_load_nothing_heavy(words: str) -> None:
    run = f"import sys; sys.argv = {['capra', *words.split()]}\nfrom capra.cli import main"
    assert not HEAVY & loaded_by(f"{run}\ntry:\n    main()\nexcept SystemExit:\n    pass")


def test_no_dangerous_calls() -> None:
    """No eval, exec, pickle, or shell in the package: what comes from elsewhere stays data."""
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec"), file
            if isinstance(node, ast.keyword) and node.arg == "shell":
                assert ast.unparse(node.value) == "False", file
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"pickle", "marshal", "shelve"}, file
