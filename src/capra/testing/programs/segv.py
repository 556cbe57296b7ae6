"""Claim success and die of SIGSEGV."""

import os
import signal
import sys

sys.stdout.write("s SATISFIABLE\n")
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGSEGV)
