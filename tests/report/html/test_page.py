"""The report of all kinds of stores: sections, hostile text, limits. (The browser's part is in test_browser.py.)"""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

import capra
from capra.errors import InputError
from capra.folder import open_store
from capra.intake import import_folder
from capra.models.encoding import Encoder
from capra.report.html import write_report
from capra.report.html.footprint import plane
from capra.report.html.page import embedded, html_page
from capra.report.html.sections import SECTIONS
from capra.report.html.view import View
from capra.runs import Outcome, RunRequest, Status
from capra.strategies.certificate import Certificate
from tests.report.html.runs import HOSTILE, Target, given, named, tuned
from tests.strategies.conformance import lognormal, space

LARGEST = 8_000_000
ALL = ["summary", "trajectory", "instances", "racing", "over-time", "censoring", "space", "worst", "notices", "reproduce"]


class Parts(HTMLParser):
    """The elements of a page with their attributes, and the text inside of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data


def document(path: Path) -> dict[str, Any]:
    return json.loads(Parts(path.read_text()).scripts[0])["document"]  # type: ignore[no-any-return]


def blocks(path: Path) -> dict[str, dict[str, Any]]:
    return {block["key"]: block for section in document(path)["sections"] for block in section["blocks"] if "key" in block}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuning")
    tuned(folder, validated=True, budget={"runs": 400})
    return Path(write_report(folder)["report"])


def test_a_finished_tuning_has_every_section(report: Path) -> None:
    assert [section["key"] for section in document(report)["sections"]] == ALL
    others = {"mattered", "portfolio", "promises"}  # each has tests of its own
    assert len(ALL) == len(SECTIONS) - len(others)
    assert report.stat().st_size < LARGEST
    for key, block in blocks(report).items():
        assert block["aid"], key


def test_the_page_asks_nobody_for_anything(report: Path) -> None:
    parts = Parts(report.read_text())
    policy = next(attrs["content"] for tag, attrs in parts.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not [attrs for _, attrs in parts.tags if {"src", "href"} & attrs.keys()]
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?https?:""", report.read_text())


def test_hostile_names_stay_data(report: Path) -> None:
    """RELIABILITY.md row 26. Nothing in the data opens or closes an element, and every name comes out as it went in."""
    parts = Parts(report.read_text())
    assert [tag for tag, _ in parts.tags] == [
        "html", "head", "meta", "meta", "meta", "meta", "title", "style", "body", "noscript", "p", "script", "script"
    ]  # fmt: skip
    assert sorted(blocks(report)["matrix"]["columns"]) == sorted(HOSTILE)
    assert document(report)["name"] == HOSTILE[0]
    assert HOSTILE[1] in [row[2] for row in blocks(report)["reasons"]["rows"]]


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "]]>", "\u2028\u2029", "&lt;", "\udc80", '"\\'])
def test_embedded_json_is_inert(text: str) -> None:
    made = embedded({"x": text})
    assert not set("<>&\u2028\u2029") & set(made)
    assert json.loads(made) == {"x": text}
    assert "<b>" not in html_page("<b>", {"document": {}}).split("<style>")[0]


def test_the_same_store_gives_the_same_file(report: Path, tmp_path: Path) -> None:
    again = write_report(report.parent, tmp_path / "new" / "again.html")
    assert Path(again["report"]).read_bytes() == report.read_bytes()
    assert again["bytes"] == report.stat().st_size


def test_figures_of_the_report_are_those_of_the_validation(report: Path) -> None:
    """The test curve's last point is the mean over instances of the incumbent's costs."""
    made = blocks(report)["trajectory"]
    test = next(one for one in made["series"] if one["name"].startswith("test"))
    assert all(low <= y <= high for low, y, high in zip(test["low"], test["y"], test["high"], strict=True))
    points = [one for one in blocks(report)["scatter"]["series"] if one["name"].startswith("test")]
    incumbent = [y for one in points for y in one["y"]]
    assert len(incumbent) == 3 * len(HOSTILE)
    solved = [y if y < 100.0 else 1000.0 for y in incumbent]
    assert test["y"][-1] == pytest.approx(np.mean(solved), rel=1e-3)


def test_capping_saved_is_what_the_history_says(report: Path) -> None:
    saved = blocks(report)["saved"]
    without, used = (one["y"][-1] for one in saved["series"])
    statuses = {one["name"]: sum(one["values"]) for one in blocks(report)["statuses"]["series"]}
    assert sum(statuses.values()) == 400
    assert without - used > 0
    assert statuses["capped"] * 100.0 >= without - used


# --- other stores ---


def keys(run: Path) -> list[str]:
    made = write_report(run)
    for block in blocks(Path(made["report"])).values():
        json.dumps(block, allow_nan=False)
    return list(made["sections"])


def test_a_store_without_runs(tmp_path: Path) -> None:
    open_store(given(), {"strategy": "roar", "engine": "simulated", "options": {}}, tmp_path).close()
    assert keys(tmp_path) == ["summary", "notices", "reproduce"]


@pytest.mark.parametrize("runs", [1, 2, 13])
def test_unfinished_tunings(tmp_path: Path, runs: int) -> None:
    tuned(tmp_path, budget={"runs": runs})
    assert {"summary", "trajectory", "over-time", "reproduce"} <= set(keys(tmp_path))


def test_a_tuning_that_is_under_way(tmp_path: Path) -> None:
    scenario = given(instances=named(HOSTILE))
    with open_store(scenario, {"strategy": "roar", "engine": "local", "seed": 1, "workers": 2}, tmp_path) as store:
        lease = store.lease(RunRequest(scenario.default, HOSTILE[0], 1, 100.0), "incumbent")
        store.finish(lease.assignment, 1, Outcome(Status.TIMEOUT, 100.0, 100.0), 1.0)
        store.lease(RunRequest(scenario.default, HOSTILE[1], 1, 100.0), "incumbent")
        assert "summary" in keys(tmp_path)
    assert "; 1 under way" in (tmp_path / "report.html").read_text()


def test_only_crashes(tmp_path: Path) -> None:
    scenario = given(instances=named(HOSTILE))
    with open_store(scenario, {"strategy": "roar", "engine": "simulated", "options": {}}, tmp_path) as store:
        for seed in range(20):
            lease = store.lease(RunRequest(scenario.default, HOSTILE[0], seed, 100.0), "incumbent")
            store.finish(lease.assignment, 1, Outcome(Status.CRASHED, 0.0, 100.0, reason=HOSTILE[1]), 0.0)
    assert "notices" in keys(tmp_path)


def test_a_target_without_instances(tmp_path: Path) -> None:
    made = capra.Scenario(target=Target(), space=space(), cutoff=100.0, unit="steps", budget={"runs": 150})
    capra.tune(made, engine="simulated", overhead="ignore", out=tmp_path)
    assert "racing" not in keys(tmp_path)


def quality(request: RunRequest) -> Outcome:
    time = lognormal(request)
    return Outcome(Status.SUCCESS, time.time, request.cutoff, quality=-math.log(1.0 + time.time))


def test_a_quality_objective(tmp_path: Path) -> None:
    """Costs may be negative: no logarithm of them is drawn."""
    tuned(tmp_path, quality, budget={"runs": 150}, objective="quality", validated=True)
    assert {"trajectory", "instances", "racing"} <= set(keys(tmp_path))
    made = blocks(tmp_path / "report.html")
    assert not made["trajectory"]["y"]["log"]
    assert not made["scatter"]["x"]["log"]


def test_a_certificate_is_shown(tmp_path: Path) -> None:
    scenario = given(instances=named(HOSTILE))
    promise = Certificate(
        "caps", None, {"epsilon": 0.1}, "With probability at least 90 %, all is well.", "More time helps.", 2.0, 1.0, 2.0
    )
    with open_store(scenario, {"strategy": "caps", "engine": "simulated", "options": {}}, tmp_path) as store:
        store.decide("certificate", "1", promise.plain() | {"spent": 1.0, "evaluations": 1})
    write_report(tmp_path)
    texts = [block.get("text") for block in document(tmp_path / "report.html")["sections"][0]["blocks"]]
    assert "Certificate: With probability at least 90 %, all is well. More time helps." in texts


def test_imported_runs(folder: Path) -> None:
    (folder / "scenario.toml").write_text(
        'target = ["sh", "{instance}", "{params}"]\nspace = "parameters.pcs"\ninstances = "train"\ncutoff = 10\n'
    )
    scenario = capra.Scenario.load(folder / "scenario.toml")
    names = [instance.name for instance in scenario.instances]
    found = ((0.5, 4.0, "SUCCESS"), (0.2, 1.0, "SUCCESS"), (0.9, 10.0, "TIMEOUT"))
    lines = [
        {
            "config": {"alpha": alpha, "mode": "fast"}, "instance": name, "seed": 1, "cutoff": 10.0, "asked_by": "", "finished": 0.0,
            "outcome": {"status": status, "time": time, "cutoff": 10.0},
        }
        for alpha, time, status in found
        for name in names
    ]  # fmt: skip
    with (folder / "runs.jsonl").open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    assert import_folder(folder / "runs.jsonl", "jsonl", scenario, folder / "taken") == 9
    assert {"summary", "instances", "racing", "worst"} <= set(keys(folder / "taken"))
    text = (folder / "taken" / "report.html").read_text()
    assert "--alpha=0.2" in text
    for file in (folder / "train").iterdir():
        file.unlink()  # the report does not need the files of the scenario
    assert keys(folder / "taken")
    assert blocks(folder / "taken" / "report.html")["settings"]["rows"][0] == ["alpha", "0.5", "0.2"]


def test_no_tuning(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no tuning"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- the plane ---


def test_the_plane_is_that_of_principal_components() -> None:
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.random((80, 4)), rng.integers(0, 3, 80)])
    codes[::5, 1] = np.nan
    types = np.array([0, 0, 0, 0, 3])
    at, shares = plane(codes, types)
    rows = Encoder.learnt(codes, types).encode(codes).astype(np.float64)
    theirs = PCA(2).fit(rows)
    assert shares == pytest.approx(theirs.explained_variance_ratio_)
    assert np.abs(at) == pytest.approx(np.abs(theirs.transform(rows)), abs=1e-6)


def test_a_plane_of_one_parameter() -> None:
    at, shares = plane(np.array([[0.1], [0.5], [0.9]]), np.array([0]))
    assert at[:, 1] == pytest.approx(0.0)
    assert shares == pytest.approx([1.0, 0.0])


def test_an_unfinished_validation_is_told_of(tmp_path: Path) -> None:
    """The test instances that the incumbent was not run on are counted."""
    made = tuned(tmp_path, budget={"runs": 100}, test_instances=named([f"test {name}" for name in HOSTILE]))
    view = View(tmp_path)
    view.update()
    incumbent, default = view.incumbent, view.default
    view.close()
    assert incumbent != default
    some = [f"test {name}" for name in HOSTILE[:5]]
    capra.validate(made, [made.default, incumbent], some, seeds=1, engine="simulated", out=tmp_path)
    text = Path(write_report(tmp_path)["report"]).read_text()
    assert f"nothing is known yet of {len(HOSTILE) - 5} test instances" in text
