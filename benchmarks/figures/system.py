"""Guarantees, selection, and the system itself: how large, how many, how fast."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.figures.values import Row, counted, number, results, spread

SHARES = (".002 .005 .011 .032 .105", ".004 .009 .012 .032 .105", ".049 .055 .063 .100 .115")
SYNTHETIC = {"impatient": "106.2", "caps++": "189.5", "caps": "375.0"}


def guarantees() -> Iterator[Row]:
    """CPU days from zero / resumed, mean of the answer (its rank), for the authors' seed; others are on the page."""
    for row in results("guarantees")["rows"]:
        first = row["found"][0]
        days = f"{number(first['restart_days'])} / {number(first['resumed_days'])}"
        yield f"{row['name']}: {row['parameters']}", row["authors"], f"{days}, {number(first['mean'])} ({first['rank']})"
    for row in results("guarantees_rates")["rows"]:
        yield f"events per second of {row['name']} over plain Python", "at least 50", number(row["ratio"])
    shares = results("guarantees_shares")
    theirs = dict(zip(shares["delta"], SHARES, strict=True))
    for delta, ours in shares["delta"].items():
        what = f"share of (ε, {delta})-optimal configurations, ε = .1 .5 1 5 10"
        yield what, theirs[delta], " ".join(f"{share:.3f}".lstrip("0") for share in ours)
    ten = next(row["found"] for row in results("guarantees_synthetic")["rows"] if row["multiplier"] == 10)
    for name, published in SYNTHETIC.items():
        days = sorted(found[name]["resumed_days"] for found in ten)
        yield f"{name}: synthetic, M = 10, CPU days resumed", published, f"{median(days):.0f} (median of {len(days)})"


def aslib() -> Iterator[Row]:
    """Normalised PAR10: 0 is the virtual best, 1 the single best; theirs: medians over 26 scenarios, ours: mean of five, ten folds each."""
    found = results("aslib")
    for name, ours in found["average"].items():
        theirs = "at most .45" if name == "auto" else found["published"].get(name)
        yield name, "–" if theirs is None else f"{theirs}", f"{ours:.2f}"
    worst = max(scenario["auto"]["npar10"] for scenario in found["scenarios"].values())
    yield "auto, worst scenario", "at most 1.05", f"{worst:.2f}"
    capped = results("aslib_capped")["scenarios"]["MAXSAT12-PMS"]["selectors"]
    for name in ("regression", "pairwise", "survival"):
        theirs = "forest of log PAR10 .07, S&H .11, dropping 1.68" if name == "regression" else "–"
        yield f"MAXSAT12-PMS, training runs capped: {name}", theirs, f"{capped[name]['npar10']:.2f}"


def scale() -> Iterator[Row]:
    """A store with a million runs, and simulated clusters."""
    found = results("scale")
    million = found["sizes"][-1]
    history, bare = million["history"]["wall_s"], million["bare"]["wall_s"]
    ours = f"{history:.1f} s ({history / bare:.1f} times reading the rows with bare SQLite)"
    yield f"{million['runs']:,} runs: store opens, history is ready", "below 15 s", ours
    yield "one ask/tell round at that size", "below 5 ms", f"{million['round_ms']:.2f} ms"
    for workers, goal in ((2, 95), (1000, 90)):
        share = 100 * found[f"workers_{workers}"]["utilisation"]
        yield f"{workers:,} simulated workers busy", f"at least {goal} %", f"{share:.1f} %"


def report() -> Iterator[Row]:
    """Seconds for a report, imports included, and milliseconds between frames while it is scrolled (median, 95th percentile)."""
    for size in results("report")["sizes"]:
        made, scroll = size["report"], size["scroll"]
        goal = "below 30 s" if size["runs"] == 100_000 else "–"
        ours = f"{made['cpu_s']:.1f} s of CPU time; {made['wall_s']:.1f} s on a machine with a load of {size['load']:.0f}"
        yield f"{size['runs']:,} runs: the report", goal, ours
        if scroll is not None:
            ours, empty = (
                ", ".join(number(scroll[page][at]) for at in ("median", "p95")) for page in ("report_ms", "empty_ms")
            )
            yield f"{size['runs']:,} runs: scrolling", f"an empty page: {empty}", ours


def importance() -> Iterator[Row]:
    """CPU seconds with 50 parameters and 32 trees: the fit, the shares of single parameters, those of pairs."""
    for name, case in results("importance")["cases"].items():
        ours = ", ".join(f"{case[part]:.1f}" for part in ("fit_cpu_s", "shares_cpu_s", "pairs_cpu_s"))
        yield name, f"scikit-learn's fit: {case['peer_fit_cpu_s']:.1f}", ours


def workers() -> Iterator[Row]:
    """Our own CPU time per run with simulated workers: the whole loop with its store, then the books of the Dask engine alone. In brackets: beside the
    fewest workers.
    """
    found = results("workers")
    yield from _growth("loop", found["loop_ms_per_run"], "ms")
    yield from _growth("engine", {count: row["us_per_run"] for count, row in found["engine"].items()}, "µs")


def _growth(part: str, costs: dict[str, float], unit: str) -> Iterator[Row]:
    """Beside the cost with the fewest workers."""
    few = next(iter(costs.values()))
    for count, cost in costs.items():
        goal = "–" if cost is few else "no more"
        yield f"{part}, {int(count):,} workers", goal, f"{cost:.3g} {unit} ({cost / few:.1f} times)"


def dask() -> Iterator[Row]:
    """One scenario, seed and budget on this machine and on a Dask cluster of 8 processes (medians); then short runs."""
    found = results("dask_engine")
    here, there, load = found["local"], found["dask"], found["dask"]["load"]
    yield (
        f"true mean time of the incumbent, s ({counted(found['same']['seeds'], 'seed')})",
        f"local engine: {here['quality']:.4f}",
        f"{there['quality']:.4f}",
    )
    for what, key, unit in (
        ("overhead per run", "overhead_ms_per_run", " ms"),
        ("utilisation", "utilisation", ""),
        ("CPU time per run, of all processes", "cpu_ms_per_run", " ms"),
    ):
        yield f"{what} (load {load:.0f} on two cores)", f"local engine: {here[key]:g}{unit}", f"{there[key]:g}{unit}"
    for what, theirs in found.get("runs_per_second", {}).items():
        if what != "capra runs":
            ours = f"{found['runs_per_second']['capra runs']:g} runs per second"
            yield f"short runs, 8 workers, beside {what}", f"{theirs:g} per second", ours


def install() -> Iterator[Row]:
    """Installed files and wall time of the first import, numpy's own included, as sums of all that is needed.

    scipy is installed always, though only models import it.
    """
    found = results("install")
    size, taken = found["megabytes"], found["import_seconds"]
    numpy = f"{size['numpy']:.0f} MB, {taken['numpy']:.2f} s"
    yield "numpy alone", "–", numpy
    yield (
        "numpy and Capra without models",
        "73 MB, 0.12 s",
        f"{size['capra'] + size['numpy']:.0f} MB, {taken['capra']:.2f} s",
    )
    yield (
        "numpy and scipy.special",
        "143 MB, 0.36 s",
        f"{size['numpy'] + size['scipy']:.0f} MB, {taken['scipy.special']:.2f} s",
    )
    ours = f"{sum(size[name] for name in ('capra', 'numpy', 'scipy')):.0f} MB, {taken['capra.models']:.2f} s"
    yield "numpy, scipy and Capra with models", "–", ours


def space() -> Iterator[Row]:
    """CPU time beside ConfigSpace on parameter files of AClib2: lingeling (322 parameters), clasp (98 parameters, 63 conditions)."""
    found = results("space")
    seconds, near = found["sampling_cpu_seconds"], found["neighbours_per_cpu_second"]
    for key, title in {"array": "one array", "objects": "objects, then encoded"}.items():
        ours = f"{seconds[key] / seconds['configspace']:.3f} of its time"
        yield f"10,000 samples of lingeling as {title}", "less than twice ConfigSpace's time", ours
    yield (
        "neighbours of clasp's configurations per second",
        "10 times as many",
        f"{near['ours'] / near['configspace']:.1f} times",
    )


def store() -> Iterator[Row]:
    """CPU time of the store for its runs, beside the same rows in bare SQLite."""
    found = results("store")
    for name, step in found["steps"].items():
        beside = f", {step['ratio']:.1f} times bare SQLite" if "ratio" in step else ""
        yield f"{found['runs']:,} runs: {name}", "–", f"{1e6 * step['cpu_s'] / found['runs']:.1f} µs per run{beside}"
    for durability, step in found["one_by_one"].items():
        ours = f"{step['cpu_us']:.0f} µs of CPU time, {step['wall_us']:.0f} µs in all"
        yield f"one by one, durability {durability}: a lease and its outcome", "–", ours


def supervisor() -> Iterator[Row]:
    """Runs of /bin/true, then CPU time at death beyond a cutoff, all cores loaded: least, median, 99th percentile (ms)."""
    found, engine = results("supervisor"), results("engine")
    for title, part in (("supervisor", found["overhead"]), ("LocalEngine", engine)):
        bare, ours = part["subprocess.run"], part[title]
        yield (
            f"{title}: CPU time per run",
            f"subprocess.run: {bare['cpu_ms_per_run']:.2f} ms",
            f"{ours['cpu_ms_per_run']:.2f} ms",
        )
    late = found["overshoot"]
    peers = "; ".join(f"{name}: {_late(late[name])}" for name in ("timeout (wall time)", "RLIMIT_CPU"))
    yield f"cutoff of {late['cutoff']:g} s, {late['repetitions']} repetitions", peers, _late(late["supervisor"])


def _late(row: dict[str, float]) -> str:
    return ", ".join(f"{row[key]:.1f}" for key in ("least_ms", "median_ms", "p99_ms"))


def features() -> Iterator[Row]:
    """CPU time of all our features of a formula, beside others that only read it."""
    for name, found in results("cnf_features")["formulas"].items():
        seconds = dict(found["seconds"])
        ours = seconds.pop("all features")
        theirs = "; ".join(f"{peer}: {number(1000 * value)} ms" for peer, value in seconds.items())
        yield f"{name} ({found['megabytes']:.1f} MB)", theirs, f"{number(1000 * ours)} ms"


def homogeneity() -> Iterator[Row]:
    """CPU time of advice from a history."""
    for name, found in results("homogeneity")["histories"].items():
        yield f"{name}, {found['runs']:,} runs", "below 1 s", f"{found['seconds']:.2f} s"


def portfolios() -> Iterator[Row]:
    """Median test PAR10 on recorded SPEAR at equal budgets, seed by seed beside the single configuration that smac finds; then a problem
    where a portfolio wins by a known factor, and clasp on a mix of three families.
    """
    found = results("portfolios")
    for name, row in found["test_par10"].items():
        low, high = row["quartiles"]
        beside = [f"better in {row['better']}, p = {row['p']:.2g}"] if "p" in row else []
        yield f"{name}, {found['hours']:g} h", "–", spread([low, row["median"], high], row["seeds"], *beside)
    factor = results("portfolio_factor")
    what = "isac: times as fast as the single configuration"
    yield what, f"{factor['provable']:g} (provable)", spread(factor["quartiles"], len(factor["rows"]))
    clasp = results("portfolio_clasp")
    what = f"clasp, {clasp['builder']}, {clasp['budget_cpu_s']:.0f} s: PAR10 of what is run"
    yield what, f"default: {clasp['default_par10']:.2f} s", f"{clasp['run_par10']:.2f} s"
