"""Whatever the costs, servers, orders of arrival and shapes: the results are those of the finished data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.long_run import examples
from tests.runtime.joins.oracle import expected, rows
from thalweg.plan.joins.shape import Shape
from thalweg.simulation import Costs, MultiwayJoin, Operator, Source, poisson, simulate, tree_join

ALIASES = "abcd"
costs = st.builds(
    Costs,
    move=st.sampled_from([0, 0.01, 0.4]),
    probe=st.sampled_from([0, 0.2]),
    comp=st.sampled_from([0, 0.01]),
    result=st.sampled_from([0, 0.05]),
)


@st.composite
def shapes(draw: st.DrawFn, streams: tuple[str, ...]) -> Shape:
    """Any tree over these; every pair is connected, since all conditions are on one key."""
    if len(streams) == 1:
        return streams[0]
    cut = draw(st.integers(1, len(streams) - 1))
    return draw(shapes(streams[:cut])), draw(shapes(streams[cut:]))


@st.composite
def disordered(draw: st.DrawFn, disorder: int) -> pa.Table:
    """Rows whose times go up, each moved back by at most `disorder`: none is late if that is the lateness."""
    steps = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, disorder), st.integers(0, 3)), max_size=25))
    time, found = 0, []
    for step, back, key in steps:
        time += step
        found.append((key, time - back))
    return pa.table({"k": [k for k, _ in found], "t": pa.array([t for _, t in found], pa.int64())},
                    schema=pa.schema([("k", pa.int64()), ("t", pa.int64())]))  # fmt: skip


@examples(40, long=2_000)
@given(st.data())
def test_results_are_those_of_the_finished_data(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 4))
    aliases = data.draw(st.permutations(ALIASES[:count]))
    lateness = data.draw(st.integers(0, 3))
    tables = {alias: data.draw(disordered(lateness)) for alias in ALIASES[:count]}
    windows = {alias: data.draw(st.integers(0, 6)) for alias in tables}
    rates = {alias: data.draw(st.sampled_from([0.3, 3, 30])) for alias in tables}
    sources = {
        alias: Source(table, poisson(rates[alias]), at_once=data.draw(st.sampled_from([1, 1, 4])))
        for alias, table in tables.items()
    }
    on = " AND ".join(f"a.k = {alias}.k" for alias in list(tables)[1:])
    if data.draw(st.booleans()):
        policy = data.draw(st.sampled_from(["auto", "a-greedy", "static"]))
        operators: Sequence[Operator] = [
            MultiwayJoin("join", on, windows, "t", lateness, costs=data.draw(costs), policy=policy)
        ]
    else:
        shape = data.draw(shapes(tuple(aliases)))
        parts = list(_parts(shape))
        operators = tree_join(
            "join", shape, on, windows, "t", lateness,
            costs={part: data.draw(costs) for part in parts},
            methods={part: data.draw(st.sampled_from(["hash", "loops"])) for part in parts},
        )  # fmt: skip
    trace = simulate(
        sources, operators, cpus=data.draw(st.sampled_from([None, 1, 2])), seed=data.draw(st.integers(0, 99))
    )
    assert rows(trace.rows()) == rows(expected(tables, on, windows))
    assert all(sample.late == 0 and sample.queue == 0 for sample in trace.final.values())
    assert all(sample.window_rows == 0 for sample in trace.final.values())


def _parts(shape: Shape) -> Iterator[Shape]:
    if not isinstance(shape, str):
        for part in shape:
            yield from _parts(part)
        yield shape
