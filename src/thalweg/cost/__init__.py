"""What a plan costs, by formula."""

from thalweg.cost.pipeline import best_order, expected_cost, greedy_order, order_cost

__all__ = ["best_order", "expected_cost", "greedy_order", "order_cost"]
