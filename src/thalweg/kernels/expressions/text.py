"""Text functions. Lengths and positions are counted in characters, not bytes.

>>> from thalweg.plan.expressions.expression import Ref, call
>>> s, n = Ref("s", "name", pa.string()), Ref("s", "n", pa.int32())
>>> substring = TEXT["substring"](call("substring", (s, n), pa.string()))
>>> substring([pa.array(["grün", "grün"]), pa.array([3, -2], pa.int32())], 2).to_pylist()
['ün', 'ün']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.kernels.expressions.letter_case import is_ascii, lower, upper
from thalweg.kernels.expressions.rows import Datum, Kernel, Maker, arrow_of, full, nowhere_null, numpy_of
from thalweg.kernels.expressions.text_bytes import TextBytes, ends_of, texts_of
from thalweg.plan.expressions.expression import Call, Value
from thalweg.plan.expressions.like_pattern import like_parts
from thalweg.plan.expressions.re2_text import re2_text

_TO_THE_END = 2**31 - 1
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ")


def _substring(call: Call) -> Kernel:
    """substring: the start counts from 1, or from the end if it is negative; 0 means 1."""
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
        from thalweg.kernels.expressions.byte_search import copy_into, cut_between

        texts = TextBytes.of(values[0], rows)
        starts = numpy_of(values[1], rows).astype(np.int64)
        lengths = numpy_of(values[2], rows).astype(np.int64) if len(values) > 2 else np.full(rows, _TO_THE_END)
        lows, sizes = cut_between(texts.offsets, texts.data, starts, lengths)
        offsets = ends_of(sizes)
        made = np.empty(offsets[-1], dtype=np.uint8)
        copy_into(made, texts.data, lows, sizes)
        return texts_of(offsets, made, nowhere_null(values, rows))

    return kernel


def _searched(name: str, with_literal: Callable[[Any, str], pa.Array]) -> Maker:
    """A search function. Arrow's kernels search for one literal; `byte_search` handles one text per row."""

    def make(call: Call) -> Kernel:
        def kernel(values: Sequence[Any], rows: int) -> pa.Array:
            text, wanted = values
            if not isinstance(wanted, pa.Scalar):
                return _pairwise(name, values, rows)
            return with_literal(text, wanted.as_py()) if wanted.is_valid else pa.nulls(rows, call.type)

        return kernel

    return make


def _pairwise(name: str, values: Sequence[Datum], rows: int) -> pa.Array:
    from thalweg.kernels.expressions import byte_search

    texts, wanted = (TextBytes.of(value, rows) for value in values)
    both = (texts.offsets, texts.data, wanted.offsets, wanted.data)
    if name in ("startswith", "endswith"):
        return arrow_of(byte_search.stands(*both, name == "endswith"), pa.bool_(), values)
    found = byte_search.places(*both)
    return arrow_of(found, pa.int32(), values) if name == "instr" else arrow_of(found > 0, pa.bool_(), values)


def _place(texts: pa.Array, wanted: str) -> pa.Array:
    """Return the position in characters from 1; 0 if there is no match. Arrow counts bytes."""
    if wanted and not is_ascii(texts):
        return _pairwise("instr", [texts, pa.scalar(wanted)], len(texts))
    return pc.add(pc.find_substring(texts, pattern=wanted), pa.scalar(1, pa.int32()))


def _replace(call: Call) -> Kernel:
    def kernel(values: Sequence[Any], rows: int) -> pa.Array:
        texts, wanted, instead = values
        if any(isinstance(value, pa.Scalar) and not value.is_valid for value in values):
            return pa.nulls(rows, pa.string())
        if isinstance(wanted, pa.Scalar) and isinstance(instead, pa.Scalar):
            if not wanted.as_py():
                return texts
            return pc.replace_substring(texts, pattern=wanted.as_py(), replacement=instead.as_py())
        return _replaced(values, rows)

    return kernel


def _replaced(values: Sequence[Datum], rows: int) -> pa.Array:
    from thalweg.kernels.expressions.byte_search import replace_into, replaced_sizes

    texts, wanted, instead = (TextBytes.of(value, rows) for value in values)
    given = (texts.offsets, texts.data, wanted.offsets, wanted.data, instead.offsets)
    offsets = ends_of(replaced_sizes(*given))
    made = np.empty(offsets[-1], dtype=np.uint8)
    replace_into(made, *given, instead.data)
    return texts_of(offsets, made, nowhere_null(values, rows))


def _like(call: Call) -> Kernel:
    pattern, *escape = (str(part.value) for part in call.arguments[1:] if isinstance(part, Value))
    wanted = LikePattern.read(pattern, *escape)
    return lambda values, rows: wanted.matches(values[0])


def _rlike(call: Call) -> Kernel:
    assert isinstance(call.arguments[1], Value)
    pattern = re2_text(str(call.arguments[1].value))
    return lambda values, rows: pc.match_substring_regex(values[0], pattern=pattern)


def _concat(call: Call) -> Kernel:
    if not call.arguments:
        return lambda values, rows: full(pa.scalar(""), rows)
    return lambda values, rows: pc.binary_join_element_wise(*values, "", null_handling="emit_null")


@dataclass(frozen=True)
class LikePattern:
    """The text to look for, and where in a value it must be: the cheapest way to match a pattern of LIKE.

    >>> LikePattern.read("ab%").kind, LikePattern.read("%a\\\\%b%").kind, LikePattern.read("a_c").text
    ('prefix', 'inside', '(?s)\\\\Aa.c\\\\z')
    """

    kind: str
    """One of: whole, prefix, suffix, inside, regex."""
    text: str

    @staticmethod
    def read(pattern: str, escape: str = "\\") -> LikePattern:
        """Parse a pattern of literal characters and wildcards."""
        parts = like_parts(pattern, escape)
        ends = (bool(parts) and parts[0] == (True, "%"), bool(parts) and parts[-1] == (True, "%"))
        inner = parts[ends[0] : len(parts) - ends[1]] if parts != [(True, "%")] else []
        if not any(wild for wild, _ in inner):
            text = "".join(letter for _, letter in inner)
            if parts == [(True, "%")]:
                return LikePattern("inside", "")
            return LikePattern({(0, 0): "whole", (0, 1): "prefix", (1, 0): "suffix", (1, 1): "inside"}[ends], text)
        made = [(".*" if letter == "%" else ".") if wild else _quoted(letter) for wild, letter in parts]
        return LikePattern("regex", rf"(?s)\A{''.join(made)}\z")

    def matches(self, texts: pa.Array) -> pa.Array:
        """Return whether each text matches."""
        if self.kind == "whole":
            return pc.equal(texts, self.text)
        if self.kind == "prefix":
            return pc.starts_with(texts, pattern=self.text)
        if self.kind == "suffix":
            return pc.ends_with(texts, pattern=self.text)
        if self.kind == "inside":
            return pc.match_substring(texts, pattern=self.text)
        return pc.match_substring_regex(texts, pattern=self.text)


def _quoted(letter: str) -> str:
    if letter in _PLAIN or not letter.isascii():
        return letter
    return rf"\x{ord(letter):02x}"


TEXT: dict[str, Maker] = {
    "upper": lambda call: lambda values, rows: upper(values[0]),
    "lower": lambda call: lambda values, rows: lower(values[0]),
    "trim": lambda call: lambda values, rows: pc.ascii_trim(values[0], characters=" "),
    "ltrim": lambda call: lambda values, rows: pc.ascii_ltrim(values[0], characters=" "),
    "rtrim": lambda call: lambda values, rows: pc.ascii_rtrim(values[0], characters=" "),
    "length": lambda call: lambda values, rows: pc.utf8_length(values[0]),
    "substring": _substring,
    "replace": _replace,
    "startswith": _searched("startswith", lambda text, wanted: pc.starts_with(text, pattern=wanted)),
    "endswith": _searched("endswith", lambda text, wanted: pc.ends_with(text, pattern=wanted)),
    "contains": _searched("contains", lambda text, wanted: pc.match_substring(text, pattern=wanted)),
    "instr": _searched("instr", _place),
    "like": _like,
    "rlike": _rlike,
    "concat": _concat,
}
