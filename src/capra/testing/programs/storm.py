"""Fork until 2 ** GENERATIONS processes burn CPU: storm.py GENERATIONS SECONDS."""

import os
import sys
import time

end = time.monotonic() + float(sys.argv[2])
for _ in range(int(sys.argv[1])):
    os.fork()
while time.monotonic() < end:
    pass
