"""Columns of any Arrow type that Spark has, drawn by Hypothesis: nested up to two levels deep, with values at the ends
of their types, text that is not UTF-8, and null structs whose fields are not nullable and null."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

DOUBLES = (float("nan"), -0.0, 0.0, float("inf"), 5e-324, 1.5)
LEAVES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.one_of(st.sampled_from(DOUBLES), st.floats(width=32)),
    pa.float64(): st.one_of(st.sampled_from(DOUBLES), st.floats()),
    pa.decimal128(38, 5): st.decimals(-(10**32), 10**32, places=5, allow_nan=False),
    pa.string(): st.binary(max_size=5),
    pa.binary(): st.binary(max_size=5),
    pa.date32(): st.integers(-(2**31), 2**31 - 1),
    pa.timestamp("us", "UTC"): st.integers(-(2**63), 2**63 - 1),
    pa.timestamp("us"): st.integers(-(2**63), 2**63 - 1),
    pa.duration("us"): st.integers(-(2**63), 2**63 - 1),
    pa.null(): st.none(),
}
_DRAWN_AS = {
    pa.string(): pa.binary(), pa.date32(): pa.int32(), pa.timestamp("us", "UTC"): pa.int64(),
    pa.timestamp("us"): pa.int64(), pa.duration("us"): pa.int64(),
}  # fmt: skip
"""Types for which Python does not have all values."""


LEVELS = 2


@st.composite
def columns(draw: st.DrawFn, rows: int, levels: int = LEVELS, nulls: bool = True) -> pa.Array:
    """Draw a column with so many rows."""
    kinds = ["leaf", "list", "struct", "map"] if levels else ["leaf"]
    which = draw(st.sampled_from(kinds))
    valid = draw(st.lists(st.booleans() if nulls else st.just(True), min_size=rows, max_size=rows))
    if which == "leaf":
        return draw(_leaves(valid, nulls and levels == LEVELS))
    mask = pa.array([not each for each in valid], pa.bool_())
    if which == "struct":
        fields = draw(st.lists(st.booleans(), min_size=1, max_size=3))  # whether they are nullable
        made = [draw(columns(rows, levels - 1, nulls=nullable)) for nullable in fields]
        made = [each if nullable else _null_where(each, valid) for each, nullable in zip(made, fields, strict=True)]
        kind = pa.struct([pa.field(f"f{n}", c.type, f) for n, (c, f) in enumerate(zip(made, fields, strict=True))])
        bits = pa.array(valid, pa.bool_()).buffers()[1]
        return pa.Array.from_buffers(kind, rows, [bits], children=made)
    lengths = [draw(st.integers(0, 3)) if each else 0 for each in valid]
    offsets = pa.array(np.cumsum([0, *lengths]), pa.int32())
    items = draw(columns(sum(lengths), levels - 1))
    if which == "list":
        return pa.ListArray.from_arrays(offsets, items, mask=mask)
    keys = draw(columns(sum(lengths), levels - 1, nulls=False))
    return pa.MapArray.from_arrays(offsets, keys, items, mask=mask)


@st.composite
def _leaves(draw: st.DrawFn, valid: list[bool], void: bool) -> pa.Array:
    """Without `void`, no column of nulls alone: Arrow 26 casts lists of these to arrays that are not valid."""
    kind = draw(st.sampled_from([kind for kind in LEAVES if void or not pa.types.is_null(kind)]))
    values = [draw(LEAVES[kind]) if each else None for each in valid]
    return pa.array(values, _DRAWN_AS.get(kind, kind)).view(kind)


def _null_where(column: pa.Array, valid: list[bool]) -> pa.Array:
    """Return the column as the JVM sends it: a field is null if its struct is, even if it is not nullable."""
    rows = pa.array([n if each else None for n, each in enumerate(valid)], pa.int64())
    return column.take(rows)
