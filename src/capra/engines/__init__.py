"""Engines carry requests to targets and outcomes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capra.engines.base import Engine, Ticket
from capra.engines.local import LocalEngine
from capra.engines.simulated import SimulatedEngine, simulated_target
from capra.errors import InputError, did_you_mean
from capra.formats.quantities import size
from capra.scenario import Scenario

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ENGINES", "Engine", "LocalEngine", "SimulatedEngine", "Ticket", "make_engine", "simulated_target"]

ENGINES = ("local", "simulated", "dask")


def make_engine(
    scenario: Scenario,
    name: str,
    workers: int | None = None,
    *,
    hold: int = 0,
    client: Client | str | int | None = None,
    calibrate: bool = False,
    stage: str | int | None = None,
) -> Engine:
    """The engine of that name. ``hold``: bytes for runs that wait at their cutoff for a longer one; 0: they are ended.

    ``client``, ``calibrate`` and ``stage`` are for "dask": see ``capra.tune``.
    """
    if name not in ENGINES:
        raise InputError(f"unknown engine {name!r}", hint=did_you_mean(name, ENGINES) or "one of " + ", ".join(ENGINES))
    if name == "dask" and hold:
        raise InputError("runs cannot wait on a cluster", hint="drop hold, or use the engine 'local'")
    if name == "dask":
        return _dask_engine(scenario, workers, client, calibrate, stage)
    if client is not None or calibrate or stage is not None:
        given = "client, calibrate and stage (--scheduler, --local, --calibrate, --stage)"
        raise InputError(f"{given} are for the engine 'dask'", hint="set engine='dask', or --engine dask")
    if name == "simulated":
        return SimulatedEngine(simulated_target(scenario), 1 if workers is None else workers, hold=hold > 0)
    return LocalEngine(scenario, 1 if workers is None else workers, hold=hold)


def _dask_engine(
    scenario: Scenario, workers: int | None, client: Client | str | int | None, calibrate: bool, stage: str | int | None
) -> Engine:
    if client is None:
        hint = "--scheduler tcp://…, or --local N for worker processes on this machine; from Python: client=…"
        raise InputError("the engine 'dask' needs to know its cluster", hint=hint)
    from capra.engines.dask import DaskEngine  # Dask is optional, and takes a second to import

    return DaskEngine(scenario, client, workers, calibrate=calibrate, stage=None if stage is None else size(stage))
