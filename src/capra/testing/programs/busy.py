"""Burn CPU for so many seconds of wall time: busy.py SECONDS [THREADS-AS-PROCESSES]."""

import os
import sys
import time

end = time.monotonic() + float(sys.argv[1])
for _ in range(int(sys.argv[2]) - 1 if len(sys.argv) > 2 else 0):
    if os.fork() == 0:
        break
while time.monotonic() < end:
    pass
