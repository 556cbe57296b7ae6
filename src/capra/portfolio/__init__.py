"""Several configurations instead of one: which should an instance get?"""

from capra.portfolio.aslib import AslibScenario, read_aslib, write_aslib
from capra.portfolio.greedy import best_portfolio, greedy_portfolio, portfolio_cost
from capra.portfolio.records import Records
from capra.portfolio.schedule import Plan, plan_costs
from capra.portfolio.scores import Score, score, single_best, virtual_best
from capra.portfolio.selectors import SELECTORS, Selection, choose, make_selector, read_selector

__all__ = [
    "SELECTORS",
    "AslibScenario",
    "Plan",
    "Records",
    "Score",
    "Selection",
    "best_portfolio",
    "choose",
    "greedy_portfolio",
    "make_selector",
    "plan_costs",
    "portfolio_cost",
    "read_aslib",
    "read_selector",
    "score",
    "single_best",
    "virtual_best",
    "write_aslib",
]
