"""A join with the same windows under another plan.

Answers: `rebuilt(loop, shape)`, a loop that keeps other sub-joins and continues where the first one stopped.
Guarantee: the results of all further rows are the same. Rows, watermarks, counters, chunks for snapshots and what was
learned are passed on; kept sub-joins are built from the windows. If that fails, such as for lack of memory, the first
loop can continue.
Cost: storing all rows again, and joining those of the sub-joins.
"""

from __future__ import annotations

import numpy as np

from thalweg.plan.join_shape import Shape
from thalweg.runtime.joins.join_loop import make_join_loop
from thalweg.runtime.joins.join_protocol import WindowedJoin


def rebuilt(loop: WindowedJoin, shape: Shape, rng: np.random.Generator) -> WindowedJoin:
    """Return a loop of this shape with the windows of another one, which must not be used any more."""
    binding = loop.binding
    keeps_nothing = all(isinstance(part, str) for part in shape)
    table_counts = {alias: loop.counts[alias] for alias in binding.plan.tables}
    tables = {alias: binding.schemas[alias].empty_table() for alias in binding.plan.tables}
    options = loop.options
    new = make_join_loop(
        binding, options, rng=rng, clock=loop.clock, tables=tables, shape=None if keeps_nothing else shape,
        intake=loop.intake,
    )  # fmt: skip
    loop.counts.update(table_counts)
    for alias in binding.plan.graph.aliases:
        new.windows[alias].take_over(loop.contents(alias), loop.windows[alias].chunks)
    for alias in new.streams:  # rows that had expired without being removed yet may have been left out
        loop.counts[alias].window.expired += len(loop.windows[alias]) - len(new.windows[alias])
    new.learn(loop.learned())
    return new
