"""Allocate and touch memory step by step, then wait: memory.py BYTES SECONDS [SHARING-CHILDREN].

The children share all pages with their parent, so they need (almost) no memory of their own.
"""

import os
import sys
import time

size, seconds = int(sys.argv[1]), float(sys.argv[2])
blocks = [b"x" * (1 << 20) for _ in range(0, size, 1 << 20)]
for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 0):
    if os.fork() == 0:
        break
time.sleep(seconds)
