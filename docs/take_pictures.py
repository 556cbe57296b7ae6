"""Takes docs/pictures from a report, with Chromium: `python docs/take_pictures.py REPORT.html`."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from selenium import webdriver

PICTURES = Path(__file__).resolve().parent / "pictures"
PLOTS = {"report-instances": "plot-scatter", "report-racing": "plot-matrix"}
"""Pictures of single plots, by the elements that they show."""


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or sys.exit("no chromium: apt-get install chromium chromium-driver")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
    ):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def opened(driver: webdriver.Chrome, report: Path, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(report.resolve().as_uri())
    time.sleep(2.0)  # plots are drawn when they come into view


def main(report: Path) -> None:
    driver = browser()
    try:
        opened(driver, report, 400, 900)
        driver.save_screenshot(str(PICTURES / "report-phone.png"))
        opened(driver, report, 1400, 1000)
        driver.save_screenshot(str(PICTURES / "report.png"))
        for name, plot in PLOTS.items():
            figure = driver.find_element("id", plot)
            driver.execute_script("arguments[0].scrollIntoView({block: 'start', behavior: 'instant'})", figure)
            time.sleep(1.0)
            figure.screenshot(str(PICTURES / f"{name}.png"))
    finally:
        driver.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
