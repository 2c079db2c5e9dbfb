"""The paper's algorithms by the names of our policies: their labels, and their colors in all figures."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.lab.figure import Series

OPTIMAL = "optimal"
"""The best order, computed from the joint distribution. It never changes, and nothing is profiled."""

LABELS = {
    "a-greedy": "A-Greedy",
    "sweep": "Sweep",
    "independent": "Independent",
    "local-swaps": "LocalSwaps",
    OPTIMAL: "Optimal",
}
COLOURS = {"a-greedy": "blue", "sweep": "orange", "independent": "red", "local-swaps": "green", OPTIMAL: "black"}


def line(algorithm: str, x: Sequence[float], y: Sequence[float]) -> Series:
    """Return the line of an algorithm in a figure."""
    return Series(LABELS[algorithm], x, y, COLOURS[algorithm], dashed=algorithm == OPTIMAL)
