"""Rows: their checksums are zlib's, the objects they become are those that were written, damage is never an object."""

from __future__ import annotations

import gc
import math
import struct
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capra.errors import StoreError
from capra.runs import Configuration, Outcome, Run, RunRequest, Status
from capra.runs import bulk as bulk_module
from capra.runs.bulk import bulk
from capra.runs.rows import Lease, Row, checked, config_row, digest, lease_row, outcome_row, read_configs, read_runs
from tests.runs.samples import FAST, ask, solved

numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
values = st.none() | numbers | st.text(st.characters(codec="utf-8"), max_size=40)


def reference(row: Row) -> int:
    """What the docstring of ``digest`` says, with Python's own struct and zlib."""
    codes = "".join({int: "q", float: "d", str: "s", type(None): "-"}[type(value)] for value in row)
    bits = b"".join(struct.pack(f"<{code}", value) for code, value in zip(codes, row, strict=True) if code in "qd")
    texts = "\0".join(value for value in row if isinstance(value, str))
    return crc32(texts.encode(), crc32(bits, crc32(codes.encode())))


@given(st.lists(values, max_size=30).map(tuple))
def test_checksums_are_those_of_zlib(row: Row) -> None:
    assert digest(row) == reference(row)


def test_what_is_no_value_of_a_row() -> None:
    for value in (b"x", True, 1j, [1]):
        with pytest.raises(TypeError, match="None, int, float and str"):
            digest((1, value))  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        digest((2**63,))
    with pytest.raises(UnicodeEncodeError):
        digest(("\udcff",))
    with pytest.raises(StoreError, match="a thing is damaged"):
        checked((1, 2.0, 7), "a thing")


def stored(run: Run) -> tuple[object, ...]:
    lease = lease_row(Lease(3, 1, run.request, run.asked_by))
    row = (run.order, *lease, *outcome_row(run.outcome), run.finished)
    return *row, digest(row)


def test_runs_come_back() -> None:
    outcome = Outcome(Status.CRASHED, 0.5, 5.0, -1.0, 0.5, 1 / 3, 2**40, 1e-9, 1, 9, math.inf, "a", "r", "native", "é")
    runs = [Run(ask(2), outcome, "challenger 7", 1, 2.5), Run(ask(instance=None), solved(), "", 2, 3.0)]
    found = read_runs([stored(run) for run in runs], {FAST.id: FAST})
    assert found == runs
    assert [type(part) for part in (found[0], found[0].request, found[0].outcome)] == [Run, RunRequest, Outcome]
    assert found[0].request.config is FAST
    assert found[0].outcome.status is Status.CRASHED
    with pytest.raises(AttributeError):
        found[0].order = 9  # type: ignore[misc]
    assert all(gc.is_tracked(part) for part in (found[0], found[0].request, found[0].outcome))


def test_damage_in_any_column_is_found() -> None:
    run = Run(ask(2), Outcome(Status.SUCCESS, 0.5, 5.0, 1.0, 1.0, 1.0, 1, 1.0, 1, 1, 1.0, "a", "b", "c", "d"), "who", 4, 1.0)
    row = stored(run)
    for place, value in enumerate(row):
        for wrong in (None, b"x", 7.25, 12345, "other"):
            damaged = [stored(run), (*row[:place], wrong, *row[place + 1 :])]
            if wrong != value:
                with pytest.raises(StoreError, match=r"run \S+ is damaged: its checksum is wrong"):
                    read_runs(damaged, {FAST.id: FAST})
    with pytest.raises(ValueError, match="width"):
        read_runs([row[1:]], {FAST.id: FAST})
    with pytest.raises(KeyError):
        read_runs([row], {})


def test_a_stored_configuration_is_the_same() -> None:
    config = Configuration({"z": 1, "a": 1.0, "m": True, "text": "é"})
    name, text, crc = row = config_row(config)
    known: dict[str, Configuration] = {}
    read_configs([row], known)
    found = known[str(name)]
    read_configs([row], known)
    assert known[str(name)] is found, "equal configurations are one object"
    assert found == config
    assert hash(found) == hash(config)
    assert list(found.items()) == list(config.items()), "arguments are written in this order"
    assert [type(value) for value in found.values()] == [int, float, bool, str]
    assert Configuration(dict(found)).id == name
    with pytest.raises(StoreError, match=f"configuration {name} is damaged: its checksum is wrong"):
        read_configs([(name, str(text).replace("1.0", "2.0"), crc)], known)
    with pytest.raises(ValueError, match="width"):
        read_configs([(name, text)], known)
    with pytest.raises(TypeError):
        read_configs([(name, None, crc)], known)


def test_the_collector_works_again_after_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = gc.get_freeze_count()
    with bulk():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen
    monkeypatch.setattr(bulk_module, "MANY", 100)
    with bulk():
        kept: list[list[int]] = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= frozen + len(kept)
    gc.unfreeze()
