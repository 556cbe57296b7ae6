"""The invariants of a tuning, checked from the SQLite file alone.

Written apart from the store on purpose: raw SQL and the standard library only, so that a mistake there is not repeated here.
``check(path)`` lists what is violated; an empty list is a sound history. Not visible in a file, and tested elsewhere: that
acknowledged rows are never lost, that no process outlives its run, and that equal outcomes give equal decisions.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

RULES = {
    # 1. every outcome has one earlier lease with that (assignment, attempt); so has every loss
    "outcome {} has no lease": "SELECT position FROM outcomes o WHERE NOT EXISTS (SELECT 1 FROM leases l "
    "WHERE l.assignment = o.assignment AND l.attempt = o.attempt)",
    "outcome {} came before its lease": "SELECT o.position FROM outcomes o JOIN leases l USING (assignment, attempt) "
    "WHERE l.known >= o.position",
    "loss {} has no lease": "SELECT x.assignment FROM losses x LEFT JOIN leases l USING (assignment, attempt) "
    "WHERE l.config IS NULL",
    "lease {} has an unknown configuration": "SELECT assignment FROM leases WHERE config NOT IN (SELECT id FROM configs)",
    # 2. at most one accepted outcome per assignment, of its last attempt; positions are 1..n, attempts 1..k
    "assignment {} has several outcomes": "SELECT assignment FROM outcomes GROUP BY assignment HAVING count(*) > 1",
    "outcome {} is of an attempt that had been given up": "SELECT o.position FROM outcomes o JOIN leases l "
    "ON l.assignment = o.assignment AND l.attempt > o.attempt",
    "outcome {} was lost as well": "SELECT o.position FROM outcomes o JOIN losses x USING (assignment, attempt)",
    "positions are not 1 to {}": "SELECT max(position) FROM outcomes HAVING max(position) <> count(*) OR min(position) <> 1",
    "attempts at assignment {} are not 1, 2, …": "SELECT assignment FROM leases GROUP BY assignment "
    "HAVING min(attempt) <> 1 OR max(attempt) <> count(*)",
    "assignments are not 1 to {}": "SELECT max(assignment) FROM leases "
    "HAVING max(assignment) <> count(DISTINCT assignment) OR min(assignment) <> 1",
    # 4. time <= cutoff, and no grace: what runs longer is measured but stands as its cutoff; a cutoff only shrinks
    "outcome {} lasted longer than its cutoff": "SELECT position FROM outcomes WHERE time > cutoff OR time < 0",
    "outcome {} was stopped but does not stand as its cutoff": "SELECT position FROM outcomes "
    "WHERE status IN ('CAPPED', 'TIMEOUT') AND time <> cutoff",
    "outcome {} had a longer cutoff than was leased": "SELECT o.position FROM outcomes o "
    "JOIN leases l USING (assignment, attempt) WHERE o.cutoff > l.cutoff OR o.cutoff <= 0 OR l.cutoff <= 0",
    "outcome {} has no known status": "SELECT position FROM outcomes "
    "WHERE status NOT IN ('SUCCESS', 'CAPPED', 'TIMEOUT', 'MEMOUT', 'CRASHED', 'WRONG')",
    "loss {} is not LOST": "SELECT assignment FROM losses WHERE status <> 'LOST'",
    "decision {} knew runs that an earlier one did not": "SELECT b.position FROM decisions a JOIN decisions b "
    "ON b.position = a.position + 1 WHERE b.known < a.known",
    "decision {} knew runs that had not been accepted": "SELECT position FROM decisions "
    "WHERE known > (SELECT count(*) FROM outcomes)",
}


def check(path: str | Path, *, budget: float = math.inf, workers: int = 1) -> list[str]:
    """What is wrong with the store; ``budget`` in target time may be exceeded by one cutoff per worker."""
    connection = sqlite3.connect(f"file:{quote(str(Path(path).absolute()))}?mode=ro", uri=True)
    try:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        for message, sql in RULES.items():
            found += [message.format(row[0]) for row in connection.execute(sql)]
        return [*found, *_configurations(connection), *_incumbents(connection), *_budget(connection, budget, workers)]
    finally:
        connection.close()


def name_of(values: dict[str, object]) -> str:
    """The id that a configuration must have."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _configurations(connection: sqlite3.Connection) -> Iterator[str]:
    for name, text in connection.execute("SELECT id, json FROM configs"):
        if name_of(json.loads(text)) != name:
            yield f"configuration {name} has other values"


def _incumbents(connection: sqlite3.Connection) -> Iterator[str]:
    """5. never one with an earlier WRONG outcome; 6. what was spent by then covers the runs by then, and only grows."""
    sql = "SELECT l.config, min(o.position) FROM outcomes o JOIN leases l USING (assignment, attempt) WHERE status = 'WRONG' GROUP BY 1"
    wrong = dict(connection.execute(sql))
    before = -math.inf
    for place, text, known in connection.execute(
        "SELECT position, data, known FROM decisions WHERE kind = 'incumbent' ORDER BY 1"
    ):
        data = json.loads(text)
        if wrong.get(name_of(data["config"]), math.inf) <= known:
            yield f"the incumbent of decision {place} had given a wrong answer"
        (used,) = connection.execute("SELECT total(time) FROM outcomes WHERE position <= ?", (known,)).fetchone()
        if data["spent"] < used * (1 - 1e-9) or data["spent"] < before or data["evaluations"] > known:
            yield f"the incumbent of decision {place} does not account for the runs before it"
        before = data["spent"]


def _budget(connection: sqlite3.Connection, budget: float, workers: int) -> Iterator[str]:
    (used,) = connection.execute("SELECT (SELECT total(time) FROM outcomes) + (SELECT total(time) FROM losses)").fetchone()
    (longest,) = connection.execute("SELECT ifnull(max(cutoff), 0) FROM leases").fetchone()
    if used > budget + workers * longest:
        yield f"{used} was spent of a budget of {budget}"
