"""upper and lower. As Unicode defines, one letter may map to several; Arrow maps each letter to exactly one.

>>> upper(pa.array(["Straße", None, "ŉ"])).to_pylist(), lower(pa.array(["ΑΣ ΣΑ", "ÉTÉ"])).to_pylist()
(['STRASSE', None, 'ʼN'], ['ας σα', 'été'])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.kernels.expressions.rows import nowhere_null, true_of
from thalweg.kernels.expressions.text_bytes import TextBytes, ends_of, texts_of

_MAPPED = 0x20000
"""No character from this code point on has another case."""
_SURROGATES = range(0xD800, 0xE000)
"""Code points of UTF-16 surrogates, which occur in no text."""
_SIGMA = "Σ"
"""The only letter whose lowercase form depends on its neighbors: it differs at the end of a word."""
_NEW_LOWER = dict(
    chain(
        [(0xA7DC, 0x019B), (0xA7CB, 0x0264), (0x1C89, 0x1C8A), (0xA7CC, 0xA7CD), (0xA7DA, 0xA7DB)],
        zip(range(0x10D50, 0x10D66), range(0x10D70, 0x10D86), strict=True),
        [(0xA7CE, 0xA7CF), (0xA7D2, 0xA7D3), (0xA7D4, 0xA7D5)],
        zip(range(0x16EA0, 0x16EB9), range(0x16EBB, 0x16ED4), strict=True),
    )
)
"""The lowercase letters of the uppercase letters that Unicode 16 and, from U+A7CE on, 17 added. Python 3.11 has 14."""
_NEW_UPPER = {small: large for large, small in _NEW_LOWER.items()}


def upper(texts: pa.Array) -> pa.Array:
    """Return the texts in uppercase."""
    return pc.ascii_upper(texts) if is_ascii(texts) else mapped(texts, _upper)


def lower(texts: pa.Array) -> pa.Array:
    """Return the texts in lowercase."""
    if is_ascii(texts):
        return pc.ascii_lower(texts)
    made = mapped(texts, _lower)
    has_sigma = true_of(pc.match_substring(texts, pattern=_SIGMA))
    if not has_sigma.any():
        return made
    # Python detects the end of a word; it is called once per distinct text
    coded = texts.filter(pa.array(has_sigma)).dictionary_encode()
    words = pa.array([_lower(word) for word in coded.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(made, pa.array(has_sigma), words.take(coded.indices))


def _upper(text: str) -> str:
    return text.upper().translate(_NEW_UPPER)


def _lower(text: str) -> str:
    return text.lower().translate(_NEW_LOWER)


def is_ascii(texts: pa.Array) -> bool:
    """Whether all texts are ASCII."""
    return pc.all(pc.string_is_ascii(texts)).as_py() is not False


def mapped(texts: pa.Array, of: Callable[[str], str]) -> pa.Array:
    """Replace every letter by its mapping, which is computed once per letter and then cached."""
    from thalweg.kernels.expressions.letter_map import map_into, mapped_sizes

    # the bytes under a null need not be valid characters
    given, letters = TextBytes.of(texts.fill_null("") if texts.null_count else texts), _letters(of)
    offsets = ends_of(mapped_sizes(given.offsets, given.data, letters.offsets))
    made = np.empty(offsets[-1], dtype=np.uint8)
    map_into(made, given.offsets, given.data, letters.offsets, letters.data)
    return texts_of(offsets, made, nowhere_null([texts], len(texts)))


@cache
def _letters(of: Callable[[str], str]) -> TextBytes:
    """The mapping of each letter, by code point. It is made for the first text that needs it, in about 20 ms."""
    return TextBytes.of(pa.array(["" if n in _SURROGATES else of(chr(n)) for n in range(_MAPPED)], pa.string()))
