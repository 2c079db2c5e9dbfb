"""What is declared about the streams of a join: exact numbers, nothing, or exact numbers of which one is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.plans.streams import JoinRows

EXACT, NOTHING, WRONG = "exact", "nothing", "wrong"
DECLARED = (EXACT, NOTHING, WRONG)


def statistics_for(declared: str, joined: JoinRows, factor: float) -> dict[str, Any] | None:
    """Return the statistics to declare; None for nothing. `factor`: how wrong the wrong number is."""
    if declared == NOTHING:
        return None
    if declared == EXACT:
        return joined.statistics
    return one_wrong(joined.statistics, factor, np.random.default_rng([joined.drawn.seed, joined.drawn.number, 2]))


def one_wrong(statistics: dict[str, Any], factor: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return statistics with one number, drawn at random, multiplied or divided by a factor. Partners are declared in
    one direction: those of the other one would contradict the wrong number, which is refused.

    >>> exact = {"a": {"rows_per_second": 8.0}, "partners": {"a.k = b.k": (2.0, 4.0)}}
    >>> one_wrong(exact, 10.0, np.random.default_rng(0))
    {'a': {'rows_per_second': 8.0}, 'partners': {'a.k = b.k': (20.0, None)}}
    """
    rates = {alias: dict(known) for alias, known in statistics.items() if alias != "partners"}
    partners = {edge: both[0] for edge, both in statistics["partners"].items()}
    places: list[tuple[dict[str, Any], str]] = [(rates[alias], "rows_per_second") for alias in rates]
    places += [(partners, edge) for edge in partners]
    holder, place = places[int(rng.integers(len(places)))]
    wrong = factor if rng.uniform() < 0.5 else 1 / factor
    holder[place] = holder[place] * wrong
    return {**rates, "partners": {edge: (found, None) for edge, found in partners.items()}}
