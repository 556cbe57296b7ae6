"""End the first thread, so that /proc shows a zombie, and burn CPU in another: headless.py SECONDS DAEMON.

With DAEMON = 1 a child in its own session does so and the main process sleeps.
"""

import ctypes
import os
import platform
import sys
import threading
import time

end = time.monotonic() + float(sys.argv[1])
EXIT_THREAD = 60 if platform.machine() == "x86_64" else 93


def burn() -> None:
    while time.monotonic() < end:
        pass
    os._exit(0)


if sys.argv[2] == "1":
    if os.fork() != 0:
        time.sleep(float(sys.argv[1]))
        os._exit(0)
    os.setsid()
threading.Thread(target=burn).start()
ctypes.CDLL(None).syscall(EXIT_THREAD, 0)
