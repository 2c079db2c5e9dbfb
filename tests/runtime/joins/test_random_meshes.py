"""A join whose rows take any routes by any of their columns, which change at any time, is what DuckDB makes of the
finished data."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.runtime.joins.generated import Case, cases, shapes
from tests.runtime.joins.restless_mesh import Classifier, RestlessMesh, with_probing
from tests.runtime.joins.test_same_as_duckdb import interleaved
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.optimizer.mesh.column_values import kind_of
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape, to_text
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_protocol import WindowedJoin

SEEDS = st.integers(0, 2**32)


@st.composite
def classified(draw: st.DrawFn, case: Case) -> list[str] | None:
    """Some columns of streams; None: those that are compared."""
    columns = [
        f"{alias}.{field.name}"
        for alias in case.windows
        for field in case.streams[alias].table.schema
        if kind_of(field.type) is not None
    ]
    some = draw(st.lists(st.sampled_from(columns), max_size=4, unique_by=str.lower))
    return some or None


@dataclass
class Restless:
    """Loops of one case whose rows take random routes."""

    case: Case
    binding: JoinBinding
    seed: int
    p: float
    slice_rows: int

    def __post_init__(self) -> None:
        self.policies: list[RestlessMesh] = []

    def loop(self, shape: Shape | None) -> WindowedJoin:
        """A loop, of which all policies change meshes."""
        options = JoinOptions("static", snapshots=True, results=50)
        rng = np.random.default_rng(self.seed)
        loop = make_join_loop(
            self.binding, options, rng=rng, clock=lambda: 0, tables=self.case.tables, shape=shape
        )  # fmt: skip
        return with_probing(loop, self._restless)

    def _restless(self, chain: ProbeChain, alias: str) -> FilterLoop[ProbeRows]:
        self.seed += 1
        columns = [
            Classifier(
                name, self.binding.schemas[alias].field(name).type, self.case.streams[alias].table[name].to_pylist()
            )
            for name in chain.classifiers
        ]
        policy = RestlessMesh(chain.pipeline, columns, self.seed, self.p, 0.5)
        self.policies.append(policy)
        return FilterLoop(chain, policy, np.random.default_rng(self.seed), self.slice_rows)


@examples(40, long=2_000)
@given(
    case=cases(),
    seed=SEEDS,
    p=st.sampled_from([0.0, 0.3, 1.0]),
    slice_rows=st.sampled_from([1, 2, 7, 1024]),
    stops=st.sets(st.integers(0, 20), max_size=2),
    data=st.data(),
)
def test_any_meshes_any_plans_and_a_restart_anywhere(
    case: Case, seed: int, p: float, slice_rows: int, stops: set[int], data: st.DataObject
) -> None:
    """At each stop only the windows are kept, and rows that are restored may lack the columns that classify them."""
    columns = data.draw(classified(case))
    schemas = {alias: stream.table.schema for alias, stream in case.streams.items()}
    binding = JoinBinding.of(JoinPlan.of(**case.arguments, classify_by=columns), schemas)
    plans = [None, data.draw(shapes(binding.plan.graph))[0], data.draw(shapes(binding.plan.graph))[0]]
    r, restless = random.Random(seed), Restless(case, binding, seed, p, slice_rows)
    loop = restless.loop(r.choice(plans))
    held: dict[str, dict[int, bytes]] = {alias: {} for alias in case.windows}
    out: list[pa.RecordBatch] = []
    for turn, (alias, batch) in enumerate(interleaved(case, r)):
        out += loop.process(alias, batch)
        if turn in stops or r.random() < 0.7:
            loop.end_round()
        if turn not in stops:
            continue
        fresh = restless.loop(r.choice(plans))
        for name in case.windows:
            changes = loop.windows[name].changes()
            held[name] |= changes.added
            for number in changes.removed:
                del held[name][number]
            fresh.windows[name].restore(sorted(held[name].items()), loop.windows[name].next_chunk)
            fresh.windows[name].changes()  # they are in the store already
            latest = loop.watermarks.latest(name)
            if latest is not None:
                fresh.watermarks.seen(name, latest)
        fresh.end_round()
        loop = fresh
    assert case.found(out) == case.expected()


@examples(25, long=1_000)
@given(case=cases(), slice_rows=st.sampled_from([None, 1, 7]), seed=SEEDS, data=st.data())
def test_policy_mesh_by_any_columns(case: Case, slice_rows: int | None, seed: int, data: st.DataObject) -> None:
    columns = data.draw(classified(case))
    shape, _ = data.draw(shapes(case.binding.plan.graph))
    plan = data.draw(st.sampled_from([None, "multiway", to_text(shape)]))
    join = tw.join(**case.arguments, policy="mesh", classify_by=columns, slice_rows=slice_rows, seed=seed, plan=plan)
    out = list(join.over(**{alias: stream.batches for alias, stream in case.streams.items()}))
    assert case.found(out) == case.expected()


def test_rows_of_one_batch_take_different_routes() -> None:
    """So that the meshes above are not all of one route."""
    rng = np.random.default_rng(3)
    on, rows = "a.x = b.x AND a.y = c.y AND a.z = d.z", 2_000
    tables = {
        alias: pa.table({
            **{name: rng.integers(0, 40, rows) for name in "xyz"}, "t": np.arange(rows),
            "sector": rng.choice(["one", "two", "three"], rows),
        })
        for alias in "abcd"
    }  # fmt: skip
    schemas = {alias: table.schema for alias, table in tables.items()}
    binding = JoinBinding.of(JoinPlan.of(on, 100, "t", 0, ["a.t", "b.t", "c.t", "d.t"], ["a.sector"]), schemas)
    loop = make_join_loop(binding, JoinOptions("static"), rng=rng, clock=lambda: 0)
    chain = loop.chains["a"]
    policy = RestlessMesh(chain.pipeline, [Classifier("sector", pa.string(), ["one", "two", "three"])], 1, 0.3, 0.3)
    loop.loops["a"] = FilterLoop(chain, policy, rng, 64)
    found = 0
    for begin in range(0, rows, 200):
        for alias, table in tables.items():
            found += sum(out.num_rows for out in loop.process(alias, table.slice(begin, 200).to_batches()[0]))
        loop.end_round()
    assert policy.meshes > 5
    assert len(policy.routes_seen) > 2
    assert found == _pairs_within(tables, 100)


def _pairs_within(tables: dict[str, pa.Table], window: int) -> int:
    """The number of results by brute force: times are row numbers, and no result spans more than the window."""
    columns = {alias: {n: table[n].to_numpy() for n in "xyz"} for alias, table in tables.items()}
    found = 0
    for a in range(len(columns["a"]["x"])):
        partners = []
        for alias, name in (("b", "x"), ("c", "y"), ("d", "z")):
            low = max(a - window, 0)
            near = columns[alias][name][low : a + window + 1]
            partners.append((near == columns["a"][name][a]).nonzero()[0] + low)
        for b in partners[0]:
            for c in partners[1]:
                times = np.stack(np.broadcast_arrays(a, b, c, partners[2])) if len(partners[2]) else np.zeros((4, 0))
                found += int((times.max(axis=0) - times.min(axis=0) <= window).sum()) if times.size else 0
    return found
