"""The memory that the plans of a join need: the windows of the streams, and the sub-joins that are kept.

Answers: bytes of all stores of a plan, and of each.
How: a store holds its rows in rings whose capacity is a power of two, and each index takes 40 bytes per place
(`kernels/window_store.py`). Capacities follow from the rows.
Guarantee: exact for columns of fixed width if the rows are; a kept sub-join holds between the rows that can have
partners and `EXPIRED` times as many, of which the geometric mean is assumed.
Cost: a few operations per store.

>>> from thalweg.plan.joins.graph import JoinGraph
>>> graph = JoinGraph.of([("a", "k", "b", "k")])
>>> numbers = JoinNumbers(graph, {"a": 1.0, "b": 1.0}, {"a": 1000.0, "b": 5000.0}, {("a", "b"): 0.001},
...                       widths={"a": 16.0, "b": 8.0})
>>> {name: float(size) for name, size in store_bytes(("a", "b"), numbers).items()}
{'a': 57344.0, 'b': 393216.0}
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from thalweg.cost.join_numbers import WIDTH, JoinNumbers, Number, Part
from thalweg.cost.join_work import columns_of, index_counts, stored_rows
from thalweg.cost.memory import INDEX_BYTES_PER_ROW
from thalweg.plan.joins.shape import Shape, nodes_of, streams_of, to_text

LEAST_ROWS = 1024
"""The smallest capacity of a store."""
WORD_BYTES = 8
"""The bytes of a key that a row carries on its way up a tree of joins."""


def plan_bytes(shape: Shape, numbers: JoinNumbers) -> Number:
    """Return the memory of a plan, in bytes."""
    return sum(store_bytes(shape, numbers).values())


def limited_bytes(shape: Shape, numbers: JoinNumbers, streams: Collection[str]) -> Number:
    """Return the memory of a plan that `max_bytes` limits, in bytes: without its tables."""
    tables = [alias for alias in numbers.graph.aliases if alias not in streams]
    return sum(size for name, size in store_bytes(shape, numbers).items() if name not in tables)


def store_bytes(shape: Shape, numbers: JoinNumbers) -> dict[str, Number]:
    """Return the memory of each window and each kept sub-join, by name."""
    found: dict[str, Number] = {}
    nodes = [] if isinstance(shape, str) else list(nodes_of(shape))
    for node in nodes:
        parts = [frozenset(streams_of(part)) for part in node]
        in_tree = len(nodes) > 1 or len(parts) == 2
        indexes = [1] * len(parts) if len(parts) == 2 and len(nodes) > 1 else index_counts(parts, numbers)
        for part, name, count in zip(parts, map(to_text, node), indexes, strict=True):
            words = numbers.classes(part).bit_count() * WORD_BYTES if in_tree and len(nodes) > 1 else 0
            width = row_width(part, numbers) + words + count * INDEX_BYTES_PER_ROW
            found[name] = capacity(stored_rows(part, numbers)) * width
    return found


def part_bytes(part: Part, numbers: JoinNumbers) -> Number:
    """Return the least memory of a kept sub-join, in bytes: with one index."""
    words = numbers.classes(part).bit_count() * WORD_BYTES
    return capacity(stored_rows(part, numbers)) * (row_width(part, numbers) + words + INDEX_BYTES_PER_ROW)


def row_width(part: Part, numbers: JoinNumbers) -> float:
    """Return the bytes of a row of a sub-join, without indexes."""
    return sum(numbers.widths.get(alias, columns_of(frozenset([alias]), numbers) * WIDTH) for alias in part)


def capacity(rows: Number) -> Number:
    """Return the number of places in the rings of a store.

    >>> [float(capacity(rows)) for rows in (3.0, 1024.0, 1025.0)]
    [1024.0, 1024.0, 2048.0]
    """
    return np.exp2(np.ceil(np.log2(np.maximum(rows, LEAST_ROWS))))
