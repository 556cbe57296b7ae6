"""How to get the same again."""

from __future__ import annotations

import json
import shlex
from typing import Any

from capra.report.html.blocks import Section, code, table
from capra.report.html.view import View

__all__ = ["reproduce"]


def reproduce(view: View) -> Section:
    """Versions, settings, seeds, the scenario, and the commands."""
    facts = [["Capra", view.meta.get("capra")], ["Python", view.meta.get("python")], ["machine", view.meta.get("machine")]]
    facts += [[name, _text(value)] for name, value in view.settings.items() if value not in ({}, [])]
    facts += [["store", str(view.run)], ["runs", str(len(view.history))]]
    rows = [[name, value] for name, value in facts if value]
    blocks = [
        table("facts", "How it was made", "Versions, seeds and settings as the store keeps them.", ["what", "value"], rows),
        code("Commands", "\n".join(_commands(view))),
        code("Scenario", json.dumps(view.meta.get("given") or view.scenario, indent=2, ensure_ascii=False), folded=True),
    ]
    return Section("reproduce", "Reproduce", blocks)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _commands(view: View) -> list[str]:
    run, settings = shlex.quote(str(view.run)), view.settings
    after = [f"capra {'portfolio evaluate' if view.builds else 'validate'} {run}", f"capra report {run}"]
    if settings.get("strategy") == "import" or settings.get("engine") != "local":
        return after
    options = dict(settings.get("options", {}))
    strategy = f"--strategy {settings['strategy']}"
    if view.builds:
        strategy = f"--builder {settings['strategy']} --strategy {options.pop('inner', 'smac')}"
    given = [strategy, f"--seed {settings['seed']}", f"--workers {settings['workers']}"]
    given += [f"--set {shlex.quote(f'{name}={json.dumps(value)}')}" for name, value in options.items()]
    what = "portfolio build" if view.builds else "tune"
    return [f"capra {what} scenario.toml --out NEW {' '.join(given)}", f"capra resume {run}", *after]
