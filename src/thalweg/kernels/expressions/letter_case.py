"""upper and lower. Other alphabets as Unicode tells it, one letter by several where need be: Arrow maps one by one.

>>> upper(pa.array(["Straße", None, "ŉ"])).to_pylist(), lower(pa.array(["ΑΣ ΣΑ", "ÉTÉ"])).to_pylist()
(['STRASSE', None, 'ʼN'], ['ας σα', 'été'])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.kernels.expressions.rows import nowhere_null, true_of
from thalweg.kernels.expressions.text_bytes import TextBytes, ends_of, texts_of

_MAPPED = 0x20000
"""No letter from here on has another case."""
_SURROGATES = range(0xD800, 0xE000)
"""Halves of characters in UTF-16, which no text has."""
_SIGMA = "Σ"
"""The one letter whose small form depends on its neighbours: at the end of a word it is another."""


def upper(texts: pa.Array) -> pa.Array:
    """Capital letters."""
    return pc.ascii_upper(texts) if is_ascii(texts) else mapped(texts, str.upper)


def lower(texts: pa.Array) -> pa.Array:
    """Small letters."""
    if is_ascii(texts):
        return pc.ascii_lower(texts)
    made = mapped(texts, str.lower)
    has_sigma = true_of(pc.match_substring(texts, pattern=_SIGMA))
    if not has_sigma.any():
        return made
    # Python knows what a word is; it is asked once for every text there is
    coded = texts.filter(pa.array(has_sigma)).dictionary_encode()
    words = pa.array([word.lower() for word in coded.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(made, pa.array(has_sigma), words.take(coded.indices))


def is_ascii(texts: pa.Array) -> bool:
    """All of them."""
    return pc.all(pc.string_is_ascii(texts)).as_py() is not False


def mapped(texts: pa.Array, of: Callable[[str], str]) -> pa.Array:
    """Every letter by what stands for it, which is asked once a letter and then known."""
    from thalweg.kernels.expressions.letter_map import map_into, mapped_sizes

    # what lies under a null need not be characters
    given, letters = TextBytes.of(texts.fill_null("") if texts.null_count else texts), _letters(of)
    offsets = ends_of(mapped_sizes(given.offsets, given.data, letters.offsets))
    made = np.empty(offsets[-1], dtype=np.uint8)
    map_into(made, given.offsets, given.data, letters.offsets, letters.data)
    return texts_of(offsets, made, nowhere_null([texts], len(texts)))


@cache
def _letters(of: Callable[[str], str]) -> TextBytes:
    """By number, what stands for each; made when the first text needs it, in some 20 ms."""
    return TextBytes.of(pa.array(["" if n in _SURROGATES else of(chr(n)) for n in range(_MAPPED)], pa.string()))
