"""Write a file of so many bytes into the working directory, however hard: files.py BYTES."""

import sys

block = b"x" * (1 << 20)
with open("filler", "wb") as file:
    for _ in range(0, int(sys.argv[1]), len(block)):
        file.write(block)
