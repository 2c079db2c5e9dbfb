"""The prices of routing that the experiments use. `routing_prices.measured` measures them again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prices:
    """CPU times in ns."""

    test_ns: float
    """A test of the tree, per tuple."""
    ruster_ns: float
    """A ruster, if there are several routes."""
    decision_ns: float
    """A decision of an Eddy for one tuple."""
    batch_decision_ns: float
    """A decision of an Eddy for 100 tuples."""
    learning_ns: float
    """Counting the outcome of one visit by all attributes, and choosing attributes from time to time."""


PRICES = Prices(test_ns=25.0, ruster_ns=78_000.0, decision_ns=2_200.0, batch_decision_ns=12_000.0, learning_ns=11_000.0)
"""Measured with Python 3.11 on two shared cores of a server, rounded."""
