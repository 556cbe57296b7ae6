from capra.models.network import TobitEnsemble, TobitNetwork
from capra.models.training import FAST, PAPER, Recipe

__all__ = ["FAST", "PAPER", "Recipe", "TobitEnsemble", "TobitNetwork"]
