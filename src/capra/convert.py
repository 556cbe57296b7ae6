"""``capra convert``: spaces and scenarios from one file format to another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from capra.errors import InputError, ScenarioError
from capra.formats.options import CNF
from capra.formats.scenarios import SCENARIO_FORMATS, read_options, write_options
from capra.formats.text import read_text, strip_comment
from capra.scenario import Scenario
from capra.space import Space
from capra.space.files import SPACE_FORMATS, read_space, space_format
from capra.space.irace import USUAL_DIGITS, irace3_forbidden, irace_digits, irace_names

__all__ = ["convert", "write_atomically"]

_ASSIGNMENT = re.compile(r"\s*[A-Za-z][\w.-]*\s*(?:=|<-)\s*[^=]")
_GLOB = re.compile(r"[*?\[]")
_PATHS = ("space", "instances", "test_instances", "features", "configurations", "initial", "directory")


def convert(source: Path, destination: Path, kind: str | None = None, *, force: bool = False) -> list[str]:
    """Write ``source`` to ``destination`` in the format ``kind`` (by default its suffix's); returns notes for the user.

    Nothing is written when the source cannot be read or the format cannot express it.
    """
    known = (*SPACE_FORMATS, *SCENARIO_FORMATS)
    if kind is not None and kind not in known:
        raise InputError(f"unknown format {kind!r}", hint="one of " + ", ".join(dict.fromkeys(known)))
    _keep(destination, force=force)
    if _is_scenario(source):
        return _convert_scenario(source, destination, kind)
    return _convert_space(source, destination, kind, force=force)


def _is_scenario(source: Path) -> bool:
    """Scenario files are TOML, or lines that assign; parameter files declare."""
    if source.suffix.lower() == ".toml":
        return True
    if source.suffix.lower() in (".pcs", ".json"):
        return False
    lines = [line for line in read_text(source).splitlines() if strip_comment(line).strip()]
    return sum(bool(_ASSIGNMENT.match(line)) for line in lines) * 2 > len(lines)


def _convert_space(source: Path, destination: Path, kind: str | None, *, force: bool) -> list[str]:
    space = read_space(source)
    kind = kind or space_format(destination)
    if kind not in SPACE_FORMATS:
        raise InputError(f"{source} is a parameter file; {kind} is a scenario format")
    texts = {destination: SPACE_FORMATS[kind][1](space)}
    notes = [*_irace_notes(space)] if kind in ("irace", "irace3") else []
    if kind == "irace3" and space.forbidden:
        place = destination.with_suffix(".forbidden.txt")
        texts[place] = irace3_forbidden(space)
        notes.append(f'the forbidden clauses are in {place}: say forbiddenFile = "{place.name}" in irace\'s scenario')
    if kind == "irace3" and (digits := irace_digits(space)) > USUAL_DIGITS:
        notes.append(f"say digits = {digits} in irace's scenario: it rounds real numbers, also bounds")
    if kind == "pcs" and space.switches:
        notes.append("PCS files carry no switches: say in the scenario how parameters become arguments")
    for path in texts:
        _keep(path, force=force)
    for path, text in texts.items():
        write_atomically(path, text)
    return notes


def _keep(path: Path, *, force: bool) -> None:
    """What is there already stays, unless it may be overwritten."""
    if path.exists() and not force:
        raise InputError(f"{path} is already there", hint="--force overwrites it")


def _irace_notes(space: Space) -> Iterator[str]:
    yield "irace files carry no defaults: give the default configuration in configurationsFile"
    if renamed := [f"{name} is {ours}" for name, ours in irace_names(space).items() if name != ours]:
        some = ", ".join(renamed[:3]) + (" …" if len(renamed) > 3 else "")
        yield f"R takes a '-' for a minus: {some}; switches are as they were"


def _convert_scenario(source: Path, destination: Path, kind: str | None) -> list[str]:
    draft = read_options(source)
    kind = kind or _scenario_kind(destination, draft.options)
    if kind not in SCENARIO_FORMATS:
        raise InputError(f"{source} is a scenario; {kind} is a parameter file format")
    options = dict(draft.options)
    notes = list(draft.notes)
    if not _same_folder(source, destination):
        _move(options, draft.bases, destination.parent, notes)
    text = write_options(options, kind)
    write_atomically(destination, text)
    notes += _lost_on_the_way(source, destination)
    return notes


def _same_folder(source: Path, destination: Path) -> bool:
    return source.resolve().parent == destination.resolve().parent and source.suffix.lower() == ".toml"


def _move(options: dict[str, Any], bases: tuple[Path, ...], folder: Path, notes: list[str]) -> None:
    """Rewrite relative paths as seen from the new scenario's folder."""
    for key in _PATHS:
        if isinstance(options.get(key), str) and (key, options[key]) != ("features", CNF):
            options[key] = _relocate(options[key], bases, folder, key, notes)
        elif isinstance(options.get(key), list) and key.endswith("instances"):
            options[key] = [_relocate(name, bases, folder, key, notes) for name in options[key]]
    for key in ("target", "verifier"):
        if isinstance(options.get(key), list):
            options[key] = [_relocate(word, bases, folder, key, []) if "/" in word else word for word in options[key]]


def _lost_on_the_way(source: Path, destination: Path) -> list[str]:
    """What no longer loads although the source does: files that list others by relative path, modules beside it."""
    try:
        Scenario.load(source)
    except InputError:
        return []
    try:
        Scenario.load(destination)
    except ScenarioError as error:
        return [f"the written scenario does not load here: {error}"]
    return []


def _scenario_kind(destination: Path, options: dict[str, Any]) -> str:
    if destination.suffix.lower() == ".toml":
        return "toml"
    if destination.suffix.lower() != ".txt":
        raise InputError(f"{destination}: cannot tell the format from the name", hint="end it in .toml or .txt, or use --to")
    return "irace" if options.get("dialect") == "irace" else "aclib"


def _relocate(value: str, bases: tuple[Path, ...], folder: Path, key: str, notes: list[str]) -> str:
    """The same file, as seen from the new scenario's folder; of a pattern, the part before its first wildcard."""
    if Path(value).is_absolute():
        return value
    if wildcard := _GLOB.search(value):
        start = value[: wildcard.start()].rpartition("/")[0]
        moved = _relocate(start or ".", bases, folder, key, notes)
        return f"{moved}/{value[len(start) :].lstrip('/')}"
    for base in bases:
        if (base / value).exists():
            return os.path.relpath((base / value).resolve(), folder.resolve())
    notes.append(f"{key}: {value} is not there; left as written")
    return value


def write_atomically(path: Path, text: str) -> None:
    """Write the file whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}") from None
