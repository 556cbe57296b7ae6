"""What ``capra status`` and ``capra show`` know, as lines of a name and a text. The documents are those of ``--json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capra.report.words import amount, clock, count, settings

__all__ = ["Rows", "configuration_rows", "status_rows"]

Rows = list[tuple[str, str]]


def status_rows(document: Mapping[str, Any]) -> Rows:
    """The rows of ``status_of``: only what there is something to say about."""
    rows = [("name", document["name"]), ("runs", _runs(document)), ("spent", _spent(document))]
    rows += _incumbent_rows(document) if document["incumbent"] else [("incumbent", "none yet")]
    if (promise := document.get("certificate")) is not None:
        rows += _certificate_rows(promise, document["unit"])
    if (audits := document["audited_rejections"]) is not None:
        rows.append(("audit", f"{audits['wrong']} of {count(audits['checked'], 'checked rejection')} wrong"))
    if (alike := document.get("homogeneity")) is not None:
        rows.append(("advice", _advice(alike)))
    if document["repeats"]["runs"]:
        rows.append(("repeats", _repeats(document["repeats"])))
    rows += [("warning", text) for text in document["warnings"]]
    return [(name, text) for name, text in rows if text]


def _runs(document: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{number} {status.lower()}" for status, number in document["statuses"].items())
    interrupted = f", {document['interrupted']} interrupted" if document["interrupted"] else ""
    return f"{document['runs']:,} ({counts or 'none yet'}), {document['under_way']} under way{interrupted}"


def _spent(document: Mapping[str, Any]) -> str:
    budget, unit = document["budget"], document["unit"]
    given = [amount(budget["cpu"], unit)] if budget["cpu"] is not None else []
    given += [f"{clock(budget['wall'])} on the clock"] if budget["wall"] is not None else []
    given += [count(budget["runs"], "run")] if budget["runs"] is not None else []
    target = f"{amount(document['target_time'], unit)} by the target, {amount(document['own_time'], 'cpu')} by Capra"
    return f"{target}; {clock(document['wall'])} on the clock; the budget is {', '.join(given) or 'unlimited'}"


def _incumbent_rows(document: Mapping[str, Any]) -> Rows:
    return [
        ("incumbent", document["standing"]),
        ("parameters", settings(document["incumbent"])),
        ("command", document["command"]),
    ]


def _certificate_rows(promise: Mapping[str, Any], unit: str) -> Rows:
    used, restart, resumed = (amount(promise[key], unit) for key in ("used", "restart", "resumed"))
    times = f"{used} used; {restart} with every run from its beginning, {resumed} with every run continued"
    rows = [("certificate", f"{promise['says']} {promise['more']}"), ("its time", times)]
    return rows + [("warning", text) for text in promise["warnings"]]


def _advice(alike: Mapping[str, Any]) -> str:
    capped = f" ({100 * alike['capped']:.0f} % capped)" if alike["capped"] else ""
    return (
        f"{alike['advice']}, by runs of {alike['configurations']} configurations on {alike['instances']} instances{capped}"
    )


def _repeats(repeats: Mapping[str, Any]) -> str:
    spread = (
        "" if repeats["spread"] is None else f": with the same seed their time varies by {100 * repeats['spread']:.2g} %"
    )
    return f"{count(repeats['runs'], 'run')} made again{spread}"


def configuration_rows(document: Mapping[str, Any]) -> Rows:
    """The rows of ``configuration_of``: the configuration, then a line for every run."""
    cost = "unknown" if document["cost"] is None else f"{document['cost']:.4g}"
    return [
        ("id", document["id"]),
        ("cost", f"{cost} on {count(document['pairs'], 'pair')}"),
        ("parameters", settings(document["config"])),
        ("command", document["command"]),
        *((run["status"], _run(run, document["unit"])) for run in document["runs"]),
    ]


def _run(run: Mapping[str, Any], unit: str) -> str:
    where = "" if run["instance"] is None else f" on {run['instance']}"
    bound = "" if run["cutoff"] is None else f" of {amount(run['cutoff'], unit)}"
    reason = f": {run['reason']}" if run["reason"] else ""
    return f"{amount(run['time'], unit)}{bound}{where}, seed {run['seed']}, asked by {run['asked_by']}{reason}"
