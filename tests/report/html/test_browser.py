"""The report and the live page in a real browser: drawn, reachable, and deaf to what strangers wrote."""

from __future__ import annotations

import base64
import csv
import io
from pathlib import Path

import pytest

from capra.report.html import write_report
from tests.report.html.browser import NEEDS_CHROMIUM, Browser
from tests.report.html.runs import HOSTILE, tuned

pytestmark = NEEDS_CHROMIUM
PLOTS = "trajectory scatter cactus matrix statuses saved cutoffs censoring footprint parallel".split()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuning")
    tuned(folder, validated=True, budget={"runs": 300})
    return Path(write_report(folder)["report"])


@pytest.fixture(scope="module")
def page(browser: Browser, report: Path) -> Browser:
    browser.open(report.as_uri())
    return browser


def test_every_plot_is_drawn_without_complaints(page: Browser) -> None:
    assert {plot: page.marks(plot) for plot in PLOTS if not page.marks(plot)} == {}
    assert page.complaints() == []


def test_hostile_names_stay_text(page: Browser) -> None:
    """RELIABILITY.md row 26: nothing runs, nothing is loaded, and the names are there to read."""
    assert page.driver.title != "owned"
    assert page.run("return document.querySelectorAll('img, iframe, object, script').length") == 2
    assert page.run("return document.querySelector('h1').textContent") == HOSTILE[0]
    shown = page.run(
        "return [...document.querySelectorAll('#plot-worst tbody tr td:first-child')].map((n) => n.textContent)"
    )
    assert set(shown) <= set(HOSTILE)
    assert len(shown) >= 10
    walk = """const canvas = document.querySelector("#plot-matrix canvas"), told = new Set();
        for (let k = 0; k < arguments[0]; k++) {
          canvas.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", cancelable: true}));
          told.add(document.querySelector("#plot-matrix .tip bdi").textContent);
        }
        return [...told];"""
    assert set(page.run(walk, page.marks("matrix"))) == set(HOSTILE)
    assert page.driver.title != "owned"
    assert page.complaints() == []


@pytest.mark.parametrize("plot", PLOTS)
def test_pointing_at_a_mark_tells_what_it_is(page: Browser, plot: str) -> None:
    script = """const s = document.querySelector(`#plot-${arguments[0]} .plot > svg`);
        if (!s) return null;
        const marks = s.querySelectorAll(".mark"), box = s.getBoundingClientRect(), m = marks[marks.length - 1];
        if (m.getTotalLength && getComputedStyle(m).fill === "none") { const p = m.getPointAtLength(0); return [p.x, p.y]; }
        const b = m.getBoundingClientRect();
        return [b.left + b.width / 2 - box.left, b.top + b.height / 2 - box.top];"""
    place = page.run(script, plot)
    if place is None:  # a canvas: the default's row is the first
        places = [(14 + x, y) for x in range(5, 900, 15) for y in (2, 6)]
        for x, y in places:
            page.point_at(plot, x, y)
            if page.tip(plot):
                break
    else:
        page.point_at(plot, *place)
    assert page.tip(plot)
    page.run(
        "document.querySelector(`#plot-${arguments[0]} .plot > *`).dispatchEvent(new PointerEvent('pointerleave'))", plot
    )
    assert page.tip(plot) is None


def test_the_keyboard_reaches_marks(page: Browser) -> None:
    page.press("#plot-scatter svg", "ArrowRight")
    first = page.tip("scatter")
    page.press("#plot-scatter svg", "ArrowRight")
    second = page.tip("scatter")
    assert first
    assert second
    assert first != second
    assert page.run("return document.querySelector('#plot-scatter [aria-live]').textContent") != ""
    page.press("#plot-scatter svg", "Escape")
    assert page.tip("scatter") is None


def test_the_legend_hides_and_shows(page: Browser) -> None:
    before = page.marks("cutoffs")
    page.click("#plot-cutoffs .legend button", "capped")
    assert 0 < page.marks("cutoffs") < before
    page.click("#plot-cutoffs .legend button", "capped")
    assert page.marks("cutoffs") == before


def test_scales_can_be_changed(page: Browser) -> None:
    labels = "return [...document.querySelectorAll('#plot-cutoffs svg text')].map((n) => n.textContent).join()"
    before = page.run(labels)
    page.click("#plot-cutoffs .legend button", "y logarithmic")
    assert page.run(labels) != before
    page.click("#plot-cutoffs .legend button", "y linear")
    assert page.run(labels) == before


def test_rows_of_the_matrix_can_be_chosen(page: Browser) -> None:
    before = page.marks("matrix")
    script = """const s = [...document.querySelectorAll("#plot-matrix select")].find((n) => n.dataset.name === arguments[0]);
        s.value = arguments[1]; s.dispatchEvent(new Event("change"));"""
    page.run(script, "only", "incumbents")
    assert 0 < page.marks("matrix") < before
    page.run(script, "only", "all")
    page.run(script, "sort", "cost")
    assert page.marks("matrix") == before


def test_lines_can_be_filtered_by_keyboard(page: Browser) -> None:
    before = page.marks("parallel")
    page.press("#plot-parallel .grip", "1")
    few = page.marks("parallel")
    assert few < before
    assert page.run("return document.querySelector('#plot-parallel .legend .count').textContent").startswith(f"{few} of")
    page.click("#plot-parallel .legend button", "Clear")
    assert page.marks("parallel") == before


def test_lines_can_be_filtered_by_dragging(page: Browser) -> None:
    """The lines that stay are those whose values lie in the range, by the page's own data; a click takes it back."""
    before = page.marks("parallel")
    page.drag("#plot-parallel .grip", -100, 90)
    name, state = page.run(
        "const g = document.querySelector('#plot-parallel .grip'); return [g.dataset.axis, g.ariaValueText]"
    )
    low, high = map(float, state.split(" to "))
    assert 0.1 < low < high < 0.95
    script = """const all = JSON.parse(document.getElementById("data").textContent).document.sections.flatMap((s) => s.blocks);
        return all.find((block) => block.key === "parallel").axes.find((axis) => axis.name === arguments[0]).values;"""
    values = [value for value in page.run(script, name) if value is not None]
    room = 0.002  # the range is told with three digits
    inside = [sum(low - r <= value <= high + r for value in values) for r in (-room, room)]
    assert inside[0] <= page.marks("parallel") <= inside[1]
    assert page.marks("parallel") < before
    page.drag("#plot-parallel .grip", 20, 0)
    assert page.marks("parallel") == before


@pytest.mark.parametrize("allowed", [True, False])
def test_the_command_can_be_copied(page: Browser, allowed: bool) -> None:
    """Also where a browser keeps the clipboard from scripts: then as a selection is copied."""
    page.driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    page.run("navigator.clipboard.writeText('something else')")
    if not allowed:
        page.run("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))")
    page.pointer_click("#summary .copy")
    page.until(lambda: page.run("return document.querySelector('#summary .copy').textContent") == "Copied")
    read = "const done = arguments[0]; navigator.clipboard.readText().then(done, (error) => done(`no: ${error}`))"
    text = page.run("return document.querySelector('#summary pre').textContent")
    assert page.driver.execute_async_script(read) == text
    page.run("delete navigator.clipboard.writeText; getSelection().removeAllRanges()")
    page.until(lambda: page.run("return document.querySelector('#summary .copy').textContent") == "Copy")
    assert page.complaints() == []


def test_tables_can_be_searched_and_sorted(page: Browser) -> None:
    rows = "return [...document.querySelectorAll('#plot-worst tbody tr')].map((r) => r.children[1].textContent)"
    before = page.run(rows)
    page.click("#plot-worst th button", "incumbent")
    assert page.run(rows) == sorted(before, key=float)


def test_data_and_pictures_can_be_downloaded(page: Browser) -> None:
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(page.downloads)})
    page.click("#plot-scatter .buttons button", "CSV")
    page.click("#plot-scatter .buttons button", "PNG")
    page.click("#plot-matrix .buttons button", "CSV")
    page.click("#plot-matrix .buttons button", "PNG")
    for name in ("scatter.png", "matrix.png", "scatter.csv", "matrix.csv"):
        page.until(lambda name=name: (page.downloads / name).is_file())
        assert (page.downloads / name).stat().st_size > 100
    assert (page.downloads / "scatter.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(io.StringIO((page.downloads / "matrix.csv").read_text(), newline="")))
    assert len(rows) == page.marks("matrix")
    formula = HOSTILE[4]
    assert {row["instance"] for row in rows} == {name if name != formula else f"'{name}" for name in HOSTILE}
    assert page.complaints() == []


def test_the_table_of_a_plot(page: Browser) -> None:
    page.click("#plot-cactus .buttons button", "Table")
    assert page.run("return document.querySelectorAll('#plot-cactus tbody tr').length") > 10
    page.click("#plot-cactus .buttons button", "Table")
    assert page.run("return document.querySelectorAll('#plot-cactus tbody tr').length") == 0


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_and_can_be_read(page: Browser, width: int, theme: str) -> None:
    """No sideways scrolling; text differs from its ground by at least 4.5 to 1 (WCAG AA)."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.run(
        "const s = document.querySelector('.theme'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", theme
    )
    page.until(lambda: page.run("return document.documentElement.scrollWidth") <= width)
    script = """const rgb = (v) => getComputedStyle(document.documentElement).getPropertyValue(v).match(/[0-9a-f]{2}/gi).map((h) => parseInt(h, 16) / 255);
        return arguments[0].map(rgb);"""
    paper, card, ink, soft, accent, warning = page.run(
        script, [f"--{n}" for n in "paper card ink soft accent warning".split()]
    )
    for text in (ink, soft, accent, warning):
        assert min(contrast(text, paper), contrast(text, card)) >= 4.5
    assert page.marks("parallel") > 0
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert page.complaints() == []


def contrast(one: list[float], other: list[float]) -> float:
    """WCAG 2: (L1 + 0.05) / (L2 + 0.05)."""

    def luminance(rgb: list[float]) -> float:
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_it_prints_in_light_colours_and_comes_back(page: Browser) -> None:
    """Nothing is wider than the sheet, two small plots stand side by side, and buttons are left out."""
    before = page.run("return [innerWidth, document.querySelector('#plot-scatter svg').getBoundingClientRect().width]")
    page.run(
        """window.addEventListener("beforeprint", () => {
            const box = (name) => document.querySelector(name).getBoundingClientRect();
            const [one, two] = [box("#plot-scatter"), box("#plot-cactus")];
            const widest = Math.max(...[...document.querySelectorAll(".plot svg")].map((n) => n.getBoundingClientRect().width));
            window.printed = [document.documentElement.dataset.theme, widest, one.top === two.top && one.right < two.left];
        }, {once: true})"""
    )
    pdf = page.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})["data"]
    assert base64.b64decode(pdf).startswith(b"%PDF")
    theme, widest, beside = page.run("return window.printed")
    assert theme == "light"
    assert 300 < widest <= 700
    assert beside
    page.until(
        lambda: (
            page.run("return [innerWidth, document.querySelector('#plot-scatter svg').getBoundingClientRect().width]")
            == before
        )
    )
    assert page.complaints() == []
