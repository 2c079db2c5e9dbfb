"""Begin a search for a query mesh by the names of its algorithm and of its start solution."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from thalweg.errors import PlanError, nearest
from thalweg.optimizer.mesh.ii_qm import ii_qm
from thalweg.optimizer.mesh.opt_qm import MOST_TUPLES, opt_qm
from thalweg.optimizer.mesh.partitions import Partition
from thalweg.optimizer.mesh.priced_meshes import PricedMeshes
from thalweg.optimizer.mesh.sa_qm import sa_qm
from thalweg.optimizer.mesh.search import Priced, Search, Stop
from thalweg.optimizer.mesh.starts import STARTS, extreme_1

SEARCHES = ("ii", "sa", "opt")
"""Iterative improvement, simulated annealing, all partitions."""
_ALL = Stop(meshes=10**9, plateau=10**9)


def mesh_search(
    meshes: PricedMeshes, rng: np.random.Generator, search: str = "ii", search_from: str = "route-driven",
    current: Partition | None = None, stop: Stop | None = None, clock_ns: Callable[[], int] | None = None,
) -> Search:  # fmt: skip
    """Begin a search. Nothing is computed before its first step.

    One route for all rows is always priced, so the result is never more expensive.

    Parameters
    ----------
    meshes
        The meshes to search.
    rng
        The source of random numbers.
    search
        "ii", "sa" or "opt".
    search_from
        The name of the start solution: one of `STARTS`.
    current
        The partition of the current mesh, from which the search begins too. II-QM descends from both start solutions,
        SA-QM begins at the cheaper one.
    stop
        When to stop. "opt" prices all partitions by default.
    clock_ns
        The clock for limits of time.

    Returns
    -------
    Search
        The search.

    Raises
    ------
    PlanError
        If a name is unknown, or if there are too many training tuples for "opt".
    """
    for name, known, setting in ((search, SEARCHES, "search"), (search_from, STARTS, "search_from")):
        if name not in known:
            raise PlanError(f"{setting}={name!r} is unknown{nearest(name, known)}; use one of {', '.join(known)}")
    if search == "opt":
        return Search(meshes, opt_qm(meshes), stop or _ALL, clock_ns)
    return Search(meshes, _priced(meshes, rng, search, search_from, current), stop, clock_ns)


def _priced(
    meshes: PricedMeshes, rng: np.random.Generator, search: str, search_from: str, current: Partition | None
) -> Priced:
    one = extreme_1(meshes, rng)
    yield one, meshes.of(one)

    def starts() -> Iterator[Partition]:
        if current is not None and len(current) <= meshes.most_routes:
            yield current
        yield STARTS[search_from](meshes, rng)

    if search == "sa":
        yield from sa_qm(meshes, min(starts(), key=meshes.of), rng)
    else:
        yield from ii_qm(meshes, starts(), rng)


__all__ = ["MOST_TUPLES", "SEARCHES", "STARTS", "mesh_search"]
