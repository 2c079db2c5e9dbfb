"""Joins under policy mesh: a mesh is adopted if the classes of rows find different partners, goes through a checkpoint,
and is kept within its bounds; `classify_by` is checked before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw
from tests.runtime.joins.dict_chunks import DictChunks
from tests.runtime.joins.test_join_pool import Clock
from thalweg.adapt import Chosen
from thalweg.adapt.mesh import MeshPolicy
from thalweg.kernels.probe_chain import ProbeChain, ProbeRows
from thalweg.kernels.window_store import WindowStore
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import Leaf, RouteTree, ValueNode
from thalweg.plan.joins.graph import JoinTree
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.runtime.joins.join_binding import JoinBinding
from thalweg.runtime.joins.join_loop import MESH_BYTES, JoinLoop
from thalweg.runtime.joins.join_options import JoinOptions
from thalweg.runtime.joins.join_outcome import JoinRows, TaggedColumns
from thalweg.runtime.joins.join_state import KeptJoin, StateHeader

OTHERS = "bcde"
ON = " AND ".join(f"a.k{x} = {x}.k{x}" for x in OTHERS)
SECTORS = ("north", "south", "west", "east")
WINDOW, BATCH = 2_000, 1_000
SELECT = ("a.id", *(f"{x}.t" for x in OTHERS))
PROBE_NS = 5_000
"""Long, so that searching a mesh, which takes real time, takes a small share of it."""


class Slow(ProbeChain):
    """Every probe takes the same time."""

    def probe(self, k: int, rows: ProbeRows, alive: np.ndarray) -> np.ndarray:
        assert isinstance(self.clock, Clock)
        self.clock.now_ns += PROBE_NS * len(alive)
        return super().probe(k, rows, alive)


def slow_probes(tree: JoinTree, stores: Mapping[str, WindowStore], clock: Callable[[], int]) -> Slow:
    return Slow(tree, stores, clock, timed=True)


def star(
    classify_by: list[str] | None = None, policy: Chosen = "mesh", seed: int = 0, **settings: Any
) -> JoinLoop:  # fmt: skip
    """A loop of a star around a."""
    schemas = {x: pa.schema([("t", pa.int64()), (f"k{x}", pa.int64())]) for x in OTHERS}
    keys = [(f"k{x}", pa.int64()) for x in OTHERS]
    schemas["a"] = pa.schema([("t", pa.int64()), ("id", pa.int64()), ("sector", pa.string()), *keys])
    binding = JoinBinding.of(JoinPlan.of(ON, WINDOW, "t", 0, SELECT, classify_by), schemas)
    options = JoinOptions(policy, tw.policy(policy, **settings).settings, snapshots=True, chain=slow_probes)
    return JoinLoop(binding, options, Clock(), np.random.default_rng(seed))


def rows_of(begin: int, r: np.random.Generator) -> tuple[dict[str, pa.RecordBatch], int]:
    """One batch of each stream, and how many rows of a have partners in all windows. Rows of each sector mostly lack a
    partner in one of the windows, and each in another. Only rows of earlier batches are partners."""
    t = np.arange(begin, begin + BATCH)
    sector = r.integers(0, len(SECTORS), BATCH)
    columns: dict[str, Any] = {"t": t, "id": t, "sector": [SECTORS[n] for n in sector]}
    alive = np.full(BATCH, begin > 0)
    for n, x in enumerate(OTHERS):
        hit = r.random(BATCH) < np.where(sector == n, 0.1, 0.9)
        columns[f"k{x}"] = np.where(hit, begin - 1 - r.integers(0, BATCH, BATCH), -1)
        alive &= hit
    batches = {x: pa.record_batch({"t": t, f"k{x}": t}) for x in OTHERS}
    return {"a": pa.record_batch(columns), **batches}, int(alive.sum())


def drive(loop: JoinLoop, batches: int, begin: int = 0, seed: int = 0) -> None:
    """Rows of all streams. Every row of a that has partners is one result."""
    r = np.random.default_rng(seed)
    for n in range(begin, begin + batches):
        rows, expected = rows_of(n * BATCH, r)
        found = {alias: sum(out.num_rows for out in loop.process(alias, batch)) for alias, batch in rows.items()}
        assert found == {"a": expected} | dict.fromkeys(OTHERS, 0)
        loop.end_round()


def mesh_of(loop: JoinLoop, alias: str = "a") -> Mesh | None:
    mesh = loop.loops[alias].mesh
    policy = loop.loops[alias].policy
    assert isinstance(policy, MeshPolicy)
    assert mesh is policy.mesh
    return mesh


def test_each_class_probes_first_where_it_finds_no_partner() -> None:
    loop = star(["a.sector"])
    drive(loop, 60)
    mesh = mesh_of(loop)
    assert mesh is not None
    assert mesh.columns == ("sector",)
    first = {s: loop.chains["a"].others[mesh.routes[mesh.tree.route_of({"sector": s})][0]] for s in SECTORS}
    assert first == dict(zip(SECTORS, OTHERS, strict=True))
    assert all(mesh_of(loop, alias) is None for alias in OTHERS), "no column of these is named"
    by_route = loop.loops["a"].ledger.on_routes
    assert by_route is not None
    assert min(by_route.rows) > 0


def test_fewer_probes_than_with_one_order() -> None:
    probes = {}
    for policy in ("auto", "mesh"):
        loop = star(["a.sector"], policy)
        drive(loop, 60)
        loop.loops["a"].take_work()
        drive(loop, 20, begin=60, seed=1)
        probes[policy] = sum(loop.loops["a"].take_work().chain.evaluated)
    # at each step 0.7 of the rows find a partner in any order, and 0.1 of each class at the first step of its route
    assert probes["auto"] > 20 * BATCH * (1 + 0.7 + 0.7**2)
    assert probes["mesh"] < 1.4 * 20 * BATCH


@pytest.mark.parametrize("given", [{"classify_by": ["b.t"]}, {"routes": 1, "classify_by": ["a.sector"]}])
def test_one_order_where_there_are_no_classes(given: dict[str, Any]) -> None:
    loop = star(**given)
    drive(loop, 60)
    assert mesh_of(loop) is None
    assert loop.loops["a"].classifies is ("routes" in given)
    if not loop.loops["a"].classifies:
        auto = star(policy="auto")
        drive(auto, 60)
        assert loop.loops["a"].work.chain.profile_tuples <= 1.5 * auto.loops["a"].work.chain.profile_tuples


def test_by_default_rows_are_classified_by_the_columns_compared() -> None:
    loop = star()
    assert loop.chains["a"].classifiers == tuple(f"k{x}" for x in OTHERS)
    assert loop.chains["b"].classifiers == ("kb",)
    drive(loop, 60)
    mesh = mesh_of(loop)
    assert mesh is None or set(mesh.columns) <= {f"k{x}" for x in OTHERS}


def test_streams_share_one_credit_as_under_auto() -> None:
    loop = star(["a.sector"])
    drive(loop, 10)
    policies = [one.policy for one in loop.loops.values()]
    assert all(isinstance(policy, MeshPolicy) for policy in policies)
    credits = {id(policy.profiling_budget.credit) for policy in policies if isinstance(policy, MeshPolicy)}
    assert credits == {id(loop.pool.credit)}
    assert loop.pool.credit.time_ns > 0


def test_streams_around_a_hub_follow_it_unless_they_have_a_mesh() -> None:
    loop = star(["a.sector"])
    drive(loop, 3)
    names = loop.chains["a"].others
    for order, follows in ((("e", "d", "c", "b"), True), (("d", "e", "b", "c"), False)):
        loop.loops["a"].policy.begin(tuple(names.index(x) for x in order))
        policy = loop.loops["b"].policy
        assert isinstance(policy, MeshPolicy)
        policy.mesh = None if follows else Mesh.one_route(policy.order)
        assert (loop.pool.found("b") is not None) is follows


def kept_of(store: DictChunks, loop: JoinLoop, warm: KeptJoin | None = None) -> KeptJoin:
    return KeptJoin.open(store, "this query", warm, lambda: loop)


def driven_and_kept(store: DictChunks, kept: KeptJoin, batches: int, begin: int = 0, seed: int = 0) -> JoinLoop:
    assert isinstance(kept.loop, JoinLoop)
    drive(kept.loop, batches, begin, seed)
    kept.keep(store)
    return kept.loop


def test_a_mesh_goes_through_a_checkpoint_and_is_used() -> None:
    store = DictChunks()
    before = mesh_of(driven_and_kept(store, kept_of(store, star(["a.sector"])), 60))
    assert before is not None
    again = kept_of(store, star(["a.sector"], seed=7))
    assert isinstance(again.loop, JoinLoop)
    assert mesh_of(again.loop) == before
    loop = driven_and_kept(store, again, 1, begin=60, seed=2)
    assert sum(loop.loops["a"].take_work().chain.evaluated) < 1.4 * BATCH, "already the first rows take the routes"
    other = kept_of(store, star(policy="auto"))
    assert isinstance(other.loop, JoinLoop)
    assert other.loop.loops["a"].mesh is None
    driven_and_kept(store, other, 1, begin=61, seed=3)


def test_a_mesh_by_columns_that_are_no_longer_named_is_dropped() -> None:
    store = DictChunks()
    assert mesh_of(driven_and_kept(store, kept_of(store, star(["a.sector"])), 60)) is not None
    for columns in (["a.id"], ["b.t"], None):
        again = kept_of(store.copy(), star(columns))
        assert isinstance(again.loop, JoinLoop)
        assert mesh_of(again.loop) is None
        drive(again.loop, 1, begin=60, seed=2)


def test_a_mesh_that_needs_too_much_room_is_not_kept() -> None:
    loop, store = star(["a.sector"]), DictChunks()
    policy = loop.loops["a"].policy
    assert isinstance(policy, MeshPolicy)
    values = tuple(f"sector number {n:05}".encode() for n in range(2 * MESH_BYTES // 20))
    leaf = Leaf(0, 1.0)
    orders = ((0, 1, 2, 3), (3, 2, 1, 0))
    policy.mesh = Mesh(RouteTree(ValueNode("sector", "text", ((values, Leaf(1)),), leaf, leaf)), orders)
    size = len(json.dumps(policy.snapshot()["mesh"]))
    assert size > MESH_BYTES
    kept = kept_of(store, loop)
    kept.keep(store)
    learned = StateHeader.read(store.data or b"").learned
    assert learned["a"]["mesh"] is None
    assert policy.mesh is not None
    again = kept_of(store, star(["a.sector"]))
    assert isinstance(again.loop, JoinLoop)
    driven_and_kept(store, again, 60)
    found = StateHeader.read(store.data or b"").learned
    assert found["a"]["mesh"] is not None, "it learns a smaller one"
    assert len(json.dumps([known["mesh"] for known in found.values()])) < MESH_BYTES


def test_columns_of_classes_are_read_but_not_stored_or_returned() -> None:
    with_it, without = star(["a.sector"]).binding, star(["b.t"]).binding
    assert "sector" in with_it.schemas["a"].names
    assert "sector" not in without.schemas["a"].names
    for alias in ("a", *OTHERS):
        assert with_it.stored[alias] == without.stored[alias]
    assert with_it.output == without.output
    for wanted in (JoinRows.TAGGED, JoinRows.LATE):
        assert TaggedColumns(with_it, wanted).schema == TaggedColumns(without, wanted).schema


TABLES: Mapping[str, pa.Table] = {
    "a": pa.table({"k": [1, 2, 2], "t": [1, 2, 0], "sector": ["x", "y", "y"], "sizes": [[1], [2], []]}),
    "b": pa.table({"k": [1, 2], "t": [1, 2]}),
    "c": pa.table({"k": [1, 2], "name": ["one", "two"]}),
}


def joined(**given: Any) -> tw.Join:
    return tw.join(
        "a.k = b.k AND a.k = c.k", window={"a": 5, "b": 5}, time={"a": "t", "b": "t"}, select=["a.k", "c.name"], **given
    )


def test_late_rows_have_the_same_columns() -> None:
    late = [
        pa.Table.from_batches(joined(policy="mesh", classify_by=columns).tagged_over(**streams()))
        for columns in (None, ["a.sector"])
    ]
    assert late[0].equals(late[1])
    assert late[0]["lost"].to_pylist().count("a: late") == 1


def streams() -> dict[str, Any]:
    """The last row of a is late."""
    batches = TABLES["a"].to_batches(max_chunksize=1)
    return {**TABLES, "a": [batches[0], batches[1], batches[2]], "b": TABLES["b"]}


@pytest.mark.parametrize(
    ("classify_by", "said"),
    [
        (["sector"], "'sector' names no stream; write 'a.sector'"),
        (["a."], "'a.' names no stream; write 'a.column'"),
        (["aa.sector"], "'aa' is not a stream (did you mean 'a'?); the streams are a, b"),
        (["a.sectr"], "a has no column 'sectr' (did you mean 'sector'?)"),
        (["a.sector", "a.sector"], "'a.sector' is named twice"),
        (["a.sizes"], "a.sizes is list<item: int64>, whose values cannot be classified"),
        (["c.name"], "c is a table, whose rows do not probe"),
        ([], "classify_by=[]: name at least one column"),
        ("a.sector", "classify_by='a.sector': must be a list"),
        ([3], "3 is not the name of a column"),
    ],
)
def test_what_rows_cannot_be_classified_by_is_refused(classify_by: Any, said: str) -> None:
    with pytest.raises(tw.PlanError, match="classify_by") as raised:
        joined(policy="mesh", classify_by=classify_by).over(**TABLES)
    assert said in str(raised.value)


def test_a_policy_that_has_one_order_refuses_classify_by() -> None:
    for policy in ("auto", "static", "a-greedy"):
        with pytest.raises(tw.PlanError, match="use policy='mesh', or leave classify_by out"):
            joined(policy=policy, classify_by=["a.sector"])
    with pytest.raises(tw.PlanError, match="policy 'auto' does not classify rows"):
        joined(classify_by=["a.sector"]).over(**TABLES)


def test_a_policy_from_outside_ignores_classify_by(monkeypatch: pytest.MonkeyPatch) -> None:
    join = joined(classify_by=["a.sector"])
    monkeypatch.setenv("THALWEG_POLICY", "static")
    assert sum(batch.num_rows for batch in join.over(**TABLES)) == 3
    assert {section.policy for section in join.report().sections} == {"static"}


def test_joins_take_settings_of_meshes() -> None:
    joined(policy="mesh(routes=2, search='sa', search_from='extreme-n')")
    for given, said in (
        ("mesh(routes=0)", "routes=0"), ("mesh(search='best')", "search='best'"),
        ("mesh(search_from='here')", "search_from="), ("auto(routes=2)", "'auto' has no setting routes=2; it has"),
    ):  # fmt: skip
        with pytest.raises(tw.PlanError, match=said):
            joined(policy=given)
