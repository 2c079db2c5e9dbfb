"""From a query to the plan that runs first: a list of rules, each with the reason why it stands where it stands."""

from thalweg.optimizer.rules import RULES, optimize

__all__ = ["RULES", "optimize"]
