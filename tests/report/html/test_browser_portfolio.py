"""A portfolio's pages in a real browser, with names that strangers chose."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from capra.report.html import write_report
from tests.report.html.browser import NEEDS_CHROMIUM, Browser
from tests.report.html.test_portfolio import PLOTS, TRAINING, built

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    folder = tmp_path_factory.mktemp("<b>hydra")
    built(folder, rounds=2)
    browser.open(Path(write_report(folder)["report"]).as_uri())
    return browser


def test_every_plot_is_drawn_without_complaints(page: Browser) -> None:
    assert {plot: page.marks(plot) for plot in PLOTS if not page.marks(plot)} == {}
    assert page.complaints() == []


def test_hostile_names_stay_text(page: Browser) -> None:
    walk = """const svg = document.querySelector("#plot-selector svg"), told = new Set();
        for (let k = 0; k < arguments[0]; k++) {
          svg.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", cancelable: true}));
          told.add(document.querySelector("#plot-selector .tip bdi").textContent);
        }
        return [...told];"""
    assert set(page.run(walk, page.marks("selector"))) == set(TRAINING)
    assert page.driver.title != "owned"
    assert page.run("return document.querySelectorAll('img, iframe, object, script').length") == 2
    assert page.complaints() == []


def test_members_have_one_entry_each_in_the_legend(page: Browser) -> None:
    """Their stopped runs go with them."""
    entries = (
        "return [...document.querySelectorAll('#plot-member-times .legend button[aria-pressed]')].map((b) => b.textContent)"
    )
    names = page.run(entries)
    assert len(names) == len(set(names)) == 3
    before = page.marks("member-times")
    page.click("#plot-member-times .legend button", names[1])
    shapes = "return document.querySelectorAll(`#plot-member-times [data-series='${arguments[0]}']`).length"
    assert page.run(shapes, names[1]) == 0
    assert 0 < page.marks("member-times") < before
    page.click("#plot-member-times .legend button", names[1])
    assert page.marks("member-times") == before


def test_data_and_pictures_can_be_downloaded(page: Browser) -> None:
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(page.downloads)})
    for plot in PLOTS:
        for kind in ("CSV", "PNG"):
            page.click(f"#plot-{plot} .buttons button", kind)
    page.click("#plot-members .buttons button", "CSV")
    for name in [f"{plot}.{end}" for plot in PLOTS for end in ("csv", "png")] + ["members.csv"]:
        page.until(lambda name=name: (page.downloads / name).is_file())
        assert (page.downloads / name).stat().st_size > 60
    rows = list(csv.DictReader(io.StringIO((page.downloads / "selector.csv").read_text(), newline="")))
    shown = {name if name[0] not in "=+-@" else f"'{name}" for name in TRAINING}
    assert {row["what"] for row in rows} == shown
    assert page.complaints() == []
