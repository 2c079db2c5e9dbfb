"""The costs of operators, in time units: the four costs of rate-based, table 2, and three more.

A cost is a number of time units, text such as '5 ms', or a function of the time so far (in time units) that returns
one, for costs that drift.

>>> symmetric_hash = Costs(move=0.001, hash=0.002, probe=0.002)
>>> price(symmetric_hash.hash)(0), price(lambda now: "1 ms" if now < 10 else "2 ms")(12 * UNIT)
(2000000, 2000000)

Reference: Viglas, Naughton: Rate-Based Query Optimization for Streaming Information Sources. SIGMOD 2002, section 3.4,
tables 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from thalweg.cost.ticks import UNIT, ticks
from thalweg.errors import PlanError, nearest
from thalweg.plan.joins.window import Length

Cost = Length | Callable[[float], Length]
Price = Callable[[int], int]
"""A function that returns the cost at an instant. Both are in ticks."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The declared costs of an operator. Costs that are not declared are 0.

    A cost is a number of time units, text such as ``"5 ms"``, or a function of the time so far that returns one.

    Examples
    --------
    >>> from thalweg.simulation import Costs
    >>> costs = Costs(move="1 ms", probe={"a": 0.002}, predicate=lambda now: "1 ms" if now < 10 else "2 ms")
    >>> costs.move
    '1 ms'
    """

    move: Cost = 0
    """Per arriving row: moving it from the input buffer into memory."""
    hash: Cost = 0
    """Per arriving row: inserting it into its own hash table."""
    probe: Cost | Mapping[str, Cost] = 0
    """Per row and probe: looking it up in another table. In joins of many streams, one cost for all probes, or costs by
    the stream that is probed."""
    comp: Cost = 0
    """Per row and row of the other window: nested loops compare with all of them."""
    predicate: Cost | Mapping[str, Cost] = 0
    """Per row: evaluating a predicate (the C_sigma of rate-based, section 3.2). One cost for all predicates, or costs
    by name."""
    handling: Cost = 0
    """Per arriving row, in addition: what makes a predicate expensive (the 5 ms of table 5)."""
    result: Cost = 0
    """Per result: results appear one after the other, each after this time."""

    def __post_init__(self) -> None:
        for field in fields(self):
            cost = getattr(self, field.name)
            for one in cost.values() if isinstance(cost, Mapping) else [cost]:
                price(one, field.name)


def check_costs(costs: Any, what: str = "costs") -> Costs:
    """Return `costs` if they are `Costs`, otherwise raise `PlanError`."""
    if isinstance(costs, Costs):
        return costs
    words = {field.name for field in fields(Costs)}
    if isinstance(costs, Mapping) and costs and words.issuperset(costs):
        written = ", ".join(f"{word}={cost!r}" for word, cost in costs.items())
        raise PlanError(f"{what}={costs!r}: write Costs({written})")
    raise PlanError(f"{what}={costs!r}: must be Costs(...) with {', '.join(field.name for field in fields(Costs))}")


def price(cost: Cost, what: str = "cost") -> Price:
    """Check a cost, and return it as a function of time."""
    if callable(cost):
        drifting = cost
        return lambda now: ticks(drifting(now / UNIT), what)
    fixed = ticks(cost, what)
    return lambda now: fixed


def prices(cost: Cost | Mapping[str, Cost], names: tuple[str, ...], what: str) -> tuple[Price, ...]:
    """Return one price per name; 0 for names without a declared cost."""
    if not isinstance(cost, Mapping):
        return (price(cost, what),) * len(names)
    for name in cost:
        if name not in names:
            raise PlanError(f"{what}: {name!r} is not one of {', '.join(names)}{nearest(str(name), names)}")
    return tuple(price(cost.get(name, 0), what) for name in names)
