"""The overtuning curve: marks stand where their costs are."""

from __future__ import annotations

from typing import Any

from capra.report.curve import WIDTH, overtuning_curve


def row(name: str, then: float | None, training: float | None, test: float) -> dict[str, Any]:
    return {"name": name, "training_cost_then": then, "training_cost": training, "cost": test}


def test_marks_stand_on_a_logarithmic_scale() -> None:
    head, first, second = overtuning_curve([row("default", None, 1.0, 100.0), row("incumbent", 10.0, 3.0, 10.0)])
    assert head.split()[:2] == ["1", "100"]
    assert first == "default".ljust(14) + "·" + " " * (WIDTH - 2) + "●"
    assert second.index("◉") == 14 + round((WIDTH - 1) / 2)


def test_unknown_and_zero_costs() -> None:
    assert overtuning_curve([row("default", None, None, 0.0)]) == []
    assert overtuning_curve([row("default", None, None, 2.0)])[1].endswith("●")
