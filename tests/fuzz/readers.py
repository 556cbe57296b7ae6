"""Every reader of data from elsewhere, with an example that it accepts: what is fuzzed.

``attempt(name, data)`` lets a reader have the bytes. Whatever they are, it answers or raises one of our own errors; anything else
is a defect. What the target says (dialects, reports of the supervisor) must not even raise.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from capra.errors import CapraError
from capra.formats.instances import read_features, read_instance_file
from capra.formats.output import OutputRules
from capra.formats.quantities import duration, size
from capra.formats.scenarios import read_options
from capra.formats.text import read_text
from capra.portfolio.description import read_description
from capra.portfolio.records import Records
from capra.portfolio.selectors import make_selector, read_selector
from capra.runs import Objective, trajectory
from capra.runs.arff import read_arff
from capra.runs.exchange import export_store, import_runs
from capra.runs.smac import read as read_smac
from capra.runs.store import Store
from capra.space import Categorical, Real, Space
from capra.space.configurations import read_configurations
from capra.space.irace import parse_irace
from capra.space.json import parse_json
from capra.space.pcs import parse_pcs
from capra.targets import SurrogateTarget
from capra.targets.dialects import make_dialect
from capra.targets.supervisor import _decode
from capra.targets.verify import check_model, read_cnf, read_verifier
from tests.runs.samples import varied

__all__ = ["EXAMPLES", "attempt"]

SPACE = Space([Real("alpha", 0.0, 1.0, 0.5), Categorical("mode", ("fast", "safe"), "fast")])
REPORT = {
    "exit_code": 0,
    "cpu": 0.1,
    "stdout": [2, 0, 0],
    "stderr": [0, 0, 0],
    "ignored": 0,
    "interrupted": False,
    "unkillable": [],
}


def _file(read: Callable[[Path], Any], suffix: str = "") -> Callable[[bytes], None]:
    def attempt(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"file{suffix}"
            path.write_bytes(data)
            found = read(path)
            if hasattr(found, "__next__"):
                list(found)

    return attempt


def _space(parse: Callable[[str, Path], Space]) -> Callable[[bytes], None]:
    """A file in one format of parameters, whatever ``read_space`` would take it for."""
    return _file(lambda path: parse(read_text(path), path))


def _text(read: Callable[[str], Any]) -> Callable[[bytes], None]:
    return lambda data: read(data.decode("utf-8", "replace"))


def _json(read: Callable[[Any], Any]) -> Callable[[bytes], None]:
    def attempt(data: bytes) -> None:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return
        read(document)

    return attempt


def _store(path: Path) -> None:
    with Store.read(path) as store:
        list(store.runs())


def _said(name: str) -> Callable[[bytes], None]:
    dialect = make_dialect(name, None, OutputRules.parse({"json": True} if name == "native" else {}))  # type: ignore[arg-type]
    return _text(lambda text: dialect.read(text, "", 0))


@cache
def _store_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.sqlite"
        Store.create(path, {}).close()
        return path.read_bytes()


@cache
def _exported(kind: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder, varied(None) as store:
        export_store(store, Path(folder) / "runs", kind)
        return (Path(folder) / "runs").read_bytes()


@cache
def _selector_bytes() -> bytes:
    records = Records.of([[0.0], [1.0]], [[1.0, 2.0], [3.0, 1.0]], [[True, True], [True, False]], 5.0)
    return json.dumps(make_selector("single").fit(records).to_dict()).encode()


@cache
def _surrogate_bytes() -> bytes:
    from capra.targets import Table

    configs = [{"alpha": alpha, "mode": "fast"} for alpha in (0.1, 0.5, 0.9)]
    table = Table([[1.0], [2.0], [3.0]], [[True]] * 3, configs=configs, instances=["a"], cutoff=5.0)
    file = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        SurrogateTarget.of_table(table, SPACE, [SPACE.configuration(config) for config in configs]).save(
            Path(folder) / "s.npz"
        )
        file.write((Path(folder) / "s.npz").read_bytes())
    return file.getvalue()


_SPACE_JSON = b'{"name": null, "hyperparameters": [{"type": "uniform_float", "name": "a", "lower": 0, "upper": 1, "default_value": 0.5}], "conditions": [], "forbiddens": []}'

READERS: dict[str, tuple[Callable[[bytes], None], Callable[[], bytes]]] = {
    "scenario.toml": (_file(read_options, ".toml"), lambda: b"target = ['a']\nspace = 'b'\n[budget]\ncpu = 1\n"),
    "scenario.txt": (_file(read_options, ".txt"), lambda: b"algo = ./a\nparamfile = p.pcs\ncutoff_time = 5\n"),
    "pcs": (_space(parse_pcs), lambda: b"a real [0, 1] [0.5]\nb categorical {x, y} [x]\na | b in {x}\n{a=0.1, b=y}\n"),
    "irace": (_space(parse_irace), lambda: b'a "--a=" r (0, 1)\nb "--b " c (x, y) | a > 0.5\n'),
    "space.json": (_space(parse_json), lambda: _SPACE_JSON),
    "instances": (_file(read_instance_file), lambda: b"a.cnf SAT\n'b c.cnf'\n# no\n"),
    "features": (_file(read_features), lambda: b"instance,size,depth\na.cnf,1,2.5\nb.cnf,3,nan\n"),
    "configurations": (_file(lambda path: read_configurations(path, SPACE)), lambda: b"alpha mode\n0.1 fast\n0.2 safe\n"),
    "configurations.json": (
        _file(lambda path: read_configurations(path, SPACE)),
        lambda: b'[{"alpha": 0.1, "mode": "fast"}]',
    ),
    "runs.jsonl": (_file(lambda path: import_runs(path, "jsonl")), lambda: _exported("jsonl")),
    "runs.csv": (_file(lambda path: import_runs(path, "csv")), lambda: _exported("csv")),
    "runhistory.json": (_file(lambda path: read_smac(path, 5.0)), lambda: _exported("smac")),
    "trajectory": (_file(trajectory.read), lambda: b'{"incumbent": ["alpha=\'0.1\'"]}\n'),
    "arff": (_file(read_arff), lambda: b"@RELATION x\n@ATTRIBUTE a STRING\n@ATTRIBUTE b NUMERIC\n@DATA\nx,1\n"),
    "description": (
        _file(read_description),
        lambda: b"scenario_id: x\nperformance_measures:\n- runtime\nmaximize:\n- false\n",
    ),
    "selector": (_json(read_selector), _selector_bytes),
    "surrogate": (_file(SurrogateTarget.load), _surrogate_bytes),
    "store": (_file(_store), _store_bytes),
    "cnf": (_file(read_cnf), lambda: b"c x\np cnf 2 2\n1 -2 0\n2 0\n"),
    "model": (_text(lambda text: check_model(read_cnf("p cnf 2 1\n1 -2 0\n"), text)), lambda: b"s SATISFIABLE\nv 1 -2 0\n"),
    "verifier": (_text(lambda text: read_verifier(0, text)), lambda: b"OK\n"),
    "objective": (_text(Objective.parse), lambda: b"utility:loglaplace(60, 1)"),
    "duration": (_text(duration), lambda: b"1h30m"),
    "size": (_text(size), lambda: b"1.5GB"),
    "output": (_json(OutputRules.parse), lambda: b'{"codes": [0], "solved": "^s", "quality": "q (.*)"}'),
    "report": (_decode, lambda: json.dumps(REPORT).encode() + b"\nok"),  # type: ignore[dict-item]
    "said native": (_said("native"), lambda: b'{"status": "SUCCESS", "time": 1.0}\n'),
    "said paramils": (_said("paramils"), lambda: b"Result for ParamILS: SAT, 1.0, 5, 0, 1\n"),
    "said smac3": (_said("smac3"), lambda: b"cost=1; runtime=2; status=SUCCESS\n"),
    "said irace": (_said("irace"), lambda: b"1.5 2.5\n"),
}
EXAMPLES = {name: example for name, (_, example) in READERS.items()}


def attempt(name: str, data: bytes) -> None:
    """Read the bytes; our own errors are answers."""
    with contextlib.suppress(CapraError):
        READERS[name][0](data)
