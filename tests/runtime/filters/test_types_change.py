"""A column changes its type between batches when the order changes: no row is profiled with a wrong position."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from thalweg import predicate
from thalweg.adapt import Observation, ProfilingRequest, Verdict
from thalweg.kernels import FilterChain
from thalweg.plan import FilterPlan
from thalweg.runtime.filters.filter_loop import FilterLoop

CALLED: list[str] = []


def guarded(text: str) -> bool:
    CALLED.append(text)
    return False


class OneSwitch:
    """Moves the guard to the front at the first update; until then the other filter drops rows."""

    name = "one-switch"
    standing = ""

    def __init__(self) -> None:
        self.order = (1, 0, 2)

    def wants(self) -> ProfilingRequest:
        return ProfilingRequest(1.0, np.ones((3, 3), dtype=bool), together=1 << 30)

    def update(self, seen: Observation) -> Verdict | None:
        if not len(seen.profile) or self.order == (0, 1, 2):
            return None
        self.order = (0, 1, 2)
        return Verdict(self.order, "the test says so")


def test_guards_hold_when_types_and_order_change_together() -> None:
    CALLED.clear()
    plan = FilterPlan(
        (
            predicate(lambda text: text.startswith("yes"), "text", name="guard"),
            predicate(lambda text: False, "text", name="never"),
            predicate(guarded, "text", name="guarded", after="guard"),
        )
    )
    loop = FilterLoop(FilterChain(plan, lambda: 0), OneSwitch(), np.random.default_rng(1))  # type: ignore[arg-type]
    loop._most_waiting = 1 << 30  # so that only the change of type shows what waits
    for kind in (pa.string(), pa.large_string(), pa.string()):
        values = pa.array([f"{'yes' if i % 2 else 'no'} {i}" for i in range(50)], kind)
        loop.process(pa.record_batch({"text": values}))
    assert loop.order == (0, 1, 2)
    assert all(text.startswith("yes") for text in CALLED)
