"""``python smac1.py FOLDER SEED PORT``: SMAC3 1.4.0 on the problem described in FOLDER, in an environment of its own.

Runtime mode: adaptive capping with slack 1.2 and imputation of capped runs are its defaults there. It rounds cutoffs up to
whole seconds. Its clock is the target's time, which is right on a virtual clock as well.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from client import Referee, Stop
from ConfigSpace.read_and_write import pcs_new
from smac.facade.smac_ac_facade import SMAC4AC
from smac.scenario.scenario import Scenario
from smac.tae import StatusType
from smac.tae.serial_runner import SerialRunner

STATUS = {"SUCCESS": StatusType.SUCCESS, "CAPPED": StatusType.TIMEOUT, "TIMEOUT": StatusType.TIMEOUT}


def main() -> None:
    folder, seed, port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    told = json.loads((folder / "problem.json").read_text())
    options = {
        "run_obj": "runtime",
        "overall_obj": "par10",
        "cutoff": told["cutoff"],
        "deterministic": told["deterministic"],
        "cs": pcs_new.read((folder / "space.pcs").read_text().splitlines()),
        "instances": [[name] for name in told["instances"]],
        "algo_runs_timelimit": 1e9,
        "use_ta_time": True,
        "limit_resources": False,
        "abort_on_first_run_crash": False,
        "output_dir": str(folder / "smac"),
    }
    if told["features"]:
        options["features"] = told["features"]
    referee = Referee(port)

    class Runner(SerialRunner):
        """Asks the referee."""

        def run(self, config: Any, instance: str, cutoff: float, seed: int = 0, **_: Any) -> tuple[Any, ...]:
            if smac.solver.incumbent is not None:
                referee.best(smac.solver.incumbent.get_dictionary())
            status, seconds = referee.run(config.get_dictionary(), instance, seed, min(cutoff, told["cutoff"]))
            return STATUS.get(status, StatusType.CRASHED), seconds, seconds, {}

    smac = SMAC4AC(Scenario(options), tae_runner=Runner, rng=seed, run_id=seed)
    with contextlib.suppress(Stop):
        smac.optimize()
    referee.best(smac.solver.incumbent.get_dictionary())
    referee.bye()


if __name__ == "__main__":
    main()
