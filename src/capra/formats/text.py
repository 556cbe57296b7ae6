"""Reading text that comes from elsewhere: size limits first, then a scanner that knows where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from capra.errors import FormatError

__all__ = ["LARGEST_FILE", "LONGEST_LINE", "Scanner", "numbered_lines", "read_text", "strip_comment"]

LARGEST_FILE = 64 * 1024 * 1024
LONGEST_LINE = 1_000_000

_BLANKS = re.compile(r"\s*")


def read_text(path: str | Path) -> str:
    """The file's text. FormatError if it cannot be read, is too large, or is not UTF-8 without NUL bytes."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=path) from None
    if len(data) > LARGEST_FILE:
        raise FormatError(f"is larger than {LARGEST_FILE // 1024**2} MB", path=path)
    _refuse(data, b"\0", "a NUL byte", path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _place(data, error.start)
        raise FormatError("is not UTF-8 text", path=path, line=line, column=column) from None


def _refuse(data: bytes, byte: bytes, what: str, path: str | Path) -> None:
    if (at := data.find(byte)) >= 0:
        line, column = _place(data, at)
        raise FormatError(f"{what} in a text file", path=path, line=line, column=column)


def _place(data: bytes, at: int) -> tuple[int, int]:
    start = data.rfind(b"\n", 0, at) + 1
    return data.count(b"\n", 0, at) + 1, at - start + 1


def numbered_lines(text: str, path: str | Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1, without line ends; a line over LONGEST_LINE is refused."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        if len(line) > LONGEST_LINE:
            raise FormatError(f"the line has {len(line):,} characters, more than {LONGEST_LINE:,}", path=path, line=number)
        yield number, line


def strip_comment(line: str) -> str:
    """The line up to its ``#``, without trailing blanks."""
    return line.partition("#")[0].rstrip()


class Scanner:
    """A cursor over one line. Blanks between tokens are skipped; errors say line and column."""

    def __init__(self, text: str, path: str | Path, line: int) -> None:
        self.text = text
        self.path = path
        self.line = line
        self.at = 0

    def skip_blanks(self) -> None:
        if blanks := _BLANKS.match(self.text, self.at):
            self.at = blanks.end()

    @property
    def done(self) -> bool:
        """Nothing but blanks is left."""
        self.skip_blanks()
        return self.at == len(self.text)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Match ``pattern`` here and move past it."""
        self.skip_blanks()
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def accept(self, token: str) -> bool:
        """Move past ``token`` if it stands here."""
        self.skip_blanks()
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def expect(self, token: str, what: str | None = None) -> None:
        """Move past ``token`` or raise."""
        if not self.accept(token):
            self.fail(f"expected {what or repr(token)}")

    def need(self, pattern: re.Pattern[str], what: str) -> str:
        """The text that matches ``pattern`` here, or raise."""
        match = self.take(pattern)
        if not match:
            self.fail(f"expected {what}")
        return match[0]

    def finish(self) -> None:
        """Raise unless the line is used up."""
        if not self.done:
            self.fail("unexpected text")

    def fail(self, message: str, *, at: int | None = None, hint: str | None = None) -> NoReturn:
        """Raise a FormatError at the cursor (or ``at``), quoting what stands there."""
        self.skip_blanks()
        place = self.at if at is None else at
        rest = self.text[place : place + 30]
        found = f", found {rest!r}" if rest else ", found the end of the line"
        raise FormatError(message + found, path=self.path, line=self.line, column=place + 1, hint=hint)
