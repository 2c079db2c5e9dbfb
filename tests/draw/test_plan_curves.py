"""Data of plans that were compared: what cannot be drawn is refused with a sentence."""

from __future__ import annotations

import math
from typing import Any

import pytest

from thalweg.draw.plan_curves import Crossing, Curve, Measured, PlanCurves, PlanMemory
from thalweg.errors import PlanError

ONE = Curve("one", (0.0, 1.0), (0.0, 5.0), (0.0, 4.0), (0.0, 6.0))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Curve("p", (), (), (), ()), "curve of 'p': times is empty; give at least one point"),
        (lambda: Curve("p", (0.0, 1.0), (0.0,), (0.0,), (0.0,)), "curve of 'p': results has 1 number for 2 times"),
        (lambda: Curve("p", (0.0,), (math.nan,), (0.0,), (0.0,)), "results[0]=nan: must be a finite number, 0 or more"),
        (lambda: Curve("p", (0.0,), (0.0,), (0.0,), (math.inf,)), "high[0]=inf: must be a finite number, 0 or more"),
        (lambda: Curve("p", (-1.0,), (0.0,), (0.0,), (0.0,)), "times[0]=-1.0: must be a finite number, 0 or more"),
        (lambda: Curve("p", (0.0,), (3.0,), (4.0,), (5.0,)), "results[0]=3.0 is not in its band, from 4.0 to 5.0"),
        (lambda: Curve("p", (0.0,), (6.0,), (4.0,), (5.0,)), "results[0]=6.0 is not in its band, from 4.0 to 5.0"),
        (lambda: Measured((2.0, 1.0), (0.0, 0.0)), "times[1]=1.0 follows 2.0; sort the points by time"),
        (lambda: Measured((math.inf,), (0.0,)), "measured results: times[0]=inf: must be a finite number"),
        (lambda: Crossing("a", "b", math.nan, 1.0), "crossing of 'a' and 'b': times[0]=nan"),
        (lambda: PlanMemory("p", 5.0, 6.0, 7.0), "memory of 'p': predicted_bytes=5.0 is not in its band"),
        (lambda: PlanMemory("p", 5.0, 4.0, 7.0, math.nan), "memory of 'p': measured_bytes=nan"),
        (lambda: PlanCurves("t", ()), "a picture of plans needs at least one plan"),
        (lambda: PlanCurves("t", (ONE,), by=math.inf), "by=inf: must be a finite number"),
        (lambda: PlanCurves("t", (ONE,), max_bytes=-1.0), "max_bytes=-1.0: must be a finite number"),
        (
            lambda: PlanCurves("t", (ONE,), crossings=(Crossing("one", "two", 1.0, 1.0),)),
            "crossings: there is no curve of 'two'; add it to curves",
        ),
        (
            lambda: PlanCurves("t", (ONE,), memory=(PlanMemory("two", 1.0, 1.0, 1.0),)),
            "memory: there is no curve of 'two'; add it to curves",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(make: Any, said: str) -> None:
    with pytest.raises(PlanError) as error:
        make()
    assert said in str(error.value)


def test_points_may_share_a_time() -> None:
    assert Measured((1.0, 1.0), (2.0, 3.0)).results == (2.0, 3.0)
