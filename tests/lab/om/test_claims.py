"""The claims about fidelity hold for numbers as the paper has them, and fail for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from thalweg.lab.claim import Statement
from thalweg.lab.om import figure_3a, figure_3b, figure_3c, figure_4a, figure_4b, section_5_4
from thalweg.lab.om.rounds import Followed, Judged
from thalweg.lab.om.single_stream import PROJECT_FIRST, SELECT_FIRST


def judged(share: float, cost: float = 1.0) -> Judged:
    """Rounds of which this share had the best plan."""
    hits = [number < round(1000 * share) for number in range(1000)]
    return Judged(hits, [1.0] * 1000, cost=cost, least=1.0)


def followed(share: float, foreseen: float = 0.9, constant: float = 1.0, cost: float = 1.0) -> Followed:
    """A query whose chart had the best plan in this share of the rounds."""
    return Followed(judged(share, cost), judged(share), judged(foreseen), judged(1.0), judged(constant).hits)


def verdicts(claims: Sequence[Statement[Any]], results: Any) -> list[bool]:
    return [claim.judge(results).holds for claim in claims]


def over_variations(om: Sequence[float], rand: float, rate: float, constant: float = 1.0) -> figure_3b.Results:
    return figure_3b.Results(
        {v: followed(share, constant=constant) for v, share in zip(figure_3b.VARIATIONS, om, strict=True)},
        dict.fromkeys(figure_3b.VARIATIONS, judged(rand)),
        dict.fromkeys(figure_3b.VARIATIONS, judged(rate)),
    )


def test_figure_3b() -> None:
    assert verdicts(figure_3b.CLAIMS, over_variations([0.76, 0.79, 0.8, 0.8, 0.81], 0.5, 0.6)) == [True] * 4
    assert verdicts(figure_3b.CLAIMS, over_variations([0.9, 0.8, 0.8, 0.8, 0.8], 0.6, 0.85)) == [False] * 4


def test_figure_3c() -> None:
    paper = dict(zip(figure_3c.PARTS, (followed(s, s) for s in (0.8, 0.85, 0.9, 0.95, 0.95)), strict=True))
    assert verdicts(figure_3c.CLAIMS, paper) == [True] * 4
    other = dict(zip(figure_3c.PARTS, (followed(s, s) for s in (0.8, 0.8, 0.8, 0.8, 0.9)), strict=True))
    assert verdicts(figure_3c.CLAIMS, other) == [False] * 4


def test_figure_4a() -> None:
    assert verdicts(figure_4a.CLAIMS, over_variations([0.8, 0.85, 0.9, 0.95, 0.99], 0.3, 0.5)) == [True] * 7
    wrong = over_variations([0.7, 0.7, 0.7, 0.7, 0.7], 0.75, 0.8, constant=0.7)
    assert verdicts(figure_4a.CLAIMS, wrong) == [False] * 7


def charts(dec: Sequence[float], urnd: Sequence[float], beside: float, cost: float, changed: int) -> figure_4b.Results:
    names = ("DEC", "URND", figure_4b.BESIDE)
    shares = dict(zip(names, (dec, urnd, [beside] * 9), strict=True))
    runs = {name: {k: followed(s, cost=cost) for k, s in zip(figure_4b.PARTS, shares[name], strict=True)}
            for name in names}  # fmt: skip
    one = dict.fromkeys(names, judged(0.3))
    alone = {name: [judged(0.5, cost=2.0)] * 3 for name in names}
    return figure_4b.Results(runs, one, one, alone, dict.fromkeys(names, changed), dict.fromkeys(names, 0.1))


def test_figure_4b() -> None:
    dec = [0.7, 0.75, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]
    urnd = [0.5, 0.55, 0.6, 0.65, 0.7, 0.7, 0.8, 0.8, 0.8]
    assert verdicts(figure_4b.CLAIMS, charts(dec, urnd, 0.8, 1.5, 1)) == [True] * 8
    falling = [0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.5]
    assert verdicts(figure_4b.CLAIMS, charts(falling, falling, 0.5, 2.5, 0)) == [False] * 8


def test_figure_3a() -> None:
    rounds = [{"sel": 0.5, "rate": 100.0}] * 800 + [{"sel": 0.5, "rate": 300.0}] * 200
    paper = followed(0.8)
    paper.estimates = [{"sel": 0.5, "rate": 100.0}] * 1000
    paper.plans = [SELECT_FIRST if number % 80 < 40 else PROJECT_FIRST for number in range(1000)]
    paper.regions = [(number // 10 % 2, 0) for number in range(1000)]
    both = [SELECT_FIRST, PROJECT_FIRST]
    results = figure_3a.Results(both, dict.fromkeys(both, 50), rounds, paper, paper)
    assert (paper.moves, paper.moves_of(0), paper.moves_of(1), paper.switches) == (99, 99, 0, 24)
    assert verdicts(figure_3a.CLAIMS, results) == [True] * 6
    assert (results.crossings, results.near) == (0, 0.0)
    none = followed(1.0)
    none.estimates, none.plans, none.regions = paper.estimates, [SELECT_FIRST] * 1000, [(0, 0)] * 1000
    alone = figure_3a.Results([SELECT_FIRST], {SELECT_FIRST: 100}, rounds, none, none)
    assert verdicts(figure_3a.CLAIMS, alone) == [False] * 6


@pytest.mark.parametrize(("single", "joins", "waited", "holds"), [(0.95, 0.9, 9, True), (0.8, 0.8, 12, False)])
def test_section_5_4(single: float, joins: float, waited: int, holds: bool) -> None:
    queries = section_5_4.ready(quick=True)
    for query in queries:
        query.running.followed = followed(joins if query.is_join else single)
        query.waited = waited
    assert verdicts(section_5_4.CLAIMS, section_5_4.Results(queries)) == [holds] * 3
