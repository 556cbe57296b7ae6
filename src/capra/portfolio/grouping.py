"""Dynamic instance grouping: groups and configurations found together (Liu, Tang & Yao 2019: PCIT)."""

from __future__ import annotations

from typing import Any

import numpy as np

from capra.models.base import Floats
from capra.portfolio.builder import Builder, Program
from capra.portfolio.estimates import estimated_costs
from capra.portfolio.experts import COMPARING
from capra.portfolio.greedy import greedy_portfolio
from capra.portfolio.records import Indices
from capra.runs import Configuration
from capra.strategies import Context
from capra.strategies.base import checked

__all__ = ["Grouping", "regrouped"]

_GROUPS, _FOREST = 61, 62
"""Streams of random numbers (see Context.rng)."""
BADLY = 2.0
"""An instance is badly served where its group's configuration takes so many times as long as another group's."""
SIZES = 0.5, 1.5
"""How small and how large a group may become, in shares of an even one."""
FEWEST = 3
"""Complete runs of a configuration that may be in the final portfolio."""


class Grouping(Builder):
    """``k`` random even groups, tuned for in ``phases`` of growing budgets (1 : 2 : 3 …); between them instances move.

    An instance that its group serves badly moves to the group whose configuration is best for it, observed or, where it was
    not run, expected by a censored forest. The final portfolio is chosen greedily from all configurations met.
    """

    name = "grouping"

    def __init__(self, context: Context, *, k: int = 4, phases: int = 3, **options: Any) -> None:
        self.k = checked("k", k, 2, len(context.scenario.instances), whole=True)
        self.phases = checked("phases", phases, 1, 100, whole=True)
        super().__init__(context, **options)

    def program(self) -> Program:
        found: list[Configuration] = [self.context.scenario.default] * self.k
        label = self.context.rng(_GROUPS).permutation(np.arange(len(self.instances)) % self.k)  # random even groups
        total = self.phases * (self.phases + 1) / 2
        for phase in range(1, self.phases + 1):
            for group in range(self.k):
                done = phase * (phase - 1) / 2 + phase * (group + 1) / self.k
                names = [self.instances[i] for i in np.flatnonzero(label == group)]
                until = (1.0 - COMPARING) * done / total
                step = self.tuning(f"phase {phase}, group {group + 1}", names, until, first=[found[group]])
                yield step
                found[group] = step.found or found[group]
            self.set_members(list(dict.fromkeys(found)))
            if phase < self.phases:
                label = self._moved(found, label)
        self.set_members(self._final())
        yield from self.comparing()

    def _moved(self, found: list[Configuration], label: Indices) -> Indices:
        return np.array(self.decided("groups", lambda: regrouped(self._costs(found), label, self.k).tolist()))

    def _costs(self, configs: list[Configuration]) -> Floats:
        """(configurations, instances): means over the seeds."""
        pairs = [(name, seed) for name in self.instances for seed in self.seeds]
        seed = int(self.context.rng(_FOREST, self.number).integers(2**31))
        costs = estimated_costs(self.context.scenario, self.history, configs, pairs, self.features(self.instances), seed)
        return np.asarray(costs.reshape(len(configs), len(self.instances), len(self.seeds)).mean(axis=2))

    def _final(self) -> list[Configuration]:
        """Greedily the k members that are best together, of all configurations that were run to the end a few times."""
        known = [(config, self.history.record(config)) for config in self.cells.configurations]
        met = [config for config, record in known if len(record.costs) >= FEWEST and not record.wrong] or self.members

        def chosen() -> list[dict[str, Any]]:
            costs = self._costs(met)
            return [dict(met[i]) for i in greedy_portfolio(costs, self.k, float(costs.max()))[0]]

        return [Configuration(values) for values in self.decided("final", chosen)] or self.members


def regrouped(costs: Floats, label: Indices, k: int) -> Indices:
    """The group of each instance after badly served ones have moved, those that lose most first.

    ``costs`` is (groups, instances): what each group's configuration costs on each instance.
    """
    label, n = label.copy(), len(label)
    smallest, largest = int(SIZES[0] * n / k), int(np.ceil(SIZES[1] * n / k))
    own, best = costs[label, np.arange(n)], costs.min(axis=0)
    badly = [int(i) for i in np.argsort(best - own, kind="stable") if own[i] >= BADLY * best[i]]
    while True:
        sizes = np.bincount(label, minlength=k)
        target = {i: int(np.argmin(costs[:, i])) for i in badly}
        able = [i for i in badly if sizes[label[i]] > smallest and sizes[target[i]] < largest and label[i] != target[i]]
        if not able:
            return label
        label[able[0]] = target[able[0]]
