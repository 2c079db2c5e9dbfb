"""The claims hold for numbers as the paper has them, and fail for others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from thalweg.lab.claim import Statement
from thalweg.lab.query_mesh import figure_10a, figure_10c, figure_11, figure_11b, figure_12, figure_13
from thalweg.lab.query_mesh.all_runs import DATA, AllRuns
from thalweg.lab.query_mesh.contender_run import ContenderRun
from thalweg.lab.query_mesh.contenders import CBR, CBR_BATCHED, EDDY, QM, QM_3, QM_UNTESTED, SP
from thalweg.lab.query_mesh.layouts import LAYOUTS, PROBE_NS, PROBES, Data
from thalweg.lab.query_mesh.prices import PRICES, Prices
from thalweg.lab.query_mesh.real_streams import SOURCES

RATES: dict[Data, dict[str, float]] = {
    "poisson": {SP: 1 / 1.44, CBR: 1 / 1.27, CBR_BATCHED: 1 / 1.18},
    "uniform": {SP: 1 / 0.978, CBR: 1 / 1.39, CBR_BATCHED: 1 / 1.24},
}
"""Output rates over that of QM as in the paper."""
OVERHEADS = {QM: 0.01, QM_3: 0.01, QM_UNTESTED: 0.01, CBR: 0.2, CBR_BATCHED: 0.15}


def verdicts(claims: Sequence[Statement[Any]], results: Any) -> list[bool]:
    return [claim.judge(results).holds for claim in claims]


def run(layout: str, rate: float, overhead: float = 0.0, **others: Any) -> ContenderRun:
    """1,000 results of 10,000 tuples, in 1 s divided by the rate; the overhead is a share of the time."""
    costs = LAYOUTS[layout].costs_ns()
    probes = np.round(np.full(PROBES, 1e9 / rate * (1.0 - overhead) / costs.sum())).astype(np.int64)
    return ContenderRun(probes[None, :], np.array([1_000]), 10_000, np.array([1e9 / rate * overhead]), **others)


def runs_with(
    rates: Mapping[Data, dict[str, float]], overheads: dict[str, float], plain: float, levels: int
) -> AllRuns:
    """Runs of all layouts in which each contender has this rate and overhead."""
    found = {}
    for data in DATA:
        for layout in LAYOUTS:
            one = {
                name: run(layout, rates[data].get(name, 1.0), overheads.get(name, 0.0), levels=levels, tests=1.5)
                for name in (SP, QM, QM_3, QM_UNTESTED, CBR, CBR_BATCHED)
            }
            found[data, layout, 0] = one | {EDDY: run(layout, 1.0, same_plan=plain)}
    return AllRuns(found)


def test_gains_and_overheads_of_runs() -> None:
    runs = runs_with(RATES, OVERHEADS, 0.95, 2)
    assert list(runs.gains("poisson", QM, SP)) == list(LAYOUTS)
    assert runs.gains("poisson", QM, SP)["mild"] == pytest.approx(0.44, abs=1e-3)
    assert runs.gains("uniform", QM, SP)["mild"] == pytest.approx(-0.022, abs=1e-3)
    assert runs.overheads("poisson", CBR)["shifted"] == pytest.approx(0.2, abs=1e-3)
    assert runs.probe_ns_at("poisson", CBR, 0.2) == pytest.approx(PROBE_NS, rel=1e-3)


def test_figure_10a() -> None:
    paper = figure_10a.Results(runs_with(RATES, OVERHEADS, 0.95, 2), Counter({1: 9, 2: 1}), Counter())
    assert verdicts(figure_10a.CLAIMS, paper) == [True] * len(figure_10a.CLAIMS)
    behind = {data: dict.fromkeys((SP, CBR, CBR_BATCHED), 1.1) for data in DATA}
    other = figure_10a.Results(runs_with(behind, OVERHEADS, 0.95, 2), Counter({1: 4, 3: 6}), Counter())
    *failed, trend = verdicts(figure_10a.CLAIMS, other)
    assert failed == [False] * (len(figure_10a.CLAIMS) - 1)
    assert trend, "with equal results, the output rate is the inverse of the time"


def test_figure_10c() -> None:
    paper = figure_10c.Results(runs_with(RATES, OVERHEADS, 0.95, 3), PRICES)
    assert verdicts(figure_10c.CLAIMS, paper) == [True] * len(figure_10c.CLAIMS)
    overheads = {QM: 0.03, QM_3: 0.03, CBR: 0.4, CBR_BATCHED: 0.1}
    fast = {data: dict.fromkeys((QM, QM_3), 1_000.0) for data in DATA}
    other = figure_10c.Results(runs_with(fast, overheads, 0.5, 4), Prices(100.0, 1.0, 1.0, 1.0, 1.0))
    assert verdicts(figure_10c.CLAIMS, other) == [False] * len(figure_10c.CLAIMS)


def totals(ahead: float) -> dict[str, figure_11.Totals]:
    seconds = [float(i) for i in range(1, figure_11.POINTS + 1)]
    rates = dict.fromkeys(figure_11.SHOWN, 100.0) | {QM: 100.0 * ahead}
    produced = {name: [rate * second for second in seconds] for name, rate in rates.items()}
    return {layout: figure_11.Totals(seconds, produced) for layout in LAYOUTS}


def test_figure_11a() -> None:
    assert verdicts(figure_11.CLAIMS, totals(1.2)) == [True, True]
    assert verdicts(figure_11.CLAIMS, totals(1.02)) == [False, True]
    assert verdicts(figure_11.CLAIMS, totals(0.9)) == [False, False]


def test_totals_are_interpolated_within_windows() -> None:
    runs = dict.fromkeys(figure_11.SHOWN, ContenderRun(np.array([[1], [1]]), np.array([10, 30]), 2, np.zeros(2)))
    found = figure_11.totals(runs, np.array([1e9]))
    assert found.seconds == pytest.approx([0.2 * i for i in range(1, 11)])
    assert found.produced[SP] == pytest.approx([2, 4, 6, 8, 10, 16, 22, 28, 34, 40])


@pytest.mark.parametrize(("real", "verdict"), [(1.1, [True, True, True]), (2.0, [True, True, False]),
                                               (0.9, [False, False, True])])  # fmt: skip
def test_figure_11b(real: float, verdict: list[bool]) -> None:
    runs = {SP: 1.0, QM: real, QM_3: real, CBR: 0.8, CBR_BATCHED: 0.85} | ({CBR: 1.0} if real < 1 else {})
    of_data = {name: run("shifted", rate) for name, rate in runs.items()}
    every = dict.fromkeys(SOURCES, of_data)
    results = figure_11b.Results(every, every, runs_with(RATES, OVERHEADS, 0.95, 2))
    assert verdicts(figure_11b.CLAIMS, results) == verdict


def test_figure_12() -> None:
    def points(*times: float) -> dict[int, figure_12.Point]:
        return {size: figure_12.Point(ms, 100.0, 0.7) for size, ms in zip(figure_12.SIZES, times, strict=True)}

    growing, falling = points(1, 2, 3, 4, 5), points(1, 2, 3, 4, 3.5)
    assert verdicts(figure_12.CLAIMS, {"II-QM": growing, "SA-QM": falling}) == [True, False]


def test_figure_13() -> None:
    def results(rates: dict[str, float]) -> figure_13.Results:
        one = {start: [1.0 / (1.0 + rates.get(start, 0.0))] for start in figure_13.STARTS}
        return figure_13.Results(dict.fromkeys(figure_13.READINGS, one))

    paper = dict(figure_13.PAPER)
    assert verdicts(figure_13.CLAIMS, results(paper | {"random-pick": 0.119})) == [True] * 6
    assert not verdicts(figure_13.CLAIMS, results(paper | {"extreme-n": 0.15}))[-1]
    assert verdicts(figure_13.CLAIMS, results(dict.fromkeys(paper, -0.1))) == [False] * 6
