"""The contenders of section 6 on one stream: SP, QM as in tables 1 and 3, Eddy+CBR without and with batches, and Eddy.

SP has the order that is the best for the sample (dynamic programming over all orders), and no routing. QM has the mesh
that is found in the sample; its windows go through the fabric that the policy `mesh` uses (`kernels/fabric.py`). Making
plans and meshes is not part of the time, as in the paper, where it is done at compile time.
"""

from __future__ import annotations

import numpy as np

from thalweg.kernels.fabric import large_enough, run_routes
from thalweg.lab.query_mesh.contender_run import ContenderRun, Counts
from thalweg.lab.query_mesh.eddy import Eddy
from thalweg.lab.query_mesh.layouts import RUSTER, SAMPLE, Data, Layout, Numbers, Stream
from thalweg.lab.query_mesh.prices import PRICES
from thalweg.lab.query_mesh.training import TABLE_1, TABLE_3, Settings, mesh_of, priced_meshes, sampled
from thalweg.lab.query_mesh.windows import bit_chain, windows_of
from thalweg.optimizer.mesh.mesh import Mesh
from thalweg.optimizer.mesh.training import condense

SP, QM, QM_3, CBR, CBR_BATCHED, EDDY = "SP", "QM", "QM, table 3", "Eddy+CBR", "Eddy+CBR, batches", "Eddy"
UNTESTED = Settings("table 1, training tuples not tested", 10, "ii", "route-driven", tested=False)
QM_UNTESTED = "QM, not tested"
MESHES = {QM: TABLE_1, QM_3: TABLE_3, QM_UNTESTED: UNTESTED}


def run_mesh(stream: Stream, mesh: Mesh) -> ContenderRun:
    """Run a stream through the routes of a mesh.

    Parameters
    ----------
    stream
        The tuples.
    mesh
        The mesh. If it has one route, nothing is classified, and routing costs nothing.

    Returns
    -------
    ContenderRun
        What was done.
    """
    chain, tree = bit_chain(stream.passes.shape[1]), mesh.tree.compiled()
    evaluated, outputs, routing = [], [], []
    several = len(mesh.routes) > 1
    for batch in windows_of(stream):
        columns = chain.columns(batch)
        if several:
            asked = tree.classify({name: batch[name] for name in tree.columns}, batch.num_rows)
            largest = int(np.bincount(asked, minlength=len(mesh.routes)).argmax())
            route = large_enough(asked, len(mesh.routes), RUSTER, largest)
            done = run_routes(chain, columns, mesh.routes, route)
            rusters = int(np.count_nonzero(np.bincount(route)))
            routing.append(PRICES.test_ns * mesh.tree.tests * batch.num_rows + PRICES.ruster_ns * rusters)
        else:
            done = chain.run(columns, mesh.routes[0])
            routing.append(0.0)
        evaluated.append(done.evaluated)
        outputs.append(len(done.kept))
    counted: Counts = np.array(evaluated, np.int64)
    return ContenderRun(
        counted,
        np.array(outputs, np.int64),
        len(stream),
        np.array(routing),
        levels=mesh.tree.depth,
        routes=len(mesh.routes),
        tests=mesh.tree.tests,
    )


def single_plan(sample: Stream, costs_ns: Numbers) -> Mesh:
    """Return the best order for a sample, as a mesh of one route."""
    costs = priced_meshes(condense(sampled(sample), 1), costs_ns).costs
    return Mesh.one_route(costs.best_route(costs.everything))


def run_all(
    layout: Layout, data: Data, tuples: int, seed: int, *, peers: bool = True, untested: bool = False
) -> dict[str, ContenderRun]:
    """Run all contenders on the same stream, from the same sample.

    Parameters
    ----------
    layout
        The selectivities and costs.
    data
        The distribution of values.
    tuples
        The length of the stream.
    seed
        The number of the stream.
    peers
        Whether the Eddies run too.
    untested
        Whether a mesh is made, too, without a test whether attributes say anything.

    Returns
    -------
    dict
        By name of the contender what it did.
    """
    rng = np.random.default_rng(seed)
    sample, stream = layout.stream(data, SAMPLE, rng), layout.stream(data, tuples, rng)
    return on_stream(sample, stream, layout.costs_ns(), seed, peers=peers, untested=untested)


def on_stream(
    sample: Stream, stream: Stream, costs: Numbers, seed: int, *, peers: bool = True, untested: bool = False
) -> dict[str, ContenderRun]:
    """Run all contenders on a given sample and stream."""
    runs = {SP: run_mesh(stream, single_plan(sample, costs))}
    for name, settings in MESHES.items():
        if settings.tested or untested:
            found = mesh_of(sampled(sample), costs, settings, np.random.default_rng(seed))
            runs[name] = run_mesh(stream, found.mesh)
    if peers:
        for name, batch, content in ((CBR, 1, True), (CBR_BATCHED, RUSTER, True), (EDDY, 1, False)):
            runs[name] = Eddy(costs, sample, np.random.default_rng(seed), batch, content=content).process(stream)
    return runs
