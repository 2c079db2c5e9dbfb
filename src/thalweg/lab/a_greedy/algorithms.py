"""The paper's algorithms by our policies' names: what figures call them, and the colour each has in all figures."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.lab.figure import Series

OPTIMAL = "optimal"
"""The best order, computed from the joint distribution and left alone; nothing is profiled."""

LABELS = {
    "a-greedy": "A-Greedy",
    "sweep": "Sweep",
    "independent": "Independent",
    "local-swaps": "LocalSwaps",
    OPTIMAL: "Optimal",
}
COLOURS = {"a-greedy": "blue", "sweep": "orange", "independent": "red", "local-swaps": "green", OPTIMAL: "black"}


def line(algorithm: str, x: Sequence[float], y: Sequence[float]) -> Series:
    """An algorithm's line in a figure."""
    return Series(LABELS[algorithm], x, y, COLOURS[algorithm], dashed=algorithm == OPTIMAL)
