"""Ignore every signal that can be ignored and burn CPU: deaf.py SECONDS."""

import signal
import sys
import time

end = time.monotonic() + float(sys.argv[1])
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, signal.SIG_IGN)
sys.stdout.write("deaf\n")
sys.stdout.flush()
while time.monotonic() < end:
    pass
