"""Limits of trees of binary joins: those of a multiway join, and memory that inner results count towards."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pyarrow as pa
import pytest

from thalweg.errors import JoinLimitError
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinLimits, JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin

SCHEMA = pa.schema([("k", pa.int64()), ("m", pa.int64()), ("t", pa.int64())])
ON = "a.k = b.k AND b.m = c.m"
SHAPES: list[Shape | None] = [None, (("a", "b"), "c"), ("a", ("b", "c"))]


def loop_of(shape: Shape | None, limits: JoinLimits, redact: bool = False) -> WindowedJoin:
    binding = JoinBinding.of(JoinPlan.of(ON, 10, "t", 0), dict.fromkeys("abc", SCHEMA))
    options = JoinOptions("static", limits=limits, redact=redact)
    return make_join_loop(binding, options, rng=np.random.default_rng(0), shape=shape)


def batch_of(rows: list[tuple[int, int]], time: int = 0) -> pa.RecordBatch:
    columns = [pa.array([row[n] for row in rows], pa.int64()) for n in range(2)]
    return pa.RecordBatch.from_arrays([*columns, pa.array([time] * len(rows), pa.int64())], schema=SCHEMA)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_row_may_have_as_many_results_as_the_limit_and_no_more(shape: Shape | None, seed: int) -> None:
    """Counted by comparing every row with every row, for the last stream to come."""
    r = random.Random(seed)
    streams = list("abc")
    r.shuffle(streams)
    rows = {alias: [(r.randrange(3), r.randrange(3)) for _ in range(20)] for alias in "abc"}
    last = streams[-1]
    counts = [0] * 20
    for numbers in itertools.product(range(20), repeat=3):
        a, b, c = (rows[alias][n] for alias, n in zip("abc", numbers, strict=True))
        if a[0] == b[0] and b[1] == c[1]:
            counts[numbers["abc".index(last)]] += 1
    most = max(counts)
    assert most > 10
    for limit in (most, most - 1):
        loop = loop_of(shape, JoinLimits(max_matches=limit))
        for alias in streams[:-1]:
            assert not list(loop.process(alias, batch_of(rows[alias])))
        if limit == most:
            assert sum(out.num_rows for out in loop.process(last, batch_of(rows[last]))) == sum(counts)
            assert loop.counts[last].matches.most_matches == most
            assert sum(rows_ > 0 for rows_ in counts) == loop.take_probed(last).work.chain.kept or shape is None
            continue
        # the first row with too many, by its keys
        key = rows[last][counts.index(next(n for n in counts if n > limit))]
        named = {"a": f"k={key[0]}", "b": f"k={key[0]}, m={key[1]}", "c": f"m={key[1]}"}[last]
        with pytest.raises(JoinLimitError, match=rf"one row of {last} \({named}\) has more than {limit} matches"):
            list(loop.process(last, batch_of(rows[last])))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_no_value_of_a_row_is_shown_where_that_is_not_allowed(shape: Shape | None) -> None:
    loop = loop_of(shape, JoinLimits(max_matches=8), redact=True)
    for alias in "ab":
        list(loop.process(alias, batch_of([(4711, 815)] * 3)))
    with pytest.raises(JoinLimitError, match="one row of c has more than 8 matches") as error:
        list(loop.process("c", batch_of([(4711, 815)])))
    assert not re.search("4711|815", str(error.value))


def test_results_of_one_row_are_limited_over_all_parts() -> None:
    """The results of 400 by 400 rows, tens of thousands at a time."""
    for limit, fails in ((160_000, False), (159_999, True)):
        loop = loop_of((("a", "b"), "c"), JoinLimits(max_matches=limit))
        for alias in "ab":
            list(loop.process(alias, batch_of([(1, 1)] * 400)))
        came = 0
        try:
            for out in loop.process("c", batch_of([(1, 2), (1, 1), (1, 2)])):
                came += out.num_rows
        except JoinLimitError:
            assert fails
            assert came < limit
        else:
            assert (came, fails) == (160_000, False)
            assert loop.counts["c"].matches.most_matches == 160_000
            assert loop.take_probed("c").work.chain.kept == 1


@pytest.mark.parametrize("shape", [(("a", "b"), "c"), ("c", ("b", "a"))], ids=str)
def test_inner_results_count_towards_the_memory_and_are_named(shape: Shape) -> None:
    inner = "(a b)" if shape[1] == "c" else "(b a)"
    limits = JoinLimits(max_bytes=4 << 20)
    few, many = loop_of(None, limits), loop_of(shape, limits)
    rows = batch_of([(1, 2)] * 300)
    for alias in "ab":
        list(few.process(alias, rows))  # the windows alone fit
    list(many.process("a", rows))
    with pytest.raises(JoinLimitError) as error:
        list(many.process("b", batch_of([(1, 2)] * 900)))
    text = str(error.value)
    assert "the windows and inner results would hold more than 4" in text
    assert re.search(rf"{re.escape(inner)} [\d.]+ \w+ in [1-9][\d,]* rows", text)
    assert re.search(r"\ba [\d.]+ \w+ in 300 rows", text)
    assert "max_bytes=" in text
    assert "order with smaller inner results" in text


def test_a_tree_suggests_spreading_only_if_there_are_buckets() -> None:
    for in_buckets in (False, True):
        loop = loop_of((("a", "b"), "c"), JoinLimits(max_bytes=100, in_buckets=in_buckets))
        with pytest.raises(JoinLimitError) as error:
            list(loop.process("a", batch_of([(1, 1)])))
        assert ("buckets=" in str(error.value)) == in_buckets
