"""What reports say about how filters or a join followed their chart."""

from __future__ import annotations

from thalweg.events.parts import ChartCounts
from thalweg.formatting import few_digits, percent, plural


def chart_sentence(counts: ChartCounts) -> str:
    """Return a sentence about the rounds of all workers.

    >>> chart_sentence(ChartCounts(rounds=12, moves=3, judged=10, hits=8, regret=10.5))
    'chart: 12 rounds, 3 moves to another region; fidelity 80 %, regret 1.05 in 10 rounds that were judged'
    """
    text = f"chart: {plural(counts.rounds, 'round')}, {plural(counts.moves, 'move')} to another region"
    if counts.outside:
        text += f", {counts.outside:,} outside the chart"
    if counts.fidelity is not None and counts.mean_regret is not None:
        judged = f"in {plural(counts.judged, 'round')} that {'was' if counts.judged == 1 else 'were'} judged"
        text += f"; fidelity {percent(counts.fidelity)}, regret {few_digits(counts.mean_regret)} {judged}"
    return text
