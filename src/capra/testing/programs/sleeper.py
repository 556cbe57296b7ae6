"""Do nothing, without using CPU time: sleeper.py SECONDS."""

import sys
import time

sys.stdout.write("asleep\n")
sys.stdout.flush()
time.sleep(float(sys.argv[1]))
