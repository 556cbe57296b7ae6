"""Change the process id all the time: fork, exit, go on in the child, in a new session: relay.py SECONDS."""

import os
import sys
import time

end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
