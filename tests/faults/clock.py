"""A wall clock that can be turned while processes run: a small library between them and the kernel (row 17).

It reaches whoever has ``environment``: coordinators, Dask's scheduler and workers. Supervisors and targets have a clean
environment of their own; of those the sources are read instead (``test_clock.py``).
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

__all__ = ["DAY", "FILE", "Clock", "turn"]

DAY = 86_400
FILE = "CAPRA_TURNED_CLOCK"
"""The variable that names the file with the seconds by which the clock is off."""
LIBRARY = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t *turned_by;
__attribute__((constructor)) static void look_up(void) {
    const char *name = getenv("CAPRA_TURNED_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *found = file < 0 ? MAP_FAILED : mmap(0, sizeof *turned_by, PROT_READ, MAP_SHARED, file, 0);
    if (found != MAP_FAILED) turned_by = found;
    if (file >= 0) close(file);
}
int clock_gettime(clockid_t id, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, id, now);
    if (turned_by && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += *turned_by;
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    int failed = clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec, now->tv_usec = found.tv_nsec / 1000;
    return failed;
}
time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (now) *now = found.tv_sec;
    return found.tv_sec;
}
"""


class Clock:
    """``turn`` makes the date jump in all processes that were started with ``environment``."""

    def __init__(self, folder: Path) -> None:
        """OSError where there is no C compiler."""
        source, library, self.file = folder / "turned.c", folder / "turned.so", folder / "turned"
        compiler = shutil.which("cc")
        if compiler is None:
            raise OSError("there is no C compiler here to build a library that turns the clock")
        source.write_text(LIBRARY)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        self.turn(0)
        self.environment = {"LD_PRELOAD": str(library), FILE: str(self.file)}

    def turn(self, seconds: int) -> None:
        """From now on the date is off by so much."""
        turn(self.file, seconds)


def turn(file: Path, seconds: int) -> None:
    """The same from another process, which knows the file from its environment."""
    opened = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.pwrite(opened, struct.pack("q", seconds), 0)
    finally:
        os.close(opened)
