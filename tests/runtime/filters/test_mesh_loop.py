"""A loop with random meshes: the answer of all filters on all rows, true profile tuples, rows classified once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.long_run import examples
from tests.plan.filters.pipelines import pipelines
from tests.runtime.filters.outcomes import Outcomes
from tests.runtime.filters.scripted_meshes import CLASSIFIERS, ScriptedMeshes, classified
from thalweg.adapt import make_policy
from thalweg.kernels import Columns, FilterChain, Profile, SliceResult
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.tree import CutNode, Leaf, RouteTree
from thalweg.plan import Pipeline
from thalweg.runtime.filters.filter_loop import FilterLoop
from thalweg.runtime.filters.recalled_order import RecalledOrder

seeds = st.integers(0, 2**32)


@st.composite
def cases(draw: st.DrawFn) -> Outcomes:
    """Draw enough rows that meshes change while sampled rows wait, which short lists hardly ever have."""
    pipeline = draw(pipelines(least=2, most=5))
    n, rng = len(pipeline), np.random.default_rng(draw(seeds))
    raising = draw(st.sampled_from([0.0, 0.1]))
    shares = [0.7 - raising, 0.2, 0.1, raising]
    table = ["".join(row) for row in rng.choice(list("TFNE"), (draw(st.sampled_from([30, 80])), n), p=shares)]
    return Outcomes(table, pipeline, draw(st.lists(st.booleans(), min_size=n, max_size=n)))


class LearningChain(FilterChain):
    """A chain that remembers which evaluations were made only to learn, and counts the rows of single routes."""

    def __init__(self, case: Outcomes) -> None:
        super().__init__(replace(case.plan, classify_by=CLASSIFIERS), lambda: 0)
        self.case = case
        self.learned: set[tuple[int, int]] = set()
        self.unrouted = 0
        """The rows that ran in one order."""

    def run(self, columns: Columns, order: Any) -> SliceResult:
        self.unrouted += columns.length
        return super().run(columns, order)

    def profile(self, *args: Any, **options: Any) -> Profile:
        before = self.case.calls.copy()
        done = super().profile(*args, **options)
        self.learned |= set(self.case.calls - before)
        return done


class Run:
    """A loop under scripted meshes, over rows with values to classify."""

    def __init__(self, case: Outcomes, data: st.DataObject) -> None:
        self.case, self.seed = case, data.draw(seeds)
        self.p = data.draw(st.sampled_from([0.0, 0.5, 1.0]))
        self.policy = ScriptedMeshes(
            case.pipeline, self.seed, self.p, data.draw(st.sampled_from([0.2, 0.7, 1.0])),
            data.draw(st.sampled_from([0.0, 0.3])), data.draw(st.booleans()), len(case.table),
        )  # fmt: skip
        self.policy.mesh = data.draw(st.sampled_from([None, self.policy.random_mesh()]))
        self.slice_rows = data.draw(st.sampled_from([1, 2, 5, 16, 1024]))
        self.chain = LearningChain(case)
        cuts = sorted(data.draw(st.sets(st.integers(0, 80), max_size=4)))
        self.edges = [0, *(cut for cut in cuts if cut < len(case.table)), len(case.table)]

    def loop(self, policy: Any = None, *, dead_letter: bool = True) -> FilterLoop[pa.RecordBatch]:
        rng = np.random.default_rng(self.seed)
        made = FilterLoop(self.chain, policy or self.policy, rng, self.slice_rows, dead_letter=dead_letter)
        made._most_waiting = 1 << 30  # so that sampled rows wait while meshes change
        if policy is None:
            made.restore(self.policy.snapshot())  # begins with a mesh
        return made

    def static(self, *, dead_letter: bool = True) -> FilterLoop[pa.RecordBatch]:
        rng = np.random.default_rng(self.seed)
        return self.loop(make_policy("static", self.case.pipeline, None, rng), dead_letter=dead_letter)

    def batches(self) -> Iterator[pa.RecordBatch]:
        rows = classified(len(self.case.table), self.seed)
        return (rows.slice(a, b - a) for a, b in itertools.pairwise(self.edges))


def fates(loop: FilterLoop[pa.RecordBatch], batch: pa.RecordBatch) -> list[Any]:
    """Return of each row whether it passes, or what raised on it."""
    found: list[Any] = loop.process(batch).tolist()
    for failure in loop.take_failures():
        assert found[failure.row] is False, "a row that fails does not pass"
        found[failure.row] = list(failure.raised)
    return found


def assert_true_tuples(run: Run) -> None:
    """Profile tuples have the outcomes of the table; guards held, and hidden filters were not evaluated to learn."""
    case, seen = run.case, run.case.seen
    sampled = [row for row, _, _ in run.policy.tuples()]
    assert len(sampled) == len(set(sampled)), "a row was profiled twice"
    for row, dropped, known in run.policy.tuples():
        assert known == [(k, row) in seen for k in range(len(known))]
        assert dropped == [known[k] and case.drops(row, k) for k in range(len(known))]
    assert all(case.may_be_called(row, k) for k, row in seen), "called where a guard is not known to be true"
    assert not any(not case.pipeline.profiled[k] for k, _ in run.chain.learned), "evaluated to learn"
    for k in range(len(case.pipeline)):
        if case.counts_itself(k):
            assert all(times == 1 for (called, _), times in case.calls.items() if called == k), "evaluated twice"


@examples(250, long=5_000)
@given(cases(), st.data())
def test_any_schedule_of_meshes_gives_the_same_answer(case: Outcomes, data: st.DataObject) -> None:
    run = Run(case, data)
    loop = run.loop()
    got = [fate for batch in run.batches() for fate in fates(loop, batch)]
    assert got == [case.fate(row) for row in range(len(case.table))]
    assert_true_tuples(run)
    assert sum(run.policy.counted) + run.chain.unrouted == len(got), "every row is classified once or in one order"
    work = loop.work
    assert (work.chain.rows, work.chain.kept, work.calls.failed) == (
        len(got),
        got.count(True),
        sum(isinstance(f, list) for f in got),
    )
    for k in range(len(case.pipeline)):
        if case.counts_itself(k):
            working = sum((called, row) not in run.chain.learned for called, row in case.seen if called == k)
            assert work.chain.evaluated[k] == working
            assert work.chain.passed[k] == sum(
                (k, row) in case.seen - run.chain.learned and not case.drops(row, k) for row in range(len(got))
            )
    static = run.static()
    assert [fate for batch in run.batches() for fate in fates(static, batch)] == got


@examples(100, long=2_000)
@given(cases(), st.data())
def test_the_query_fails_with_the_same_error(case: Outcomes, data: st.DataObject) -> None:
    run = Run(case, data)
    run.case.table.append("E" * len(case.pipeline))  # by the filters without a guard
    run.edges.append(len(case.table))
    first = next(row for row in range(len(case.table)) if isinstance(case.fate(row), list))
    errors = []
    for loop in (run.loop(dead_letter=False), run.static(dead_letter=False)):
        with pytest.raises(tw.FailedRowError) as caught:
            list(map(loop.process, run.batches()))
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert f"row {first} (from 0)" in errors[0]


@examples(150, long=3_000)
@given(cases(), st.data())
def test_loops_that_begin_again_in_the_middle(case: Outcomes, data: st.DataObject) -> None:
    run = Run(case, data)
    loop = run.loop()
    got: list[Any] = []
    for batch in run.batches():
        got += fates(loop, batch)
        what = data.draw(st.sampled_from(["goes on", "restored", "another worker", "new functions", "recalled"]))
        if what == "restored":
            loop.restore(loop.snapshot())
        elif what == "another worker":
            snapshot = loop.snapshot()
            loop = run.loop()
            loop.restore(snapshot)
            assert loop.mesh is not None or snapshot["mesh"] is None
        elif what == "new functions":
            loop.take_chain(run.chain)
        elif what == "recalled":
            n = len(case.pipeline)
            loop.recall(RecalledOrder(case.pipeline.start, (None,) * n, (None,) * n))
            assert (loop.mesh, loop.order) == (None, case.pipeline.start)
    assert got == [case.fate(row) for row in range(len(case.table))]
    assert_true_tuples(run)
    assert sum(run.policy.counted) + run.chain.unrouted == len(got)


@examples(100, long=2_000)
@given(cases(), st.data())
def test_a_mesh_in_force_counts_by_route(case: Outcomes, data: st.DataObject) -> None:
    run = Run(case, data)
    run.policy.restless = run.policy.trials = 0.0
    run.policy._wish()
    run.policy.mesh = mesh = replace(run.policy.random_mesh(), least_rows=1)
    loop = run.loop()
    for batch in run.batches():
        loop.process(batch)
    rows = classified(len(case.table), run.seed).to_pylist()
    route = [mesh.tree.route_of(row) for row in rows]
    routed = loop.ledger.on_routes
    assert routed is not None
    assert routed.version == mesh.version
    assert routed.rows.tolist() == [route.count(r) for r in range(len(mesh.routes))]
    for k in range(len(case.pipeline)):
        assert sum(counts[k] for counts in routed.evaluated) == loop.work.chain.evaluated[k]
        assert sum(counts[k] for counts in routed.passed) == loop.work.chain.passed[k]
        if not case.counts_itself(k):
            continue
        for r, counts in enumerate(routed.evaluated):
            working = {row for called, row in case.seen - run.chain.learned if called == k}
            assert counts[k] == sum(route[row] == r for row in working)
    observed = [seen.routes for seen in run.policy.seen]
    assert all(counts is not None and counts.version == mesh.version for counts in observed)
    taken = loop.take_work().routes
    assert taken is not None
    assert (taken.version, taken.rows) == (routed.version, routed.rows.tolist())
    assert taken.evaluated == routed.evaluated.sum(axis=1).tolist()
    assert loop.ledger.on_routes is not None
    assert loop.ledger.on_routes.rows.sum() == 0, "taken work begins again at zero"


@pytest.mark.parametrize(("least", "rows"), [(3, [97, 3]), (4, [100, 0])])
def test_a_route_of_few_rows_is_not_worth_a_ruster(least: int, rows: list[int]) -> None:
    case = Outcomes(["TT"] * 100, Pipeline(("a", "b")), [True, True])
    policy = ScriptedMeshes(case.pipeline, 1, 0.0, 0.0)
    tree = RouteTree(CutNode("row", "number", 96.0, Leaf(0), Leaf(1), Leaf(0), Leaf(0)))
    policy.mesh = Mesh(tree, ((0, 1), (1, 0)), 1, default=0, least_rows=least)
    loop = FilterLoop(LearningChain(case), policy, np.random.default_rng(1))
    loop.restore(policy.snapshot())
    assert loop.process(classified(100, 1)).all()
    taken = loop.take_work().routes
    assert taken is not None
    assert taken.rows == rows


def test_rows_sampled_under_a_mesh_wait_with_their_own_routes() -> None:
    """The mesh changes while sampled rows wait; b and c, guarded by a, may be asked only where a was true."""
    pipeline = Pipeline(("a", "b", "c"), guards=((), (0,), ()))
    case = Outcomes(["FTF", "TFT", "TTF", "FTT"] * 10, pipeline, [False] * 3)
    policy = ScriptedMeshes(pipeline, 3, 1.0, 1.0, lasting=True)
    loop = FilterLoop(LearningChain(case), policy, np.random.default_rng(1), slice_rows=4)
    for start in range(0, 40, 8):
        loop.process(classified(40, 1).slice(start, 8))
    tuples = list(policy.tuples())
    assert len({version for seen in policy.seen if seen.routes is not None for version in [seen.routes.version]}) > 3
    assert len(tuples) > 20
    assert all(dropped == [known[k] and case.drops(row, k) for k in range(3)] for row, dropped, known in tuples)
    assert all(case.table[row][0] == "T" for k, row in case.seen if k == 1)
