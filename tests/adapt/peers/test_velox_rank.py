"""Velox's policy: time per dropped row, summed since the start."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.adapt.seen import histories, seen
from tests.plan.filters.pipelines import pipelines
from thalweg.adapt.peers.velox_rank import VeloxRank
from thalweg.plan import Pipeline


@given(pipelines(), st.data())
def test_it_is_sorted_by_time_per_dropped_row_since_the_start(pipeline: Pipeline, data: st.DataObject) -> None:
    n = len(pipeline)
    policy = VeloxRank(pipeline)
    time, drops = [0] * n, [0] * n
    for update in data.draw(histories(n)):
        before = policy.order
        verdict = policy.update(update)
        time = [a + int(b) for a, b in zip(time, update.busy_ns, strict=True)]
        drops = [a + int(e - p) for a, e, p in zip(drops, update.evaluated, update.passed, strict=True)]
        to_drop = [t / d if d else t for t, d in zip(time, drops, strict=True)]
        for k in range(n):
            if not (pipeline.profiled[k] or time[k] or drops[k]):
                to_drop[k] = float("inf")  # no row has reached it
        expected: list[int] = []
        while len(expected) < n:
            ready = [k for k in range(n) if k not in expected and all(g in expected for g in pipeline.guards[k])]
            expected.append(min(ready, key=lambda k: (to_drop[k], k)))
        assert policy.order == tuple(expected)
        assert (verdict is None) == (policy.order == before)


def test_old_rows_weigh_as_much_as_new_ones() -> None:
    policy = VeloxRank(Pipeline(("a", "b")))
    policy.update(seen(2, evaluated=[1000, 500], passed=[500, 499], busy_ns=[1000, 5000]))
    assert policy.order == (0, 1)
    for _ in range(5):  # now b drops ten times as many rows per unit of time as a
        policy.update(seen(2, evaluated=[100, 100], passed=[99, 90], busy_ns=[100, 100]))
    assert policy.order == (0, 1)


def test_a_filter_that_must_not_be_profiled_waits_for_its_first_row() -> None:
    policy = VeloxRank(Pipeline(("a", "paid", "b"), profiled=(True, False, True)))
    verdict = policy.update(seen(3, evaluated=[100, 0, 0], passed=[0, 0, 0], busy_ns=[0, 0, 0]))
    assert verdict is not None
    assert (policy.order, verdict.reason) == ((0, 2, 1), "b takes 0 ns per dropped row, paid has not been called")


def test_the_reason_gives_both_times() -> None:
    verdict = VeloxRank(Pipeline(("a", "b"))).update(seen(2, evaluated=[100, 50], passed=[50, 5], busy_ns=[9000, 450]))
    assert verdict is not None
    assert verdict.reason == "b takes 10 ns per dropped row, a takes 180 ns"
