#!/usr/bin/env python3
"""Calls clasp by the old protocol of ParamILS, SMAC and AClib, in the manner of GenericWrapper4AC.

    wrapper.py INSTANCE SPECIFIC CUTOFF RUNLENGTH SEED -name value …

prints ``Result for ParamILS: status, runtime, runlength, quality, seed, remark``. clasp comes with ``pip install clingo``.
"""

import resource
import subprocess
import sys

SOLVER = [sys.executable, "-m", "clingo", "--mode=clasp"]


def command_line(instance, seed, config):
    """clasp's arguments for a configuration."""
    heuristic = config.pop("heuristic")
    if heuristic == "Vsids":
        heuristic += "," + config.pop("vsids-decay")
    arguments = [f"--heuristic={heuristic}", f"--restarts=x,{config.pop('restart-base')},{config.pop('restart-factor')}"]
    arguments += [f"--{name}={value}" for name, value in config.items()]
    return [*SOLVER, instance, f"--seed={seed}", *arguments]


def process_results(output, specific):
    """Status and remark; the instance-specific string, if it is an answer, must not be contradicted."""
    answers = [line[2:].strip() for line in output.splitlines() if line.startswith("s ")]
    status = {"SATISFIABLE": "SAT", "UNSATISFIABLE": "UNSAT", "UNKNOWN": "TIMEOUT"}.get(answers[-1] if answers else "")
    if status is None:
        return "CRASHED", "no answer"
    if specific in ("SAT", "UNSAT") and status in ("SAT", "UNSAT") and status != specific:
        return "CRASHED", f"the instance is {specific} but {status} was reported"
    return status, ""


def cpu_time():
    """CPU seconds of the solver, once it has ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return max(0.0005, usage.ru_utime + usage.ru_stime)


def run(command, cutoff):
    """What the solver printed, or None if it took longer than the cutoff."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=cutoff, check=False).stdout
    except subprocess.TimeoutExpired:
        return None


def main():
    instance, specific, cutoff, _, seed = sys.argv[1:6]
    pairs = [word.strip("'") for word in sys.argv[6:]]
    config = {name.removeprefix("-"): value for name, value in zip(pairs[::2], pairs[1::2], strict=True)}
    output = run(command_line(instance, seed, config), float(cutoff))
    status, remark = ("TIMEOUT", "") if output is None else process_results(output, specific)
    print(f"Result for ParamILS: {status}, {cpu_time():.4f}, 0, 0, {seed}" + (f", {remark}" if remark else ""))


if __name__ == "__main__":
    main()
