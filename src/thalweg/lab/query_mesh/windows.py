"""Streams in windows, and a chain of probes whose outcomes are bits of a column."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter_ns

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.given_predicate import predicate
from thalweg.kernels import FilterChain
from thalweg.lab.query_mesh.layouts import PROBES, WINDOW, Stream
from thalweg.plan import FilterPlan


def bit_chain(probes: int = PROBES) -> FilterChain:
    """Return a chain of probes. Probe k finds a match if bit k of the column `bits` is set."""
    plan = FilterPlan(
        tuple(predicate(partial(_bit, 1 << k), "bits", name=f"S{k + 1}", vectorized=True) for k in range(probes))
    )
    return FilterChain(plan, clock=perf_counter_ns)


def _bit(bit: int, bits: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (bits.to_numpy() & bit) != 0
    return found


def names(attributes: int) -> list[str]:
    """Return the names of the attributes: a1, a2 and so on."""
    return [f"a{i + 1}" for i in range(attributes)]


def windows_of(stream: Stream) -> Iterator[pa.RecordBatch]:
    """Return the windows of a stream, with its values and the outcomes of its probes."""
    bits = stream.passes @ (1 << np.arange(stream.passes.shape[1], dtype=np.int64))
    columns = {"bits": bits} | {name: stream.values[:, i] for i, name in enumerate(names(stream.values.shape[1]))}
    table = pa.table(columns)
    for first in range(0, len(stream), WINDOW):
        yield pa.RecordBatch.from_arrays(
            [column.combine_chunks() for column in table.slice(first, WINDOW).columns], names=table.column_names
        )
