"""The order of plans of which several are equally good, and how much better a plan that keeps sub-joins must be.

Answers: `ranked`, plans from the best to the worst; `caution`, a factor on the CPU time of a plan.
How: numbers are compared one after the other: what a plan is chosen by, then its CPU time, then its memory. Plans whose
number is equal to the best of those that are left, within a share, are compared by the next number, and at last by
their text.
Guarantee: the order does not depend on the order in which plans are listed, nor on rounding errors.
Cost: one sort; later numbers are computed only for plans that are equal so far.

>>> rates = {"a": (1.0, 9.0), "b": (1.005, 2.0), "c": (1.2, 1.0)}
>>> list(ranked(rates, [(lambda plan: rates[plan][0], TIES), (lambda plan: rates[plan][1], ROUNDING)], str))
['b', 'a', 'c']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from thalweg.plan.joins.shape import Shape, plan_text
from thalweg.plan.objective import LEAST_CPU, Objective

TIES = 0.01
"""Plans are equally good if what they are chosen by differs by at most this share: predictions are less exact."""
ROUNDING = 1e-9
"""CPU times and memory are equal if they differ by at most this share: their order would be that of rounding errors."""
CAUTION = 1.15
"""A plan that keeps sub-joins must be better than keeping nothing by this factor: predictions are not exact, and
keeping nothing needs the least memory."""
T = TypeVar("T")


def ranked(
    plans: Iterable[T], numbers: Sequence[tuple[Callable[[T], float], float]], text: Callable[[T], str]
) -> Iterator[T]:
    """Yield plans from the best to the worst. `numbers`: functions that return a number of a plan, 0 or more, less is
    better, each with the share by which equal ones may differ."""
    found = list(plans)
    if len(found) < 2 or not numbers:
        yield from sorted(found, key=text)
        return
    (number, share), *others = numbers
    left = sorted(((number(plan), n) for n, plan in enumerate(found)), key=lambda each: each[0])
    while left:
        limit = left[0][0] * (1.0 + share)
        equal = [found[n] for value, n in left if value <= limit]
        yield from ranked(equal, others, text)
        left = left[len(equal) :]


def caution(shape: Shape, objective: Objective) -> float:
    """Return the factor by which the CPU time of a plan is weighted."""
    return CAUTION if objective == LEAST_CPU and plan_text(shape) != "multiway" else 1.0


def is_less(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether numbers are less than others: the first ones that differ by more than rounding errors decide.

    >>> is_less((1.0, 2.0), (1.0 + 1e-12, 3.0)), is_less((1.0, 2.0), (1.0, 2.0))
    (True, False)
    """
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > ROUNDING * max(abs(a), abs(b)):
            return a < b
    return False
