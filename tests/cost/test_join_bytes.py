"""The memory that plans are expected to need, against that of loops with as many rows."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.cost.drawn_streams import ONS, DrawnStreams, draw
from thalweg.cost.join_bytes import capacity, plan_bytes, row_width, store_bytes
from thalweg.cost.join_numbers import JoinNumbers
from thalweg.cost.memory import EXPIRED
from thalweg.kernels.window_store import WindowStore
from thalweg.optimizer.joins.search_plans import all_plans
from thalweg.plan.joins.shape import Shape, streams_of, to_text
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin

ROUNDS = 50


def run(drawn: DrawnStreams, shape: Shape) -> WindowedJoin:
    form = None if all(isinstance(part, str) for part in shape) else shape
    loop = make_join_loop(drawn.binding(), JoinOptions("static"), rng=np.random.default_rng(0), shape=form)
    drawn.run(loop, ROUNDS)
    return loop


def as_held(drawn: DrawnStreams, loop: WindowedJoin) -> JoinNumbers:
    """The numbers with the most rows that each window has held."""
    held: dict[str, Any] = {alias: float(loop.counts[alias].window.most_rows) for alias in drawn.graph.aliases}
    columns = {alias: len(loop.binding.stored[alias].names) for alias in held}
    return replace(drawn.numbers(columns=columns), held=held, _memo={})


@pytest.mark.parametrize("name", ONS)
@pytest.mark.parametrize("seed", range(2))
def test_plans_need_what_loops_with_these_rows_need(name: str, seed: int) -> None:
    """Rings have powers of two as their sizes, so one that is nearly full may be expected to be twice as large."""
    drawn = draw(name, seed, rows=30_000, partners=(0.2, 2.0))
    ratios = []
    for shape in all_plans(drawn.graph):
        loop = run(drawn, shape)
        ratios.append(float(plan_bytes(shape, as_held(drawn, loop))) / loop.nbytes)
    assert statistics.median(ratios) == pytest.approx(1.0, abs=0.25)
    assert all(0.5 <= ratio <= 2.0 for ratio in ratios)
    assert sum(0.75 <= ratio <= 1.25 for ratio in ratios) >= 0.75 * len(ratios)


@pytest.mark.parametrize("name", ONS)
def test_the_windows_of_a_multiway_join_are_exact(name: str) -> None:
    drawn = draw(name, 5, rows=20_000)
    aliases = drawn.graph.aliases
    loop = run(drawn, aliases)
    expected = store_bytes(aliases, as_held(drawn, loop))
    for alias, (_, nbytes) in loop.sizes().items():
        assert float(expected[alias]) == pytest.approx(nbytes, rel=0.01), alias


def test_kept_sub_joins_hold_between_their_rows_and_twice_as_many() -> None:
    drawn = draw("chain", 1, rows=30_000, partners=(1.0, 2.0))
    for shape in ((("a", "b"), "c"), ("a", ("b", "c"))):
        loop = run(drawn, shape)
        ((name, inner),) = loop.take_inner().items()
        part = frozenset(streams_of(next(part for part in shape if not isinstance(part, str))))
        live = float(drawn.numbers().rows(part))
        assert inner.window.rows > 100
        assert 0.8 * live <= inner.window.rows <= EXPIRED * live * 1.2, name


def test_stores_are_named_as_plans_name_them() -> None:
    drawn = draw("longer chain", 2)
    for shape in all_plans(drawn.graph):
        found = store_bytes(shape, drawn.numbers())
        kept = [to_text(part) for part in _parts(shape)]
        assert sorted(found) == sorted(kept)
        assert float(plan_bytes(shape, drawn.numbers())) == pytest.approx(sum(map(float, found.values())))


def _parts(shape: Shape) -> list[Shape]:
    return [] if isinstance(shape, str) else [*shape, *(part for each in shape for part in _parts(each))]


@pytest.mark.parametrize("rows", [1, 1000, 1024, 1025, 3000, 4096, 5000])
def test_capacities_are_those_of_stores(rows: int) -> None:
    store = WindowStore(pa.schema([("k", pa.int64())]), keys=[(0,)], window=10)
    words = np.arange(rows)
    store.insert(pa.record_batch({"k": words}), {(0,): words}, np.zeros(rows, np.int64))
    (index,) = store.indexes.values()
    assert float(capacity(float(rows))) == len(index.ring)


def test_widths_and_arrays() -> None:
    drawn = draw("chain", 0)
    numbers = drawn.numbers(widths={"a": 100.0}, columns={"b": 3})
    assert row_width(frozenset("ab"), numbers) == 100.0 + 3 * 8.0
    for shape in all_plans(drawn.graph):
        plain = float(plan_bytes(shape, drawn.numbers()))
        held: dict[str, Any] = {a: np.array([float(rows)] * 2) for a, rows in drawn.numbers().held.items()}
        assert np.asarray(plan_bytes(shape, replace(drawn.numbers(), held=held, _memo={}))) == pytest.approx(
            [plain] * 2
        )
