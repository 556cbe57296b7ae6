"""A Dask worker to be disturbed: ``python -m tests.engines.dask_worker SCHEDULER HOST [PATH]``.

It has one thread and no nanny, calls its machine HOST, and looks for programs in PATH first. Prints its address when it is up.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys

from distributed import Worker


async def main(scheduler: str, host: str, path: str = "") -> None:
    socket.gethostname = lambda: host
    os.environ["PATH"] = os.pathsep.join(filter(None, (path, os.environ["PATH"])))
    async with Worker(scheduler, nthreads=1, host="127.0.0.1", dashboard=False) as worker:
        sys.stdout.write(f"{worker.address}\n")
        sys.stdout.flush()
        await worker.finished()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
