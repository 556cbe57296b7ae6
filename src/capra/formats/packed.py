"""Files that may be packed: gzip, bzip2 or xz, told by their first bytes, never by their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Mapping
from pathlib import Path

from capra.errors import FormatError

__all__ = ["LARGEST", "read_packed"]

LARGEST = 1 << 30
"""Bytes, unpacked: a few kilobytes can hold many gigabytes."""

_PACKED: Mapping[bytes, type[gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZ": bz2.BZ2File,
    b"\xfd7": lzma.LZMAFile,
}


def read_packed(path: Path) -> bytes:
    """What the file holds, unpacked. FormatError if it cannot be read or is larger than LARGEST."""
    try:
        with path.open("rb") as file:
            packed = _PACKED.get(file.read(2))
        with packed(path) if packed else path.open("rb") as unpacked:
            data: bytes = unpacked.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise FormatError(f"cannot be read: {error}", path=path) from None
    if len(data) > LARGEST:
        raise FormatError(f"is larger than {LARGEST:,} bytes", path=path)
    return data
