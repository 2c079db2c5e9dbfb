"""Generated joins in types that Spark has, and how their streams are cut into files."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pyarrow as pa
from hypothesis import strategies as st

from tests.runtime.joins.generated import Case, Stream, cases
from tests.runtime.spark.joins.streams import BEGIN_US

STEPS_US = (1, 700, 10**6)
"""What a tick is: finer than Spark's watermarks, which are in milliseconds, about as fine, and coarser."""
_AS_THEY_ARE = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(),
                pa.binary(), pa.date32(), pa.list_(pa.int8()), pa.map_(pa.string(), pa.int64()),
                pa.struct([("p", pa.int32()), ("q", pa.list_(pa.string()))]))  # fmt: skip
_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.date64(): pa.date32(),
          pa.float16(): pa.float32(), pa.large_string(): pa.string(), pa.string_view(): pa.string(),
          pa.large_binary(): pa.binary(), pa.binary_view(): pa.binary()}  # fmt: skip


@st.composite
def cases_for_spark(draw: st.DrawFn, *, streaming: bool) -> Case:
    """Times of streams are timestamps after 1970; finished ones may also be whole numbers."""
    case = draw(cases())
    r = random.Random(draw(st.integers(0, 2**32)))
    as_timestamps = streaming or case.unit is not None
    step, zone = (r.choice(STEPS_US) if as_timestamps else 1), r.choice([None, "UTC"])
    streams = {}
    for alias, stream in case.streams.items():
        begin = BEGIN_US if as_timestamps else 0
        ticks = [None if tick is None else begin + tick * step for tick in stream.ticks]
        times = pa.array(ticks, pa.int64())
        columns = {name: _for_spark(stream.table[name].combine_chunks()) for name in stream.table.column_names}
        columns["t"] = times.cast(pa.timestamp("us", zone)) if as_timestamps else times
        streams[alias] = Stream(pa.table(columns), ticks, [], stream.lateness * step)
    windows = {alias: window * step for alias, window in case.windows.items()}
    return replace(case, streams=streams, windows=windows, unit="us" if as_timestamps else None)


def _for_spark(array: pa.Array) -> pa.Array:
    """The same values where Spark has them; else others, of the same name: the oracle is asked about these."""
    kind = array.type
    if kind in _AS_THEY_ARE:
        return array
    if pa.types.is_dictionary(kind):
        return array.cast(kind.value_type).cast(_WIDER.get(kind.value_type, kind.value_type))
    if kind in _WIDER:
        return array.cast(_WIDER[kind])
    if kind == pa.uint64():
        return pa.array([None if v is None or v >= 2**63 else v for v in array.to_pylist()], pa.int64())
    if pa.types.is_timestamp(kind):
        return array.cast(pa.timestamp("us", None if kind.tz is None else "UTC"), safe=False)
    if pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary())
    if pa.types.is_decimal(kind):
        return array.cast(pa.decimal128(min(kind.precision, 38), kind.scale))
    return pa.array(range(len(array)), pa.int32())


def cut_into_files(r: random.Random, table: pa.Table, starts: int) -> list[list[pa.Table]]:
    """In the order of the table, at random places: the files that are new at each start of the query, perhaps none."""
    edges = sorted([0, table.num_rows, *(r.randint(0, table.num_rows) for _ in range(r.choice([0, 1, 2])))])
    parts = [table.slice(start, end - start) for start, end in itertools.pairwise(edges)]
    when = sorted(r.randrange(starts) for _ in parts)
    return [[part for part, n in zip(parts, when, strict=True) if n == start] for start in range(starts)]
