"""Formulas for the cost of orders and of native predicates."""

from thalweg.cost.native_cost import dominant_kind, native_cost
from thalweg.cost.pipeline import best_order, expected_cost, greedy_order, order_cost

__all__ = ["best_order", "dominant_kind", "expected_cost", "greedy_order", "native_cost", "order_cost"]
