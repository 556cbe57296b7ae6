"""A real browser for tests: Chromium without a window."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDS_CHROMIUM = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no Chromium here: apt-get install chromium chromium-driver (see CONTRIBUTING.md)"
)


class Browser:
    """Chromium without a window."""

    def __init__(self, downloads: Path) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        self.downloads = downloads
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
        self.driver.set_page_load_timeout(60)

    def open(self, url: str) -> None:
        self.driver.get(url)
        self.until(lambda: self.run("return document.querySelectorAll('figure[data-marks]').length"))

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[Any]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def marks(self, plot: str) -> int:
        return int(self.run("return document.getElementById(arguments[0]).dataset.marks", f"plot-{plot}"))

    def until(self, holds: Callable[[], Any], patience: float = 40.0) -> Any:
        end = time.monotonic() + patience
        while not (answer := holds()):
            assert time.monotonic() < end, "it never came"
            time.sleep(0.1)
        return answer

    def point_at(self, plot: str, dx: float, dy: float) -> None:
        """Moves the pointer to a place of a plot's surface."""
        script = """const s = document.querySelector(`#plot-${arguments[0]} .plot > svg, #plot-${arguments[0]} .plot > canvas`);
            const b = s.getBoundingClientRect();
            s.dispatchEvent(new PointerEvent("pointermove", {clientX: b.left + arguments[1], clientY: b.top + arguments[2]}));"""
        self.run(script, plot, dx, dy)

    def tip(self, plot: str) -> str | None:
        return self.run("return document.querySelector(`#plot-${arguments[0]} .tip`)?.textContent ?? null", plot)  # type: ignore[no-any-return]

    def press(self, selector: str, *keys: str) -> None:
        script = """const node = document.querySelector(arguments[0]);
            node.focus();
            node.dispatchEvent(new KeyboardEvent("keydown", {key: arguments[1], bubbles: true, cancelable: true}));"""
        for key in keys:
            self.run(script, selector, key)

    def click(self, selector: str, text: str = "") -> None:
        script = """const all = [...document.querySelectorAll(arguments[0])];
            all.find((node) => node.textContent.includes(arguments[1])).click();"""
        self.run(script, selector, text)

    def pointer_click(self, selector: str) -> None:
        """As a hand does it: the page takes it for what the reader wants."""
        self._pointer(selector).click().perform()

    def drag(self, selector: str, start: int, by: int) -> None:
        """From ``start`` pixels below the middle of an element, ``by`` pixels down."""
        self._pointer(selector, start).click_and_hold().move_by_offset(0, by).release().perform()

    def _pointer(self, selector: str, below: int = 0) -> Any:
        from selenium.webdriver import ActionChains

        node = self.driver.find_element("css selector", selector)
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", node)
        return ActionChains(self.driver).move_to_element_with_offset(node, 0, below)
