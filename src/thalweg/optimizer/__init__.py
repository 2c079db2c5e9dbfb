"""Turn a query into its first plan, with a list of rules. Every rule has a reason for its position in the list."""

from thalweg.optimizer.rules.rule_list import RULES, optimize

__all__ = ["RULES", "optimize"]
