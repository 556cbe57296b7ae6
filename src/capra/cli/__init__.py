"""The command line: parse, call, print.

Exit codes: 0 done, 2 bad input, 3 the target cannot be run or does not behave, 124 no answer in time (portfolio run), 130
interrupted; docs/commands.md explains them.
"""

from capra.cli import analyses, bench, features, portfolios, reports, scenarios, tunings  # each adds its commands
from capra.cli.app import app, main

__all__ = ["analyses", "app", "bench", "features", "main", "portfolios", "reports", "scenarios", "tunings"]
