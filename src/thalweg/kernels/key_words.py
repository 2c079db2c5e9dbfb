"""Join keys as 64-bit words, which hash indexes store, and whether equal words mean equal keys.

A class of equal columns gets one kind, by the types of its columns. Whole numbers, dates, timestamps and booleans are
their own words, so equal words mean equal keys (`exact`). Texts, bytes and decimals are hashed with a salt; their
results are checked again by value. Types of different families cannot be compared: the error names both columns.

>>> kind = KeyKind.of([("a.k", pa.int8()), ("b.k", pa.uint64())])
>>> words, known = kind.words(pa.array([1, None, 2**63], pa.uint64()))  # 2^63 is not an int64: nothing can equal it
>>> words[known].tolist(), known.tolist(), kind.exact
([1], [True, False, False], True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.errors import PlanError
from thalweg.kernels.salt import NO_SALT, Salt
from thalweg.plan.joins.graph import JoinGraph

Words = NDArray[np.int64]
Bits = NDArray[np.bool_]

DAY_MS = 86_400_000
_UNITS = ("s", "ms", "us", "ns")
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True)
class KeyKind:
    """How the columns of one class are converted to words."""

    family: str
    common: pa.DataType
    """The type in which values are compared."""

    @classmethod
    def of(cls, columns: Sequence[tuple[str, pa.DataType]]) -> KeyKind:
        """Return the kind for named columns. Raises if they cannot be compared."""
        columns = [c for c in columns if not pa.types.is_null(c[1])] or [("", pa.bool_())]  # null equals nothing anyway
        types = [_plain(kind) for _, kind in columns]
        families = [_family(kind) for kind in types]
        for (name, kind), family in zip(columns, families, strict=True):
            if family is None:
                beside = f". In addition to another equality, you can write CAST({name} AS DOUBLE) = ..."
                raise PlanError(
                    f"{name} is {kind}, which cannot be a join key; join on whole numbers, text, bytes, timestamps, "
                    f"dates, decimals or booleans, or cast it{beside if pa.types.is_floating(kind) else ''}"
                )
            if family != families[0]:
                first, first_kind = columns[0]
                raise PlanError(
                    f"{first} is {first_kind} and {name} is {kind}, which cannot be compared; cast one of the columns "
                    "in the data before the join, or write the join in SQL: s.query accepts CAST(...) = ..."
                )
        family = families[0]
        assert family is not None
        if family == "integer":
            return cls(family, pa.uint64() if all(kind == pa.uint64() for kind in types) else pa.int64())
        if family.startswith("timestamp"):
            return cls(family, pa.timestamp(max((kind.unit for kind in types), key=_UNITS.index), types[0].tz))
        if family == "decimal":
            scale = max(0, *(kind.scale for kind in types))
            whole = max(kind.precision - kind.scale for kind in types)
            wide = whole + scale > pa.decimal128(38, 0).precision
            return cls(family, pa.decimal256(min(whole + scale, 76), scale) if wide else pa.decimal128(38, scale))
        return cls(family, {"text": pa.large_string(), "bytes": pa.large_binary(), "date": pa.date32()}.get(
            family, pa.bool_()))  # fmt: skip

    @property
    def exact(self) -> bool:
        """Whether equal words mean equal keys."""
        return self.family not in ("text", "bytes", "decimal")

    def words(self, array: pa.Array, salt: Salt = NO_SALT) -> tuple[Words, Bits | None]:
        """Return one word per row, and which rows have a key that something can equal (None: all rows).

        `salt`: the salt of the hashes. Words can only be compared with words of the same salt."""
        if isinstance(array.type, pa.DictionaryType):
            array = array.cast(array.type.value_type)
        if pa.types.is_null(array.type):
            return np.zeros(len(array), np.int64), np.zeros(len(array), bool)
        known = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        if self.family == "integer":
            return self._integers(array, known)
        if self.family.startswith("timestamp"):
            return self._timestamps(array, known)
        if self.family == "date":
            return self._dates(array, known)
        if self.family == "bool":
            return array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64), known
        if self.family == "decimal":
            return self._decimals(array, known, salt)
        return _texts(array, salt), known

    def canonical(self, array: pa.Array) -> pa.Array:
        """Return the values in the common type, to compare them with those of other columns."""
        if isinstance(array.type, pa.DictionaryType):
            array = array.cast(array.type.value_type)
        return array if array.type == self.common else array.cast(self.common)

    def _integers(self, array: pa.Array, known: Bits | None) -> tuple[Words, Bits | None]:
        unsigned = pa.types.is_unsigned_integer(array.type)
        values = _values(array, np.dtype(f"{'u' if unsigned else 'i'}{array.type.bit_width // 8}"))
        if array.type == pa.uint64() and self.common != pa.uint64():
            fits = values <= np.uint64(2**63 - 1)
            if not fits.all():
                known = fits if known is None else known & fits
        return (values.view(np.int64) if values.itemsize == 8 else values.astype(np.int64)), known

    def _timestamps(self, array: pa.Array, known: Bits | None) -> tuple[Words, Bits | None]:
        factor = _TICKS[self.common.unit] // _TICKS[array.type.unit]
        words = _values(array, np.int64)
        if factor == 1:
            return words, known
        most = (2**63 - 1) // factor
        fits = (words >= -most) & (words <= most)
        if not fits.all():  # out of range for the finer unit, so equal to nothing there
            known = fits if known is None else known & fits
            words = np.where(fits, words, 0)
        return words * factor, known

    def _dates(self, array: pa.Array, known: Bits | None) -> tuple[Words, Bits | None]:
        if pa.types.is_date32(array.type):
            return _values(array, np.int32).astype(np.int64), known
        ms = _values(array, np.int64)
        days, rest = ms // DAY_MS, ms % DAY_MS
        if rest.any():  # not a whole day, so equal to no date
            known = rest == 0 if known is None else known & (rest == 0)
        return days, known

    def _decimals(self, array: pa.Array, known: Bits | None, salt: Salt) -> tuple[Words, Bits | None]:
        from thalweg.kernels.keyed_hash import combine

        parts = self.common.bit_width // 64
        try:
            cast = self.canonical(array)
        except pa.ArrowInvalid:  # some value has too many digits for the common type, so it equals nothing there
            fits = np.array([self._fits(value) for value in array])
            known = fits if known is None else known & fits
            cast = self.canonical(pc.if_else(pa.array(fits), array, pa.scalar(None, array.type)))
        halves = np.frombuffer(cast.buffers()[1], np.int64).reshape(-1, parts)[cast.offset : cast.offset + len(cast)]
        words = halves[:, 0].copy()
        for part in range(1, parts):
            combine(words, np.ascontiguousarray(halves[:, part]), salt.one, salt.other)
        return words, known

    def _fits(self, value: pa.Scalar) -> bool:
        try:
            value.cast(self.common)
        except pa.ArrowInvalid:
            return False
        return True


def _texts(array: pa.Array, salt: Salt) -> Words:
    from thalweg.kernels.keyed_hash import hash_texts

    if pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    elif array.type in (pa.string_view(), pa.binary_view()):
        array = array.cast(pa.large_string() if array.type == pa.string_view() else pa.large_binary())
    large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    out = np.empty(len(array), np.int64)
    if len(array):
        ends = np.frombuffer(offsets, np.int64 if large else np.int32)[array.offset : array.offset + len(array) + 1]
        raw = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
        hash_texts(ends, raw, salt.one, salt.other, out)
    return out


def _values(array: pa.Array, dtype: np.typing.DTypeLike) -> NDArray[Any]:
    """Return the values as they are in memory; those of nulls are undefined."""
    values: NDArray[Any] = np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)]
    return values


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _family(kind: pa.DataType) -> str | None:
    is_ = pa.types
    if is_.is_integer(kind):
        return "integer"
    if is_.is_string(kind) or is_.is_large_string(kind) or kind == pa.string_view():
        return "text"
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_fixed_size_binary(kind) or kind == pa.binary_view():
        return "bytes"
    if is_.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamp with time zone"
    if is_.is_decimal(kind):
        return "decimal"
    if is_.is_date(kind):
        return "date"
    return "bool" if is_.is_boolean(kind) else None


def key_kinds(graph: JoinGraph, schemas: Mapping[str, pa.Schema]) -> tuple[KeyKind, ...]:
    """Return the kinds of the keys of a join, by class. Raises if columns cannot be compared."""
    return tuple(
        KeyKind.of([(f"{a}.{c}", schemas[a].field(c).type) for a, c in members.items()]) for members in graph.column_of
    )


def hashed_classes(graph: JoinGraph, kinds: Sequence[KeyKind]) -> tuple[int, ...]:
    """Return the classes whose words may be equal although their values are not, so that results are checked by value:
    hashed classes, and those that are part of a key of several columns."""
    parts = {c for alias in graph.aliases for key in graph.keys_of(alias) if len(key) > 1 for c in key}
    return tuple(c for c, kind in enumerate(kinds) if not kind.exact or c in parts)


def same(one: pa.Array, other: pa.Array) -> Bits:
    """Return where two canonical arrays without nulls are equal."""
    bits: Bits = pc.equal(one, other).to_numpy(zero_copy_only=False)
    return bits
