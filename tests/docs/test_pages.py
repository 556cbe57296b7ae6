"""What the documentation says is what the code does."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest

from capra.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_the_option_table_is_the_declaration() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_formats.py"))
    page = (ROOT / "docs" / "formats.md").read_text()
    assert made["updated"](page) == page, "run: python docs/make_formats.py"


def test_the_version_is_the_same_everywhere() -> None:
    from capra import __version__

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    released = re.findall(r"^## (\d\S+) - ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released[0] == __version__


def test_the_commands_page_is_the_declaration() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_commands.py"))
    page = (ROOT / "docs" / "commands.md").read_text()
    assert "capra portfolio run PORTFOLIO INSTANCE" in page
    assert made["updated"](page) == page, "run: python docs/make_commands.py"


@pytest.mark.parametrize("page", ["README.md", "docs/formats.md"])
def test_scenarios_in_the_pages_load(page: str, tmp_path: Path) -> None:
    (tmp_path / "minisat.pcs").write_text("luby categorical {on, off} [on]\n")
    (tmp_path / "cnf").mkdir()
    for name in "abcd":
        (tmp_path / "cnf" / f"{name}.cnf").write_text("p cnf 1 1\n1 0\n")
    text = blocks(page, "toml")[0]
    (tmp_path / "scenario.toml").write_text(text)
    scenario = Scenario.load(tmp_path / "scenario.toml")
    assert scenario.budget.cpu == 7200.0
    for block in blocks(page, "toml"):
        tomllib.loads(block)


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parameters.pcs").write_text("alpha real [0, 1] [0.5]\nmode categorical {fast, safe} [fast]\n")
    names: dict[str, Any] = {}
    for code in blocks("README.md", "python"):
        exec(compile(code, "README.md", "exec"), names)  # noqa: S102 (our own page)
    assert len(names["rows"]) == 10_000
    assert names["result"].cost < names["result"].default_cost


def test_links_point_to_files() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_page_is_in_the_readme() -> None:
    linked = {link.partition("#")[0] for link in re.findall(r"\]\(([^):]+)\)", (ROOT / "README.md").read_text())}
    assert {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")} <= linked


def test_what_the_pages_import_is_in_the_reference() -> None:
    listed = set(re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE))
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for code in blocks(page.relative_to(ROOT).as_posix(), "python"):
            for module, names in re.findall(r"^from (capra\S*) import (.*)$", code, re.MULTILINE):
                for name in names.split(", "):
                    found = {module, f"{module}.{name}", f"capra.{name}"} & listed
                    assert found or module.startswith("capra.demo"), f"{page.name}: {module}.{name}"


def test_names_in_the_reference_can_be_imported_as_it_says() -> None:
    import capra

    page = (ROOT / "docs" / "api.md").read_text()
    for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last) or import_module(name), name
        hidden = module.count(".") == 1 and callable(getattr(capra, module.partition(".")[2], None))
        assert not hidden or f"`{module}`" in page, f"{module} is a function"


def test_what_the_pages_call_by_its_whole_name_is_there_after_import_capra() -> None:
    texts = [(ROOT / page).read_text() for page in ("README.md", "docs/analysis.md", "docs/api.md", "docs/faq.md")]
    names = {name for text in texts for name in re.findall(r"\b(capra(?:\.\w+)+)\(", text)}
    assert "capra.tune" in names
    code = "import capra\n" + "\n".join(sorted(names))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr == ""


def test_the_table_of_the_targets_page_can_be_tuned() -> None:
    import capra

    names: dict[str, Any] = {}
    (code,) = blocks("docs/targets.md", "python")
    exec(compile(code, "docs/targets.md", "exec"), names)  # noqa: S102 (our own page)
    result = capra.tune(names["scenario"], engine="simulated")
    assert result.incumbent == {"p": 0}


def test_the_tuning_of_the_racing_page() -> None:
    names: dict[str, Any] = {}
    (code,) = blocks("docs/racing.md", "python")
    exec(compile(code, "docs/racing.md", "exec"), names)  # noqa: S102 (our own page)
    assert names["incumbent"].cost < names["default"].cost / 2
    assert names["incumbent"].p_value < 0.05


def test_the_example_of_the_models_page_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("docs/models.md", "python")
    exec(compile(code, "docs/models.md", "exec"), {})  # noqa: S102 (our own page)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    (said,) = blocks("docs/models.md", "text")
    for ours, theirs in zip(printed, (line.split() for line in said.splitlines()), strict=True):
        assert ours[0] == theirs[0]
        assert [float(ours[k]) for k in (2, 4, 6)] == pytest.approx([float(theirs[k]) for k in (2, 4, 6)], abs=0.02)


def test_the_options_of_the_smac_page_are_those_of_the_strategy() -> None:
    from capra.strategies.race import Race
    from capra.strategies.smac import smac

    page = (ROOT / "docs" / "smac.md").read_text()
    said = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))
    keywords = [p for f in (smac, Race) for p in signature(f).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
    options = {p.name: p.default for p in keywords if p.name != "believer"}
    assert list(said) == list(options)
    for name, default in options.items():
        shown = f"`{default}`" if isinstance(default, str) else str(default).lower()
        assert said[name] == ("the model's own" if default is None else shown), name


def test_the_examples_of_the_minimize_page() -> None:
    names: dict[str, Any] = {}
    for code in blocks("docs/minimize.md", "python"):
        exec(compile(code, "docs/minimize.md", "exec"), names)  # noqa: S102 (our own page)
    assert names["result"].cost < 60
    assert names["result"].spent <= 5_000
    assert names["search"].best == names["result"].trajectory[-1]


def test_the_strategies_page_has_all_of_them_and_the_default() -> None:
    import capra
    from capra.strategies import STRATEGIES

    page = (ROOT / "docs" / "strategies.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \| [^|]+ \| [^|]+ \| \[", page, re.MULTILINE)
    named = [name for cell in rows for name in re.findall(r"`([^`]+)`", cell)]
    assert sorted(named) == sorted(STRATEGIES)
    assert f"Without a name it is `{signature(capra.tune).parameters['strategy'].default}`." in page


def test_the_certificate_of_the_guarantees_page(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    (code,) = blocks("docs/guarantees.md", "python")
    exec(compile(code, "docs/guarantees.md", "exec"), names)  # noqa: S102 (our own page)
    assert "With probability at least 90 %" in capsys.readouterr().out
    result, speed = names["result"], names["speed"]
    assert result.certificate.parameters["epsilon"] < 0.2
    assert speed[int(result.incumbent["row"])] <= sorted(speed)[3]


def test_the_options_of_the_guarantees_page_are_those_of_the_strategies() -> None:
    from capra.strategies import GUARANTEED, STRATEGIES

    page = (ROOT / "docs" / "guarantees.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \| ([^|]*) \| [A-Z][^|]*\d{4}[^|]*\|$", page, re.MULTILINE)
    said = {name: re.findall(r"`(\w+)`", options) for names, options in rows for name in re.findall(r"`([^`]+)`", names)}
    assert set(said) == set(GUARANTEED)
    for name, options in said.items():
        module, function = STRATEGIES[name].split(":")
        made = signature(getattr(import_module(f"capra.strategies.{module}"), function)).parameters.values()
        assert sorted(options) == sorted(p.name for p in made if p.kind is Parameter.KEYWORD_ONLY), name


def test_the_example_of_the_selection_page(capsys: pytest.CaptureFixture[str]) -> None:
    from capra.portfolio import SELECTORS

    names: dict[str, Any] = {}
    (code,) = blocks("docs/selection.md", "python")
    exec(compile(code, "docs/selection.md", "exec"), names)  # noqa: S102 (our own page)
    name, cost = capsys.readouterr().out.split(": PAR10 ")
    assert name in SELECTORS
    assert name != "single"
    assert float(cost.split()[0]) < 30.0 < names["training"].costs.mean(axis=0).min()
    assert names["plan"][-1][0] == 1
    page = (ROOT / "docs" / "selection.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)[: len(SELECTORS) + 1] == [*SELECTORS, "auto"]


def test_the_example_of_the_portfolios_page(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    (code,) = blocks("docs/portfolios.md", "python")
    exec(compile(code, "docs/portfolios.md", "exec"), names)  # noqa: S102 (our own page)
    assert "members;" in capsys.readouterr().out
    assert names["found"].portfolio.par10 < names["found"].single.par10 / 3


def test_the_builders_of_the_portfolios_page_and_their_options() -> None:
    from capra.strategies import BUILDERS

    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", (ROOT / "docs/portfolios.md").read_text(), re.MULTILINE)
    assert {name for name, _ in rows} == set(BUILDERS)
    for name, said in rows:
        module, maker = BUILDERS[name].split(":")
        known = signature(getattr(import_module(f"capra.portfolio.{module}"), maker)).parameters.values()
        assert set(re.findall(r"`(\w+)`", said)) == {p.name for p in known if p.kind is Parameter.KEYWORD_ONLY}
