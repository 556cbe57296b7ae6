"""Read standard input to its end and say how many bytes there were."""

import sys

sys.stdout.write(f"{len(sys.stdin.buffer.read())} bytes\n")
