"""A small coordinator that is to be killed: resumes or creates the store, then leases and finishes for ever.

Every line it prints was acknowledged by the store before: ``lease ASSIGNMENT ATTEMPT`` or ``run POSITION TIME``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from capra.runs.store import Store
from tests.runs.samples import META, ask, lost, solved


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(path: Path) -> None:
    store = Store.open(path) if path.exists() and path.stat().st_size else Store.create(path, META)
    say("ready")
    store.abandon_open_leases("killed")
    while True:
        leases = store.lease_many([(ask(store.accepted), "loop"), (ask(store.accepted + 1), "loop")])
        for lease in leases:
            say("lease", lease.assignment, lease.attempt)
        if leases[0].assignment % 5 == 0:
            store.finish(leases[0].assignment, 1, lost(), 1.0)
            leases[0] = store.release(leases[0])
        for lease in leases:
            time = 5.0 / (store.accepted + 1)
            run = store.finish(lease.assignment, lease.attempt, solved(time), 1.0)
            say("run", run.order if run else None, repr(time))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
