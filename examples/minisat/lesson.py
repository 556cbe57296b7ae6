"""Prepares the lesson on overtuning: formulas, and two scenarios that differ in their training sets.

python3 lesson.py FOLDER [SECONDS]
"""

import shutil
import sys
from pathlib import Path

from generate import formula

HERE = Path(__file__).parent
TRAINING = {
    "one.toml": ('["train/random-200-9.cnf"]', "deterministic = true  # one seed only"),
    "many.toml": ('"train"', "# as many seeds as it likes"),
}
"""One satisfiable formula, whose model can be met by luck; and forty, of both kinds."""


def main(folder: str, seconds: str = "30") -> None:
    place = Path(folder)
    for role, seeds in {"train": range(1, 41), "test": range(101, 141)}.items():
        (place / role).mkdir(parents=True, exist_ok=True)
        for seed in seeds:
            (place / role / f"random-200-{seed}.cnf").write_text(formula(200, seed))
    for name in ("parameters.pcs", "check.py"):
        shutil.copy(HERE / name, place / name)
    text = (HERE / "scenario.toml").read_text().replace('cpu = "10m"', f'cpu = "{seconds}s"')
    for name, (instances, seeds) in TRAINING.items():
        sets = f'instances = {instances}\ntest_instances = "test"\n{seeds}'
        (place / name).write_text(text.replace('instances = "instances"\nsplit = 0.6', sets))


if __name__ == "__main__":
    main(*sys.argv[1:])
