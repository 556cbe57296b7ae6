"""Leave a directory behind that is hard to remove: read-only parts and DEPTH directories in each other."""

import os
import sys

os.mkdir("locked")
with open("locked/file", "w"):
    pass
os.mkdir("locked/empty")
os.chmod("locked/empty", 0)
os.chmod("locked", 0o500)
for _ in range(int(sys.argv[1])):
    os.mkdir("d")
    os.chdir("d")
