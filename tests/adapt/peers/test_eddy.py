"""The lottery Eddy: tickets, decisions, and what it converges to."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapt.routed_stream import Run, run
from tests.optimizer.mesh.streams_of_classes import Stream, stream
from thalweg.adapt import Observation
from thalweg.adapt.peers.eddy import HALF_LIFE, Eddy
from thalweg.kernels.lottery import LEAST
from thalweg.plan import Pipeline


def two_filters(shares: tuple[float, float], rows: int = 20_000) -> Stream:
    passes = (np.random.default_rng(5).random((rows, 2)) < shares).astype(np.float64)
    return Stream({}, passes, np.zeros(rows, np.int64), np.array([shares]))


def first_share(done: Run, filter_: int, rows: int) -> float:
    """The share of the newest decisions at the first filter of a batch that went to `filter_`: calls on 100 rows."""
    firsts = [k for k, called in done.calls if called == 100][-rows // 100 :]
    return firsts.count(filter_) / len(firsts)


def equilibrium(passes: tuple[float, float], costs_ns: tuple[int, int]) -> float:
    """The share of rows that visit filter 1 first, if tickets no longer change: each filter earns what it drops of the
    rows that visit it first, and of those that the other one has passed."""
    a, b = (1.0 - share for share in passes)
    q = 0.5
    for _ in range(1_000):
        earned = [(a * (1 - q) + a * (1 - b) * q) / costs_ns[0], (b * q + b * (1 - a) * (1 - q)) / costs_ns[1]]
        total = sum(earned)
        q = (earned[1] + LEAST * total) / (total * (1 + 2 * LEAST))
    return q


@pytest.mark.parametrize(
    ("passes", "costs_ns", "better"),
    [((0.5, 0.2), (1_000, 1_000), 1), ((0.5, 0.4), (1_000, 10_000), 0), ((0.9, 0.6), (10_000, 1_000), 1)],
)
def test_most_rows_soon_visit_the_better_filter_first(
    passes: tuple[float, float], costs_ns: tuple[int, int], better: int
) -> None:
    done = run("eddy", two_filters(passes, 30_000), costs_ns)
    assert first_share(done, 1, rows=15_000) == pytest.approx(equilibrium(passes, costs_ns), abs=0.12)
    assert first_share(done, better, rows=15_000) > 0.7
    assert done.policy.tickets[better] > 2 * done.policy.tickets[1 - better]


def test_no_filter_is_forgotten_and_a_change_is_followed() -> None:
    before, after = two_filters((0.2, 0.6), 30_000), two_filters((0.9, 0.2), 60_000)
    both = np.concatenate([before.passes, after.passes])
    done = run("eddy", Stream({}, both, np.zeros(len(both), np.int64), after.shares))
    assert done.kept == both.all(axis=1).tolist()
    assert first_share(done, 1, rows=10_000) > 0.7, "the other one was the better filter before"


def test_tickets_are_drops_per_ns_and_fade() -> None:
    policy = Eddy(Pipeline(("a", "b")))
    nothing = np.zeros(2, np.int64)

    def seen(evaluated: list[int], passed: list[int]) -> Observation:
        return Observation(
            np.array(evaluated), np.array(passed), nothing, np.array([2.0, 50.0]), np.zeros((0, 2), bool)
        )

    policy.update(seen([100, 100], [60, 50]))
    assert policy.tickets.tolist() == [40 / 2, 50 / 50]
    policy.update(seen([HALF_LIFE, 0], [HALF_LIFE, 0]))
    assert policy.tickets.tolist() == [10.0, 0.5]


@pytest.mark.parametrize("batch", [1, 8, 100])
def test_decisions_are_counted_by_batch_of_rows(batch: int) -> None:
    rows = 2_800
    everything = Stream({}, np.ones((rows, 3)), np.zeros(rows, np.int64), np.ones((1, 3)))
    done = run("eddy", everything, batch=batch)
    work = done.loop.take_work()
    assert all(done.kept)
    assert work.routes is not None
    assert work.routes.decisions == 2 * rows // batch, "of three filters, and then of two"
    assert max(called for _, called in done.calls) == batch
    assert len(done.calls) == 3 * rows // batch, "each decision is a call"
    assert done.evaluations == 3 * rows
    assert done.policy.decisions <= work.routes.decisions
    assert "a lottery has decided" in work.in_force.standing
    assert done.policy.routing_ns == 0, "on this clock, only filters take time"
    assert "routing took 0 ns per decision" in work.in_force.standing


def test_a_longer_slice_is_cut_into_rusters() -> None:
    rows = stream("classes", 1_000, seed=2)
    done = run("eddy", rows, slice_rows=1_000, batch=10)
    assert done.kept == rows.passes.all(axis=1).tolist()
    routes = done.loop.ledger.on_routes
    assert routes is not None
    assert routes.rows.tolist() == [1_000]
    assert routes.decisions >= 100, "one or more for each ruster of ten rows"
    evaluated = [sum(called for k, called in done.calls if k == filter_) for filter_ in range(8)]
    assert done.loop.work.chain.evaluated == evaluated == routes.evaluated[0].tolist()


def test_it_takes_as_much_as_a_good_order_where_values_mean_nothing() -> None:
    rows = stream("none", 60_000, seed=3)
    done = run("eddy", rows)
    assert done.evaluations / 60_000 < 1.3 * rows.clairvoyant()
    assert done.evaluations / 60_000 > rows.clairvoyant(), "nothing is better than the best order"
    assert done.loop.work.chain.profile_tuples == 0
