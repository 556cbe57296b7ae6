"""Features of CNF formulas: against brute force, against hostile files, kept by content."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import random
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.formats import reference_cnf
from typer.testing import CliRunner

from capra import Scenario, _cnf
from capra.cli import app
from capra.demo.quasigroup import quasigroup_cnf, with_holes
from capra.errors import FormatError, InputError, ScenarioError
from capra.formats import cnf
from capra.formats.instances import read_features
from capra.strategies.base import Context
from capra.strategies.smac import make_suggester
from capra.targets.verify import read_cnf

ROOT = Path(__file__).resolve().parents[2]


def dimacs(variables: int, clauses: list[list[int]]) -> str:
    lines = [f"p cnf {variables} {len(clauses)}", *(" ".join(map(str, [*clause, 0])) for clause in clauses)]
    return "\n".join(lines) + "\n"


def random_formula(seed: int, variables: int, clauses: int, longest: int = 4) -> list[list[int]]:
    rng = random.Random(seed)
    literals = [sign * v for v in range(1, variables + 1) for sign in (1, -1)]
    return [rng.choices(literals, k=rng.randint(1 + (rng.random() < 0.95), longest)) for _ in range(clauses)]


def planted_formula(seed: int, variables: int, clauses: int) -> list[list[int]]:
    """Satisfied by setting all variables to true; no units, hence something to dive and to walk for."""
    rng = random.Random(seed)
    found = []
    while len(found) < clauses:
        clause = [rng.choice((-1, 1)) * v for v in rng.sample(range(1, variables + 1), 3)]
        found += [clause] if max(clause) > 0 else []
    return found


def computed(variables: int, clauses: list[list[int]]) -> dict[str, float]:
    names, values = _cnf.features(dimacs(variables, clauses).encode())
    return dict(zip(names, values, strict=True))


def same(variables: int, clauses: list[list[int]]) -> dict[str, float]:
    expected, found = reference_cnf.features(variables, clauses), computed(variables, clauses)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_counts_and_dives_are_those_of_brute_force(seed: int) -> None:
    """With repeated literals, tautologies and units; most are refuted or solved at once."""
    rng = random.Random(seed)
    same(30, random_formula(seed, rng.randint(3, 25), rng.randint(1, 30)))


@pytest.mark.parametrize("seed", range(12))
def test_walks_and_dives_of_formulas_with_a_solution(seed: int) -> None:
    found = same(22, planted_formula(seed, 20, 70))
    assert found["walk_solved"] == 1.0
    assert found["dive_depth_mean"] > 1.0


def test_a_walk_that_never_ends_is_stopped() -> None:
    """All eight clauses over three variables, and a few more: no solution, no unit."""
    clauses = [[a, 2 * b, 3 * c] for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    found = same(3, clauses)
    assert found["walk_solved"] == 0.0
    assert found["walk_best_mean"] == 1 / 8
    assert found["dive_conflicts"] == 1.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p cnf 0 0\n", {"variables": 0, "refuted": 0, "walk_solved": 0}),
        ("p cnf 3 1\n0\n", {"clauses": 1, "clause_length_max": 0, "refuted": 1, "unused_variables": 1}),
        ("p cnf 2 2\n1 0 -1 0\n", {"refuted": 1, "fixed_variables": 0, "dive_depth_max": 0}),
        ("p cnf 2 1\n1 -1 0\n", {"clauses": 0, "variables": 0}),
        ("p cnf 9 2\n3 3 0 -3 7 0\n", {"literals": 3, "fixed_variables": 1, "unit_clauses": 0.5, "variables": 2}),
        ("p cnf 134217728 1\n134217728 -134217727 0\n", {"variables": 2, "clauses": 1}),
    ],
)
def test_small_ones(text: str, expected: dict[str, float]) -> None:
    names, values = _cnf.features(text.encode())
    assert dict(zip(names, values, strict=True)) | expected == dict(zip(names, values, strict=True))


def test_names_and_comments_do_not_change_features(tmp_path: Path) -> None:
    clauses = planted_formula(1, 50, 200)
    (tmp_path / "a.cnf").write_text(dimacs(50, clauses))
    lines = dimacs(50, clauses).splitlines()
    (tmp_path / "b.cnf").write_text("c hello\n" + "\nc in between\n".join(lines).replace(" ", "\t") + "\n%\n0\n")
    assert cnf.features(tmp_path / "a.cnf") == cnf.features(tmp_path / "b.cnf")


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)])
def test_packed_files(suffix: str, pack: object, tmp_path: Path) -> None:
    text = dimacs(50, planted_formula(2, 50, 200)).encode()
    (tmp_path / "a.cnf").write_bytes(text)
    packed = tmp_path / f"a.cnf{suffix}"
    packed.write_bytes(pack(text))  # type: ignore[operator]
    assert cnf.features(packed) == cnf.features(tmp_path / "a.cnf")
    packed.write_bytes(pack(text)[:-20])  # type: ignore[operator]
    with pytest.raises(InputError):
        cnf.features(packed)


# --- files that are no formulas ---

HOSTILE = {
    "": "expected 'p cnf",
    "p cnf 3\n": "expected 'p cnf",
    "p cnf 1 1 1\n1 0\n": "expected 'p cnf",
    "p dnf 1 1\n1 0\n": "expected 'p cnf",
    "1 0\n": "expected 'p cnf",
    "p cnf 9999999999999999999 1\n1 0\n": "expected 'p cnf",
    "p cnf 999999999999999999 1\n1 0\n": "more than 134217728 variables",
    "p cnf 1 999999999999999999\n1 0\n": "the header declares 999999999999999999 clauses, the file has 1",
    "p cnf 134217728 1\n": "the header declares 1 clauses, the file has 0",
    "p cnf 2 1\n1 2\n": "not closed by 0",
    "p cnf 2 1\n1 3 0\n": "beyond the 2 variables",
    "p cnf 2 1\n1 9223372036854775808 0\n": "beyond the 2 variables",
    "p cnf 2 1\n1 -9223372036854775808 0\n": "beyond the 2 variables",
    "p cnf 2 1\n1 \0 0\n": "not a literal: '?'",
    "p cnf 2 1\n1 2x 0\n": "not a literal: '2x'",
    "p cnf 2 1\n1 - 0\n": "not a literal: '-'",
    "p cnf 2 1\n1-2 0\n": "not a literal: '1-2'",
    "p cnf 2 1\n1 +2 0\n": "not a literal: '+2'",
    "p cnf 2 1\n1 0\np cnf 2 1\n": "not a literal: 'p'",
    "p cnf 2 2\n1 0\n%\n2 0\n": "declares 2 clauses, the file has 1",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_formula_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.cnf"
    path.write_text(text)
    with pytest.raises(FormatError, match=re.escape(HOSTILE[text])) as error:
        cnf.features(path)
    expected = 2 if HOSTILE[text].startswith(("not a literal", "beyond")) else 1
    assert error.value.line == (3 if "p'" in HOSTILE[text] or "not closed" in HOSTILE[text] else expected)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        cnf.features(tmp_path / "missing.cnf")
    with pytest.raises(FormatError, match="cannot be read"):
        cnf.features(tmp_path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capra.formats.packed.LARGEST", 1 << 20)
    (tmp_path / "bomb.cnf.gz").write_bytes(gzip.compress(b"p cnf 1 1\n1 0\n" + b" " * (1 << 21)))
    with pytest.raises(FormatError, match="larger than"):
        cnf.features(tmp_path / "bomb.cnf.gz")


PIECES = [
    "0",
    "1",
    "-1",
    "2",
    "-2",
    "3",
    "-",
    "+1",
    "1-",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\v",
    "c x\n",
    "\nc 1 0\n",
    "%",
    "\n%\n",
]
PIECES += ["p cnf 2 1\n", "p cnf 3 2", "\0", "é", "9" * 30, "-0", "00", "01", "p"]


@given(st.booleans(), st.lists(st.sampled_from(PIECES), max_size=14))
@example(True, ["1", " ", "0", "\n%\n", "rubbish"])
def test_the_two_readers_of_formulas_agree(headed: bool, parts: list[str]) -> None:
    """What the verifier takes for a formula, and nothing else, has features; and of the same clauses."""
    text = ("p cnf 3 2\n" if headed else "") + "".join(parts)
    try:
        formula = read_cnf(text)
    except FormatError:
        with pytest.raises(ValueError, match=r"."):
            _cnf.features(text.encode())
        return
    names, values = _cnf.features(text.encode())
    found = dict(zip(names, values, strict=True))
    clauses: list[list[int]] = [[]]
    for literal in formula.literals.tolist():
        clauses[-1].append(literal) if literal else clauses.append([])
    expected = reference_cnf.counted(formula.variables, reference_cnf.normal(clauses[:-1]))
    assert {name: found[name] for name in expected} == pytest.approx(expected)


@given(st.binary(max_size=200))
def test_any_bytes_end_in_features_or_in_an_error_with_a_line(data: bytes) -> None:
    line, values = 1, []
    try:
        values = _cnf.features(data)[1]
    except ValueError as error:
        line = error.args[1]
    assert 1 <= line <= data.count(b"\n") + 1
    assert all(map(math.isfinite, values))


# --- many files, kept by content ---


@pytest.fixture
def formulas(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "cnf").mkdir()
    for i in range(6):
        (tmp_path / "cnf" / f"{i}.cnf").write_text(quasigroup_cnf(with_holes(8, 20 + i, i)))
    return {f"cnf/{i}.cnf": tmp_path / "cnf" / f"{i}.cnf" for i in range(6)}


def test_the_table_is_what_a_scenario_reads(formulas: dict[str, Path], tmp_path: Path) -> None:
    found = cnf.extract_all(formulas, workers=3)
    (tmp_path / "features.csv").write_text(cnf.as_csv(found))
    table = read_features(tmp_path / "features.csv")
    assert table.names == cnf.NAMES
    assert dict(table.rows) == {name: one.values for name, one in found.items()}
    assert found["cnf/3.cnf"].values == tuple(cnf.features(formulas["cnf/3.cnf"]).values())
    assert all(0.0 < one.seconds < 10.0 for one in found.values())


def test_what_is_kept_is_not_computed_again(
    formulas: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "runs" / "features.json"
    first = cnf.extract_all(formulas, cache=cache)
    made: list[Path] = []
    extract = cnf.extract
    monkeypatch.setattr(cnf, "extract", lambda path: made.append(path) or extract(path))
    assert cnf.extract_all(formulas, cache=cache) == first
    assert made == []
    changed = formulas["cnf/2.cnf"]
    changed.write_text(dimacs(3, [[1, 2], [-1, 3]]))
    assert cnf.extract_all(formulas, cache=cache)["cnf/2.cnf"].values[0] == 3.0
    assert made == [changed]
    for broken in ("", "[]", "{", json.dumps({"version": 1, "names": [], "rows": {}}), "[" * 10_000):
        cache.write_text(broken)
        assert cnf.extract_all(formulas, cache=cache).keys() == first.keys()
    document = json.loads(cache.read_text())
    document["rows"] = {digest: {"values": [math.nan], "seconds": 0} for digest in document["rows"]}
    cache.write_text(json.dumps(document))
    assert cnf.extract_all(formulas, cache=cache)["cnf/0.cnf"].values == first["cnf/0.cnf"].values


def test_an_error_among_many_names_its_file(formulas: dict[str, Path], tmp_path: Path) -> None:
    formulas["cnf/1.cnf"].write_text("nonsense")
    with pytest.raises(FormatError, match=r"1\.cnf:1: expected 'p cnf"):
        cnf.extract_all(formulas)


# --- in a scenario ---


def scenario_of(folder: Path, **options: object) -> Scenario:
    (folder / "p.pcs").write_text("a real [0, 1] [0.5]\n")
    given = {"target": ["solver", "{instance}", "{params}"], "space": "p.pcs", "instances": "cnf", "cutoff": 5.0}
    return Scenario(base=folder, **given, features="cnf", split=0.5, **options)


def test_a_scenario_computes_features_when_somebody_looks(
    formulas: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    extract_all = cnf.extract_all
    monkeypatch.setattr(cnf, "extract_all", lambda paths, **how: asked.extend(paths) or extract_all(paths, **how))
    scenario = scenario_of(tmp_path)
    assert scenario.to_dict()["features"] == {"names": list(cnf.NAMES), "instances": 6}
    assert asked == []
    suggester = make_suggester(Context(scenario, 0), "forest")
    assert len(asked) == 6
    assert suggester._features.shape[0] == 3
    assert suggester._features.shape[1] > 0
    assert scenario.features.rows["cnf/0.cnf"] == tuple(cnf.features(formulas["cnf/0.cnf"]).values())
    assert "nobody" not in scenario.features.rows
    assert len(asked) == 6


def test_features_need_formulas(formulas: dict[str, Path], tmp_path: Path) -> None:
    space = {"target": "math:sin", "space": "p.pcs", "cutoff": 5.0, "base": tmp_path, "features": "cnf"}
    (tmp_path / "p.pcs").write_text("a real [0, 1] [0.5]\n")
    with pytest.raises(ScenarioError, match="features: the instance a is not a file"):
        Scenario(**space, instances=["a", "b"])
    with pytest.raises(ScenarioError, match="no instances"):
        Scenario(**space)
    formulas["cnf/1.cnf"].write_text("p cnf 1 1\n")
    with pytest.raises(InputError, match=r"1\.cnf"):
        _ = scenario_of(tmp_path).features.rows["cnf/0.cnf"]


def test_a_tuning_keeps_features_beside_its_folder(formulas: dict[str, Path], tmp_path: Path) -> None:
    import capra

    (tmp_path / "solver").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "solver").chmod(0o755)
    target = [str(tmp_path / "solver"), "{instance}", "{params}"]
    scenario = Scenario(**{**scenario_of(tmp_path).given, "target": target, "budget": {"runs": 12}}, base=tmp_path)
    capra.tune(scenario, "smac", out=tmp_path / "runs" / "one", initial=3)
    kept = json.loads((tmp_path / "runs" / "features.json").read_text())
    assert kept["names"] == list(cnf.NAMES)
    assert len(kept["rows"]) == 6
    assert len(capra.resume(tmp_path / "runs" / "one").history) == 12


# --- the command ---


def command(*arguments: object) -> str:
    answer = CliRunner().invoke(app, ["features", *map(str, arguments)], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def test_the_command(formulas: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = command("cnf", "--out", "features.csv", "--workers", 2)
    assert "cnf/0.cnf" in said
    assert f"wrote features.csv: {len(cnf.NAMES)} features of 6 instances" in said
    table = read_features("features.csv")
    assert list(table.rows) == list(formulas)
    assert command("cnf", "--csv") == Path("features.csv").read_text()
    document = json.loads(command("cnf/1.cnf", "cnf/2.cnf", "--json"))
    assert {name: tuple(one["features"].values()) for name, one in document.items()} == {
        name: table.rows[name] for name in ("cnf/1.cnf", "cnf/2.cnf")
    }
    assert all(one["seconds"] > 0.0 for one in document.values())
    assert "walk_best_mean" in command("cnf/1.cnf")


def test_what_the_command_refuses(formulas: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "bad.cnf").write_text("p cnf 1 1\n")
    for arguments in (["missing.cnf"], ["empty"], ["bad.cnf", "cnf"], ["cnf", "--out", "there.csv"]):
        with pytest.raises(InputError):
            command(*arguments)
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_the_page_lists_the_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "features.md").read_text()
    listed: list[str] = []
    for cell in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE):
        names = re.findall(r"`(\w+)`", cell)
        stem = names[0].rpartition("_")[0]
        names = [stem + name if name.startswith("_") else name for name in names]
        five = cell.endswith("(5)")
        listed += [f"{name}_{part}" for name in names for part in ("mean", "cv", "min", "max", "entropy")] if five else names
    assert listed == list(cnf.NAMES)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    found: dict[str, object] = {}
    exec(compile(code, "docs/features.md", "exec"), found)  # noqa: S102 (our own page)
    assert found["found"]["binary_clauses"] == 0.5  # type: ignore[index]
