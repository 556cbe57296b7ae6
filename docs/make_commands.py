"""Writes the commands of docs/commands.md from the declarations of the command line. `python docs/make_commands.py`."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from capra.cli.app import USUAL, app

PAGE = Path(__file__).with_name("commands.md")
MARKS = ("<!-- commands: made by docs/make_commands.py -->", "<!-- end of commands -->")


def updated(page: str) -> str:
    """The page with the present commands between its marks."""
    start, end = MARKS
    made = {name: section(name, call) for name, call in commands()}
    first = [made.pop(name) for name in USUAL]
    text = "\n".join(["## Of every tuning\n", *first, "## Others\n", *(made[name] for name in sorted(made))])
    return re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{text}{end}", page, flags=re.DOTALL)


def commands() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every command's name, the group's before it, and the function behind it."""
    groups: list[tuple[str, Any]] = [
        ("", app),
        *((f"{group.name} ", group.typer_instance) for group in app.registered_groups),
    ]
    for group, one in groups:
        for command in one.registered_commands:
            yield group + (command.name or command.callback.__name__), command.callback


def section(name: str, call: Callable[..., Any]) -> str:
    """One command: how it is called, what it does, its options."""
    hints = get_type_hints(call, include_extras=True)
    arguments, options = [], []
    for parameter in inspect.signature(call).parameters.values():
        kind, info, *_ = *get_args(hints[parameter.name]), None, None
        if isinstance(info, ArgumentInfo):
            optional = parameter.default is not inspect.Parameter.empty
            arguments.append((_argument(parameter.name, kind, info, optional), info.help))
        elif isinstance(info, OptionInfo) and "--json" not in _flags(info):
            options.append((_option(parameter.name, kind, info), _default(parameter.default), info.help))
    lines = [f"### capra {name}\n", f"`capra {' '.join([name, *(shown for shown, _ in arguments)])}`\n", _text(call)]
    if arguments or options:
        lines += ["", "| | default | |", "|---|---|---|"]
        lines += [f"| `{_cell(shown)}` | | {_cell(said)} |" for shown, said in arguments]
        lines += [f"| `{shown}` | {default} | {_cell(said)} |" for shown, default, said in options]
    return "\n".join(lines) + "\n"


def _text(call: Callable[..., Any]) -> str:
    return inspect.cleandoc(call.__doc__ or "")


def _argument(name: str, kind: Any, info: ArgumentInfo, optional: bool) -> str:
    shown = info.metavar or name.upper()
    several = list in (getattr(part, "__origin__", None) for part in (kind, *get_args(kind)))
    shown = f"{shown.rstrip('.…')} …" if several else shown
    return f"[{shown}]" if optional else shown


def _flags(info: OptionInfo) -> list[str]:
    """How an option is called, where its declaration says so; inside of Annotated the first stands where defaults do."""
    return [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]


def _option(name: str, kind: Any, info: OptionInfo) -> str:
    flag = name.replace("_", "-")
    shown = " ".join(_flags(info)) or (f"--{flag} / --no-{flag}" if kind is bool else f"--{flag}")
    return shown if kind is bool else f"{shown} {info.metavar or _kind(kind)}"


def _kind(kind: Any) -> str:
    parts = [part for part in get_args(kind) if part is not types.NoneType] or [kind]
    words = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}
    return _kind(parts[0]) if parts[0] is not kind else words[kind]


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "must be given"
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else f"`{value}`"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
