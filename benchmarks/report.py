"""How long does a report of many runs take, and does it scroll smoothly? ``python -m benchmarks.report`` (``--runs``, ``--again``).

A synthetic history as racing leaves it: an incumbent with many pairs, challengers with one to a few capped runs, in a space of
twenty parameters and on a hundred instances. The report is made in a process of its own, imports included; beside it the peer:
the same rows fetched with nothing but Python's sqlite3. Then the cost of one update of the live page with ten new runs. At last
the report is scrolled in Chromium (from Debian, without a window) from its top to its end, 60 pixels for each frame: milliseconds
between frames, beside those of an empty page of the same height. Finished sizes are kept and not measured again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import RESULTS, machine, write_results
from benchmarks.scale import bare, timed
from capra.folder import open_store
from capra.report.html.page import document_of
from capra.report.html.view import View
from capra.runs import Configuration, Outcome, RunRequest, Status
from capra.runs.store import Store
from capra.scenario import Scenario
from capra.space import Categorical, Real, Space

KAPPA = 100.0
INSTANCES = [f"instances/quasigroup-{k:03d}.cnf" for k in range(100)]
CHUNK = 5000
STEP = 60
"""Pixels that are scrolled from frame to frame."""
SCROLL = """const [step, done] = arguments, root = document.documentElement, times = [];
root.style.scrollBehavior = "auto";
let [last, at] = [null, 0];
const frame = (now) => {
  if (last !== null) times.push(now - last);
  last = now;
  scrollTo(0, (at += step));
  if (at < root.scrollHeight - innerHeight) requestAnimationFrame(frame);
  else done([root.scrollHeight, times]);
};
requestAnimationFrame(frame);"""
LIMIT = 30.0
"""Seconds that a report over 100,000 runs may take."""


def scenario() -> Scenario:
    numbers = [Real(f"x{j:02d}", 0.0, 1.0, 0.5) for j in range(14)]
    choices = [Categorical(f"mode{j}", ("slow", "middle", "fast"), "slow") for j in range(6)]
    return Scenario(
        target="some:function", space=Space([*numbers, *choices]), instances=INSTANCES, cutoff=KAPPA, unit="steps",
        budget={"runs": 10_000_000},
    )  # fmt: skip


def fill(store: Store, given: Scenario, runs: int, first: int = 0) -> None:
    """Challengers that are stopped where they are too slow; every tenth run is the default's, and every tenth the incumbent's."""
    rng, incumbent = np.random.default_rng(first), best(given)
    for start in range(first, first + runs, CHUNK):
        count = min(CHUNK, first + runs - start)
        configs = given.space.decode(given.space.sample(count // 2 + 1, rng))
        requests, outcomes = [], []
        for k in range(count):
            config = {0: given.default, 1: incumbent}.get(k % 10, configs[k // 2])
            instance, seed = (start + k) // 10 % len(INSTANCES) if k % 10 < 2 else k % len(INSTANCES), (start + k) // 10
            time = math.exp(rng.normal(instance / 40 + speed(config), 1.0))
            cutoff = KAPPA if k % 10 < 2 else min(KAPPA, 1.5 * math.exp(instance / 40))
            requests.append((RunRequest(config, INSTANCES[instance], seed, cutoff), "challenger 1"))
            outcomes.append(outcome(time, cutoff))
        leases = store.lease_many(requests)
        store.finish_many((lease.assignment, 1, told, 0.0) for lease, told in zip(leases, outcomes, strict=True))


def best(given: Scenario) -> Configuration:
    return Configuration(dict(given.default) | {"x00": 0.3, "mode0": "fast"})


def crown(store: Store, given: Scenario) -> None:
    """The default was incumbent at first, then the best one."""
    for k, config in enumerate((given.default, best(given))):
        found = {"config": dict(config), "cost": 2.0 - k, "spent": 10.0 * (k + 1), "wall": 0.0, "evaluations": k}
        store.decide("incumbent", str(k), found)


def speed(config: Configuration) -> float:
    return 3.0 * (float(config["x00"]) - 0.3) ** 2 + (0.0 if config["mode0"] == "fast" else 0.5)


def outcome(time: float, cutoff: float) -> Outcome:
    if time <= cutoff:
        return Outcome(Status.SUCCESS, time, cutoff)
    return Outcome(Status.CAPPED if cutoff < KAPPA else Status.TIMEOUT, cutoff, cutoff)


def made(folder: Path) -> dict[str, Any]:
    """The report, as a user makes it."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "capra", "report", str(folder), "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": time.monotonic() - wall, "cpu_s": cpu, "memory_mb": after.ru_maxrss / 1024, "bytes": told["bytes"]}


def updated(folder: Path, given: Scenario, runs: int) -> dict[str, float]:
    """One update of the live page: ten more runs, and all sections again."""
    view = View(folder)
    view.update()
    document_of(view)  # whatever is loaded on first use
    with Store.open(folder / "history.sqlite", durability="batch") as store:
        fill(store, given, 10, first=runs)
    spent, _ = timed(lambda: (view.update(), document_of(view)))
    view.close()
    return spent


def scrolled(report: Path) -> dict[str, Any] | None:
    """Milliseconds between frames while the page is scrolled, and while an empty one is; None without a browser."""
    from selenium import webdriver

    programs = [shutil.which("chromium"), shutil.which("chromedriver")]
    if None in programs:
        return None
    options = webdriver.ChromeOptions()
    options.binary_location = str(programs[0])
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(programs[1])))
    try:
        driver.set_script_timeout(300)
        driver.get(report.as_uri())
        time.sleep(2.0)
        height, ours = driver.execute_async_script(SCROLL, STEP)
        driver.get("about:blank")
        driver.execute_script("document.body.style.height = arguments[0] + 'px'", height)
        _, empty = driver.execute_async_script(SCROLL, STEP)
    finally:
        driver.quit()
    return {"height": height, "report_ms": frames(ours), "empty_ms": frames(empty)}


def frames(times: list[float]) -> dict[str, float]:
    median, late = np.quantile(times, [0.5, 0.95])
    return {"frames": len(times), "median": float(median), "p95": float(late), "worst": max(times)}


def measured(runs: int) -> dict[str, Any]:
    """All that is measured with so many runs in the store."""
    with tempfile.TemporaryDirectory() as name:
        folder, given = Path(name), scenario()
        with open_store(given, {"strategy": "roar", "engine": "simulated", "options": {}}, folder) as store:
            fill(store, given, runs)
            crown(store, given)
        spent, _ = timed(lambda: bare(folder / "history.sqlite"))
        found = {"runs": runs, "load": os.getloadavg()[0], "bare": spent, "report": made(folder)}
        return found | {"scroll": scrolled(folder / "report.html"), "update": updated(folder, given, runs)}


def told(found: dict[str, Any]) -> str:
    report, update, scroll = found["report"], found["update"], found["scroll"]
    words = (
        f"{found['runs']:,} runs (load {found['load']:.0f}): report in {report['wall_s']:.1f} s ({report['cpu_s']:.1f} of CPU, "
        f"{report['cpu_s'] / found['bare']['cpu_s']:.1f} times sqlite3 alone), {report['bytes'] / 1e6:.2f} MB, "
        f"{report['memory_mb']:.0f} MB of memory; an update of the live page {update['cpu_s']:.2f} s of CPU"
    )
    if scroll is None:
        return f"{words}; no Chromium here to scroll it in"
    ours, empty = scroll["report_ms"], scroll["empty_ms"]
    return (
        f"{words}; scrolling: {ours['median']:.1f} ms between frames, 95 % below {ours['p95']:.1f} "
        f"(an empty page: {empty['median']:.1f} and {empty['p95']:.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--again", action="store_true", help="Measure sizes again that are kept already.")
    given = parser.parse_args()
    file = RESULTS / "report.json"
    kept = json.loads(file.read_text())["sizes"] if file.exists() else []
    sizes = {found["runs"]: found for found in kept if "scroll" in found}
    for runs in given.runs:
        if runs not in sizes or given.again:
            sizes[runs] = measured(runs)
            document = {"machine": machine("capra", "numpy"), "sizes": [sizes[size] for size in sorted(sizes)]}
            write_results("report", document)
        print(told(sizes[runs]), flush=True)
        if runs == 100_000:
            print(f"below {LIMIT:.0f} s: {'yes' if sizes[runs]['report']['wall_s'] < LIMIT else 'no'}")


if __name__ == "__main__":
    main()
