"""Print for ever: output.py SECONDS [BYTES]. Numbered lines of 16 bytes, or exactly so many bytes of them."""

import sys
import time

end = time.monotonic() + float(sys.argv[1])
size = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 62
line = 0
while size > 0 and time.monotonic() < end:
    block = b"".join(b"%015d\n" % number for number in range(line, line + 4096))[:size]
    sys.stdout.buffer.write(block)
    line += 4096
    size -= len(block)
