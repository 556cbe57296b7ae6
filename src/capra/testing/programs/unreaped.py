"""Burn CPU in children that nobody waits for (SIGCHLD is ignored): unreaped.py SECONDS-EACH CHILDREN."""

import os
import signal
import sys
import time

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        while time.process_time() < float(sys.argv[1]):
            pass
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0)
