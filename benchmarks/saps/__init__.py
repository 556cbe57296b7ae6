"""SAPS, a local search for SAT with four parameters, as a target that is tuned by the number of its steps."""
