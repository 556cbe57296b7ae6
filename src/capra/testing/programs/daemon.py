"""Leave a daemon behind that burns CPU in a session of its own: daemon.py SECONDS MAIN-SECONDS.

The classic double fork: the daemon's parent is gone and it has left session and process group. It ignores
SIGTERM.
"""

import os
import signal
import sys
import time

end = time.monotonic() + float(sys.argv[1])
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    while time.monotonic() < end:
        pass
    os._exit(0)
time.sleep(float(sys.argv[2]))
