"""Evidence: profiled rows of this worker and of siblings with similar data, weighted by the counts of ordinary work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.adapt.seen import seen
from thalweg.adapt.evidence import LEAST_DROP, LEAST_PASS, Evidence
from thalweg.plan import Pipeline

ORDER = (0, 1, 2)
ALL = np.ones((1, 3), bool)
HEDGE = LEAST_PASS + LEAST_DROP


def evidence(*, profiled: tuple[bool, ...] = (True, True, True)) -> Evidence:
    return Evidence(Pipeline(("a", "b", "c"), profiled=profiled))


def rows_of(seed: int, count: int, *drops: float) -> np.ndarray:
    """Draw dropped rows: at least one filter drops each."""
    rows = np.random.default_rng(seed).random((8 * count, len(drops))) < drops
    return rows[rows.any(axis=1)][:count]


def work(found: Evidence, dropped: np.ndarray, times: int = 1, **more: Any) -> None:
    """Return an observation of ordinary work on such rows, in the order as written."""
    alive = np.array([(~dropped[:, :i].any(axis=1)).sum() for i in range(4)])
    observed = seen(3, evaluated=(alive[:3] * times).tolist(), passed=(alive[1:] * times).tolist())
    found.count(replace(observed, **more), ORDER)


def drop_shares(found: Evidence, *, old: bool = False) -> np.ndarray:
    table = found.table(ORDER, old=old)
    shares: np.ndarray = 1.0 - (table.weights @ table.passes) / table.weights.sum()
    return shares


def test_without_evidence_a_filter_drops_about_half() -> None:
    found = evidence()
    found.add(ALL[:, :3] & False, ~ALL)
    table = found.table(ORDER, old=False)
    assert table.passes == pytest.approx(np.full((1, 3), 0.5), abs=HEDGE)
    assert found.kept == 0.0


def test_profiled_rows_show_what_each_filter_drops() -> None:
    found, rows = evidence(), rows_of(1, 300, 0.2, 0.5, 0.8)
    found.add(rows, None)
    assert drop_shares(found) == pytest.approx(rows.mean(axis=0), abs=HEDGE)


def test_nothing_is_ever_certain() -> None:
    """A filter that dropped every profiled row may let some pass, and one that dropped none may drop some."""
    found = evidence()
    found.add(np.tile([True, False, False], (400, 1)), None)
    passes = found.table(ORDER, old=False).passes
    assert 0.0 < passes.min() <= HEDGE
    assert 1.0 - HEDGE <= passes.max() < 1.0


def test_a_filter_not_evaluated_drops_as_at_its_position() -> None:
    """The third filter was evaluated on no profiled row; in ordinary work it drops nine in ten."""
    found, rows = evidence(), rows_of(2, 200, 0.4, 0.4, 0.0)
    known = np.tile([True, True, False], (len(rows), 1))
    found.add(rows, known)
    found.count(seen(3, evaluated=[1_000, 600, 300], passed=[600, 300, 30]), ORDER)
    assert found.table(ORDER, old=False).passes[:, 2] == pytest.approx(0.1, abs=0.03)


def test_an_unprofiled_filter_drops_as_at_its_position() -> None:
    found, rows = evidence(profiled=(True, True, False)), rows_of(3, 200, 0.4, 0.4, 0.0)
    found.add(rows, np.tile([True, True, False], (len(rows), 1)))
    found.count(seen(3, evaluated=[40, 20, 10], passed=[20, 10, 1]), ORDER)
    assert found.table(ORDER, old=False).passes[:, 2] == pytest.approx(0.1, abs=0.1)


def test_profiled_rows_are_weighted_by_counts_of_regular_work() -> None:
    """The first filter dropped half of the profiled rows and the second the other half; of all dropped rows, the first
    dropped three in four."""
    found = evidence()
    profile = np.repeat([[True, False, False], [False, True, True]], 100, axis=0)
    found.add(profile, None)
    found.count(seen(3, evaluated=[40_000, 10_000, 0], passed=[10_000, 0, 0]), ORDER)
    assert drop_shares(found) == pytest.approx([0.75, 0.25, 0.25], abs=0.03)
    # the counts say nothing about the positions of another order
    found.switched()
    assert drop_shares(found) == pytest.approx([0.5, 0.5, 0.5], abs=0.03)


@pytest.mark.parametrize(("share", "expected"), [(0.3, 0.3), (1.0, 0.999)])
def test_what_passes_everything_is_counted_and_never_all_of_it(share: float, expected: float) -> None:
    found = evidence()
    for _ in range(10):
        rows = int(10_000 * share)
        found.count(seen(3, evaluated=[10_000, rows, rows], passed=[rows] * 3), ORDER)
    assert found.kept == pytest.approx(expected)


def test_what_passes_follows_the_data() -> None:
    found = evidence()
    for kept in [9_000] * 10 + [1_000] * 10:
        found.count(seen(3, evaluated=[10_000, kept, kept], passed=[kept] * 3), ORDER)
    assert found.kept == pytest.approx(0.1, abs=0.02)


def test_an_update_without_rows_changes_nothing() -> None:
    found = evidence()
    work(found, rows_of(4, 1_000, 0.5, 0.5, 0.5))
    before = found.kept, found.runs
    found.count(seen(3), ORDER)
    assert (found.kept, found.runs) == before


def test_after_a_drift_a_few_new_rows_outweigh_many_old_ones() -> None:
    found = evidence()
    old, new = np.tile([True, False, False], (400, 1)), np.tile([False, False, True], (60, 1))
    found.add(old, None)
    found.moved(seen(3))
    assert found.since_move == 0
    found.add(new, None)
    assert found.since_move == 60
    shares = drop_shares(found, old=True)
    assert shares[2] > 0.6 > 0.4 > shares[0]
    # and in the end the old ones are gone
    found.forget_old()
    assert len(found.window) == 60
    assert drop_shares(found) == pytest.approx([0.0, 0.0, 1.0], abs=HEDGE)


@pytest.mark.parametrize("alike", [True, False])
def test_siblings_rows_count_if_they_look_like_the_workers_own(alike: bool) -> None:
    found = evidence()
    mine, theirs = rows_of(5, 100, 0.2, 0.5, 0.8), rows_of(6, 400, *((0.2, 0.5, 0.8) if alike else (0.8, 0.5, 0.2)))
    found.add(mine, None)
    found.add_siblings(np.concatenate([theirs, np.ones_like(theirs)], axis=1))
    assert len(found.table(ORDER, old=False).passes) == (500 if alike else 100)


def test_a_worker_without_rows_uses_those_of_siblings() -> None:
    found, theirs = evidence(), rows_of(7, 200, 0.2, 0.5, 0.8)
    found.add_siblings(np.concatenate([theirs, np.ones_like(theirs)], axis=1))
    assert drop_shares(found) == pytest.approx(theirs.mean(axis=0), abs=HEDGE)


@pytest.mark.parametrize("together", [1, 64])
def test_runs_of_similar_rows_are_detected_by_saved_calls(together: int) -> None:
    """One row in a hundred reaches the second filter; alone, or 64 in a row. Slices have 128 rows."""
    rng = np.random.default_rng(8)
    found = evidence()
    for _ in range(20):
        runs = rng.random(128 * 128 // together) < 0.01
        alive = np.repeat(runs, together).reshape(128, 128)
        through, called = int(alive.sum()), int(alive.any(axis=1).sum())
        calls = np.array([128, called, 0])
        found.count(
            replace(
                seen(3, evaluated=[alive.size, through, 0], passed=[through, 0, 0]),
                slices=128, calls=calls,
            ),
            ORDER,
        )  # fmt: skip
    if together == 1:
        assert found.runs > 0.7
    else:
        assert found.runs < 0.2


def test_another_worker_continues_from_the_profiled_rows() -> None:
    found, other = evidence(), evidence()
    found.add(rows_of(9, 200, 0.2, 0.5, 0.8), None)
    other.add(rows_of(10, 200, 0.8, 0.5, 0.2), None)
    other.restore(found.window.snapshot())
    assert drop_shares(other) == pytest.approx(drop_shares(found))
    assert other.since_move == 200
