"""The checker finds each violation that raw SQL can make."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.runs.checker import check, name_of
from tests.runs.samples import FAST, SLOW, varied

WRONG = json.dumps({"config": dict(SLOW), "spent": 100.0, "evaluations": 1, "cost": 1.0, "wall": 1.0})
INCUMBENT = "UPDATE decisions SET data = '{}' WHERE position = 2"
CHEAP = json.dumps({"config": dict(FAST), "spent": 3.0, "evaluations": 1, "cost": 1.0, "wall": 1.0})


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM leases WHERE assignment = 3", "outcome 3 has no lease"),
        ("UPDATE outcomes SET attempt = 2 WHERE position = 1", "outcome 1 has no lease"),
        ("UPDATE leases SET known = 5 WHERE assignment = 2", "outcome 2 came before its lease"),
        ("DELETE FROM leases WHERE assignment = 8 AND attempt = 1", "loss 8 has no lease"),
        ("DELETE FROM configs", "lease 1 has an unknown configuration"),
        ("UPDATE outcomes SET assignment = 8, attempt = 1 WHERE position = 8", "outcome 8 is of an attempt that had been given up"),
        ("UPDATE outcomes SET assignment = 8, attempt = 1 WHERE position = 8", "outcome 8 was lost as well"),
        ("DELETE FROM outcomes WHERE position = 4", "positions are not 1 to 8"),
        ("UPDATE leases SET attempt = 5 WHERE assignment = 9", "attempts at assignment 9 are not 1, 2, …"),
        ("UPDATE leases SET assignment = 20 WHERE assignment = 9", "assignments are not 1 to 20"),
        ("UPDATE outcomes SET time = 5.1 WHERE position = 1", "outcome 1 lasted longer than its cutoff"),
        ("UPDATE outcomes SET time = 0.1 WHERE position = 2", "outcome 2 was stopped but does not stand as its cutoff"),
        ("UPDATE leases SET cutoff = 1.0 WHERE assignment = 1", "outcome 1 had a longer cutoff than was leased"),
        ("UPDATE outcomes SET status = 'LOST' WHERE position = 1", "outcome 1 has no known status"),
        ("UPDATE losses SET status = 'SUCCESS'", "loss 8 is not LOST"),
        ("UPDATE decisions SET known = 9", "decision 1 knew runs that had not been accepted"),
        ("UPDATE decisions SET known = 1 WHERE position = 2", "decision 2 knew runs that an earlier one did not"),
        ("UPDATE configs SET json = '{}' WHERE json LIKE '%fast%'", f"configuration {FAST.id} has other values"),
        (INCUMBENT.format(WRONG), "the incumbent of decision 2 had given a wrong answer"),
        (INCUMBENT.format(CHEAP), "the incumbent of decision 2 does not account for the runs before it"),
    ],
)  # fmt: skip
def test_found(tmp_path: Path, sql: str, message: str) -> None:
    path = tmp_path / "a.db"
    varied(path).close()
    assert check(path) == []
    with sqlite3.connect(path) as raw:
        assert raw.execute(sql).rowcount > 0
    raw.close()
    assert message in check(path)


def test_several_outcomes_of_one_assignment(tmp_path: Path) -> None:
    """The table itself refuses these, so the checker is shown one without that rule."""
    path = tmp_path / "a.db"
    varied(path).close()
    raw = sqlite3.connect(path)
    raw.executescript(
        "CREATE TABLE copy AS SELECT * FROM outcomes; DROP TABLE outcomes; ALTER TABLE copy RENAME TO outcomes;"
        "INSERT INTO outcomes SELECT * FROM outcomes WHERE position = 2; UPDATE outcomes SET position = rowid;"
    )
    raw.close()
    assert "assignment 2 has several outcomes" in check(path)


def test_budget(tmp_path: Path) -> None:
    varied(tmp_path / "a.db").close()
    with sqlite3.connect(tmp_path / "a.db") as raw:
        raw.execute("DELETE FROM outcomes WHERE position = 5")  # the one without a bound
        raw.execute("DELETE FROM leases WHERE assignment = 5")
        (used,) = raw.execute(
            "SELECT sum(time) FROM (SELECT time FROM outcomes UNION ALL SELECT time FROM losses)"
        ).fetchone()
    raw.close()
    for budget, workers, fine in ((used - 4.9, 1, True), (used - 5.1, 1, False), (used - 5.1, 2, True)):
        assert (
            any("was spent of a budget" in line for line in check(tmp_path / "a.db", budget=budget, workers=workers)) != fine
        )


def test_ids() -> None:
    assert name_of(dict(SLOW)) == SLOW.id
