"""Functions of text. Lengths and places are counted in characters, not bytes.

>>> from thalweg.plan.expression import Ref, call
>>> s, n = Ref("s", "name", pa.string()), Ref("s", "n", pa.int32())
>>> substring = TEXT["substring"](call("substring", (s, n), pa.string()))
>>> substring([pa.array(["grün", "grün"]), pa.array([3, -2], pa.int32())], 2).to_pylist()
['ün', 'ün']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.kernels.expressions.pattern import LikePattern
from thalweg.kernels.expressions.rows import Kernel, Maker, arrow_of, full, nowhere_null, numpy_of
from thalweg.plan.expression import Call, Value

_TO_THE_END = 2**31 - 1
Places = NDArray[np.int64]


class _Letters:
    """Where the characters of texts begin, in the bytes of all of them."""

    def __init__(self, texts: pa.Array) -> None:
        _, offsets, data = texts.buffers()
        known = np.frombuffer(offsets or bytes(4), dtype=np.int32)[texts.offset :][: len(texts) + 1]
        self.offsets = known.astype(np.int64)
        self.bytes = np.frombuffer(data or b"", dtype=np.uint8)[: self.offsets[-1]]
        begins = (self.bytes & 0xC0) != 0x80
        self._starts = np.append(begins.nonzero()[0], len(self.bytes))
        before = np.zeros(len(self.bytes) + 1, dtype=np.int64)
        np.cumsum(begins, out=before[1:])
        self._before = before
        self.first = before[self.offsets[:-1]]
        self.counts = before[self.offsets[1:]] - self.first

    def between(self, start: Places, end: Places) -> tuple[Places, Places]:
        """The bytes of the characters from start to before end, each within its text."""
        low = np.clip(start, 0, self.counts)
        high = np.clip(end, low, self.counts)
        return self._starts[self.first + low], self._starts[self.first + high]

    def number_of(self, places: Places) -> Places:
        """The character at a byte of the text."""
        numbers: Places = self._before[self.offsets[:-1] + places] - self.first
        return numbers

    def cut(self, low: Places, high: Places, valid: NDArray[np.bool_] | None) -> pa.Array:
        """These bytes of each text."""
        sizes = high - low
        offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
        np.cumsum(sizes, out=offsets[1:])
        at = np.repeat(low - offsets[:-1], sizes) + np.arange(offsets[-1])
        bits = None if valid is None else pa.array(valid).buffers()[1]
        data = [bits, pa.py_buffer(offsets), pa.py_buffer(self.bytes[at])]
        return pa.StringArray.from_buffers(len(sizes), *data[1:], data[0])


def _substring(call: Call) -> Kernel:
    """From a place that counts from 1, or from the end when it is negative; 0 is 1."""
    given = call.arguments[1:]
    if all(isinstance(part, Value) and part.value is not None for part in given):
        numbers: list[int] = [part.value for part in given]  # type: ignore[union-attr, misc]
        start, length = numbers if len(numbers) == 2 else (numbers[0], _TO_THE_END)
        if length <= 0:
            return lambda values, rows: pc.if_else(values[0].is_valid(), "", pa.scalar(None, pa.string()))
        begin = start - 1 if start > 0 else start
        end: int | None = begin + length
        if begin < 0 and begin + length >= 0:
            end = None
        return lambda values, rows: pc.utf8_slice_codeunits(values[0], start=begin, stop=end)

    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        letters = _Letters(full(values[0], rows))
        starts = numpy_of(values[1], rows).astype(np.int64)
        lengths = numpy_of(values[2], rows).astype(np.int64) if len(values) > 2 else np.full(rows, _TO_THE_END)
        begin = np.where(starts > 0, starts - 1, np.where(starts < 0, letters.counts + starts, 0))
        return letters.cut(*letters.between(begin, begin + lengths), nowhere_null(values, rows))

    return kernel


def _searched(with_literal: Callable[[Any, str], pa.Array], with_others: Callable[[str, str], Any]) -> Maker:
    """Arrow's kernels look for one text; one for every row is Python's affair."""

    def make(call: Call) -> Kernel:
        def kernel(values: Sequence[Any], rows: int) -> pa.Array:
            text, wanted = values
            if isinstance(wanted, pa.Scalar):
                if not wanted.is_valid:
                    return pa.nulls(rows, call.type)
                return with_literal(text, wanted.as_py())
            pairs = zip(full(text, rows).to_pylist(), wanted.to_pylist(), strict=True)
            return pa.array([None if t is None or w is None else with_others(t, w) for t, w in pairs], call.type)

        return kernel

    return make


def _place(texts: pa.Array, wanted: str) -> pa.Array:
    """The character's number from 1; 0: it is not there."""
    found = pc.find_substring(texts, pattern=wanted)
    if wanted and not _is_ascii(texts):
        at = numpy_of(found, len(texts)).astype(np.int64)
        numbers = np.where(at < 0, at, _Letters(texts).number_of(np.maximum(at, 0)))
        found = arrow_of(numbers.astype(np.int32), pa.int32(), [texts])
    return pc.add(found, pa.scalar(1, pa.int32()))


def _is_ascii(texts: pa.Array) -> bool:
    return pc.all(pc.string_is_ascii(texts)).as_py() is not False


def _cased(of_ascii: Callable[[Any], pa.Array], of_others: Callable[[str], str]) -> Maker:
    """Of other alphabets as Unicode tells it, one letter by several where need be: Arrow maps one by one."""

    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        texts = values[0]
        if _is_ascii(texts):
            return of_ascii(texts)
        coded = texts.dictionary_encode()
        return pa.array([of_others(word) for word in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)

    return lambda call: kernel


def _replace(call: Call) -> Kernel:
    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        texts, wanted, instead = values
        if isinstance(wanted, pa.Scalar) and isinstance(instead, pa.Scalar):
            if not wanted.is_valid or not instead.is_valid:
                return pa.nulls(rows, pa.string())
            if not wanted.as_py():
                return texts
            return pc.replace_substring(texts, pattern=wanted.as_py(), replacement=instead.as_py())
        triples = zip(*(full(value, rows).to_pylist() for value in values), strict=True)
        # Python would put the replacement between all letters for an empty text
        made = [None if None in row else row[0].replace(row[1], row[2]) if row[1] else row[0] for row in triples]
        return pa.array(made, pa.string())

    return kernel


def _like(call: Call) -> Kernel:
    pattern, *escape = (str(part.value) for part in call.arguments[1:] if isinstance(part, Value))
    wanted = LikePattern.read(pattern, *escape)
    return lambda values, rows: wanted.matches(values[0])


def _concat(call: Call) -> Kernel:
    if not call.arguments:
        return lambda values, rows: full(pa.scalar(""), rows)
    return lambda values, rows: pc.binary_join_element_wise(*values, "", null_handling="emit_null")


TEXT: dict[str, Maker] = {
    "upper": _cased(pc.ascii_upper, str.upper),
    "lower": _cased(pc.ascii_lower, str.lower),
    "trim": lambda call: lambda values, rows: pc.ascii_trim(values[0], characters=" "),
    "ltrim": lambda call: lambda values, rows: pc.ascii_ltrim(values[0], characters=" "),
    "rtrim": lambda call: lambda values, rows: pc.ascii_rtrim(values[0], characters=" "),
    "length": lambda call: lambda values, rows: pc.utf8_length(values[0]),
    "substring": _substring,
    "replace": _replace,
    "startswith": _searched(lambda text, wanted: pc.starts_with(text, pattern=wanted), str.startswith),
    "endswith": _searched(lambda text, wanted: pc.ends_with(text, pattern=wanted), str.endswith),
    "contains": _searched(lambda text, wanted: pc.match_substring(text, pattern=wanted), str.__contains__),
    "instr": _searched(_place, lambda text, wanted: text.find(wanted) + 1),
    "like": _like,
    "rlike": _searched(lambda text, wanted: pc.match_substring_regex(text, pattern=wanted), str.__contains__),
    "concat": _concat,
}
