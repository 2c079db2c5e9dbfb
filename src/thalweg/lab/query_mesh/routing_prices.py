"""What routing takes, as measured: the price of classifying, of a ruster, of an Eddy's decision and of its learning.

The prices are CPU times of the code in this folder and of the fabric, in a process that does nothing else. `measured()`
measures them again; figure-10c shows both. So that results are the same on every machine, experiments use those of
`prices.py`.

- A test of the tree, per tuple: the compiled tree on a window of 1,000 tuples, divided by tuples and tests.
- A ruster: the fabric with several routes, less the same filters in one order, divided by the rusters of a window. It
  contains the calls that several routes need besides.
- A decision of an Eddy: a run without learning, divided by its decisions. Probes are look-ups of a bit in it, so this
  is all that is not query processing: choosing an operator, and sending the tuples back to the router.
- Learning: a run with learning, less a run without, divided by the visits that were counted.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time_ns

import numpy as np

from thalweg.kernels.fabric import run_routes
from thalweg.lab.query_mesh.eddy import Eddy
from thalweg.lab.query_mesh.layouts import LAYOUTS, RUSTER, SAMPLE, WINDOW, Numbers, Stream
from thalweg.lab.query_mesh.prices import Prices
from thalweg.lab.query_mesh.training import TABLE_1, mesh_of, sampled
from thalweg.lab.query_mesh.windows import bit_chain, windows_of

REPEATS = 3
"""Each measurement is the least of so many."""


def measured(tuples: int = 20 * WINDOW) -> Prices:
    """Measure the prices on this machine, with Poisson data of the layout `shifted`.

    Parameters
    ----------
    tuples
        How many tuples are routed in each measurement.

    Returns
    -------
    Prices
        CPU times.
    """
    layout, rng = LAYOUTS["shifted"], np.random.default_rng(0)
    sample, stream = layout.stream("poisson", SAMPLE, rng), layout.stream("poisson", tuples, rng)
    test_ns, ruster_ns = _of_mesh(layout.costs_ns(), sample, stream)
    one, decisions, _ = _of_eddy(layout.costs_ns(), sample, stream, 1, learn=False)
    batched, batched_decisions, _ = _of_eddy(layout.costs_ns(), sample, stream, RUSTER, learn=False)
    learning, with_learning, learned = _of_eddy(layout.costs_ns(), sample, stream, 1, learn=True)
    decision_ns = one / decisions
    return Prices(
        test_ns=test_ns,
        ruster_ns=ruster_ns,
        decision_ns=decision_ns,
        batch_decision_ns=batched / batched_decisions,
        learning_ns=(learning - with_learning * decision_ns) / learned,
    )


def _of_mesh(costs_ns: Numbers, sample: Stream, stream: Stream) -> tuple[float, float]:
    """Return what a test and a ruster take."""
    mesh = mesh_of(sampled(sample), costs_ns, TABLE_1, np.random.default_rng(0)).mesh
    tree, chain = mesh.tree.compiled(), bit_chain()
    batches = [(chain.columns(batch), {name: batch[name] for name in tree.columns}) for batch in windows_of(stream)]
    routes = [tree.classify(values, columns.length) for columns, values in batches]
    rusters = sum(int(np.count_nonzero(np.bincount(route))) for route in routes)

    def classify() -> None:
        for columns, values in batches:
            tree.classify(values, columns.length)

    def routed() -> None:
        for (columns, _), route in zip(batches, routes, strict=True):
            run_routes(chain, columns, mesh.routes, route)

    def in_one_order() -> None:
        for columns, _ in batches:
            chain.run(columns, mesh.routes[0])

    one_order = _least(in_one_order)
    return _least(classify) / len(stream) / mesh.tree.tests, (_least(routed) - one_order) / rusters


def _of_eddy(costs_ns: Numbers, sample: Stream, stream: Stream, batch: int, *, learn: bool) -> tuple[float, int, int]:
    """Return what a run of an Eddy takes, its decisions, and the visits that it counts."""
    eddies = [Eddy(costs_ns, sample, np.random.default_rng(1), batch, learn=learn) for _ in range(REPEATS)]
    waiting = iter(eddies)  # a run changes an Eddy, so each is timed once
    took = _least(lambda: next(waiting).process(stream))
    return took, eddies[0].decisions, eddies[0].learned


def _least(work: Callable[[], object]) -> float:
    """Return the least CPU time of some repetitions."""
    found = []
    for _ in range(REPEATS):
        begun = thread_time_ns()
        work()
        found.append(thread_time_ns() - begun)
    return float(min(found))
