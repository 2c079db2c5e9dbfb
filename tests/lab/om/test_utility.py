"""OM's utility and cost functions against the numbers of the paper, and against its formulas written out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from thalweg.errors import PlanError
from thalweg.lab.om.utility import PlanCost, Unary, chain_cost, left_deep_cost, utility

RATES = st.floats(0.1, 1e4)
SHARES = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("cost", "weights", "printed"),
    [
        (PlanCost(5.0, 775.0), (0.1, 0.9), 697.52),
        (PlanCost(2.5, 575.0), (0.1, 0.9), 517.54),
        (PlanCost(5.0, 775.0), (20_000, 2), 5550),
        (PlanCost(2.5, 575.0), (20_000, 2), 9150),
    ],
)
def test_the_utilities_of_section_3_2(cost: PlanCost, weights: tuple[float, float], printed: float) -> None:
    assert utility(cost, *weights) == pytest.approx(printed, abs=0.005)


def test_a_plan_without_output() -> None:
    assert utility(PlanCost(0.0, 10.0)) == math.inf
    assert utility(PlanCost(0.0, 10.0), rate_weight=0, memory_weight=2) == 20.0
    assert utility(PlanCost(4.0, 10.0), rate_weight=2, memory_weight=0) == 0.5


@pytest.mark.parametrize("weights", [(-0.1, 1.0), (1.0, -1.0), (0.0, 0.0), (math.nan, 1.0), (1.0, math.inf)])
def test_weights_that_are_refused(weights: tuple[float, float]) -> None:
    with pytest.raises(PlanError, match="weight"):
        utility(PlanCost(1.0, 1.0), *weights)


@given(rate=RATES, sel=SHARES, tpr=st.floats(10.0, 1e6), other_tpr=st.floats(10.0, 1e6), window=st.floats(0.1, 60.0))
@examples(50, long=2000)
def test_two_selections_as_section_4_1_prints_them(
    rate: float, sel: float, tpr: float, other_tpr: float, window: float
) -> None:
    found = chain_cost(rate, (Unary(sel, tpr), Unary(0.5, other_tpr)), window)
    then = sel * rate
    c_inp = rate * (rate * window / tpr), then * (then * window / other_tpr)
    c_int = then * window, 0.5 * then * window
    assert found.rate == pytest.approx(0.5 * sel * rate)
    assert found.memory == pytest.approx(sum(c_inp) + sum(c_int))


@given(rate=st.floats(0.1, 1e5), sel=st.floats(0.0, 0.999))
@examples(50, long=2000)
def test_in_rows_a_selection_before_a_projection_always_wins(rate: float, sel: float) -> None:
    selection, projection = Unary(sel, 400e3), Unary(1.0, 500e3)
    first, last = (chain_cost(rate, order, 1.0) for order in ((selection, projection), (projection, selection)))
    assert first.rate == pytest.approx(last.rate)
    assert first.memory < last.memory


@pytest.mark.parametrize(("sel", "selection_first"), [(0.0, True), (0.3, True), (0.36, False), (1.0, False)])
def test_in_bytes_the_selectivity_decides(sel: float, selection_first: bool) -> None:
    """16 of 48 bytes stay: rows that pass fill less memory than projected rows if less than a third pass."""
    selection, projection = Unary(sel, 400e3), Unary(1.0, 500e3, 16.0)
    first, last = (
        chain_cost(500.0, order, 1.0, 48.0).memory for order in ((selection, projection), (projection, selection))
    )
    assert (first < last) == selection_first


@given(a=RATES, b=RATES, c=RATES, one=SHARES, two=SHARES, window=st.floats(0.1, 60.0))
@examples(50, long=2000)
def test_joins_as_section_4_1_prints_them(a: float, b: float, c: float, one: float, two: float, window: float) -> None:
    found = left_deep_cost([a, b, c], [one, two], window, 3000.0)
    each = 1 / 3000.0
    inner = one * a * b * window / (each * a + each * b)
    outer = two * inner * c * window / (each * inner + each * c)
    waiting = [mean * (mean * window / 3000.0) for mean in ((a + b) / 2, (inner + c) / 2)]
    assert found.rate == pytest.approx(outer)
    assert found.memory == pytest.approx(sum(waiting) + (inner + outer) * window)


def test_fewer_rows_between_joins_may_cost_more_as_printed() -> None:
    """Both plans have 100 results per second. The one whose first join returns half as many rows has more memory."""
    few, many = (left_deep_cost([100.0] * 3, [share, 1e-4 / share], 1.0, 3000.0) for share in (0.005, 0.01))
    assert few.rate == pytest.approx(0.02 * 750 * 100 / (850 / 3000))
    assert many.rate == pytest.approx(0.01 * 1500 * 100 / (1600 / 3000))
    assert few.memory == pytest.approx(100**2 / 3000 + 750 + 425**2 / 3000 + few.rate)
    assert few.memory > many.memory


def test_a_join_without_input_has_no_output() -> None:
    assert left_deep_cost([0.0, 0.0, 5.0], [0.1, 0.1], 1.0, 3000.0).rate == 0.0
    assert left_deep_cost([5.0, 5.0, 0.0], [0.1, 0.1], 1.0, 3000.0).rate == 0.0
