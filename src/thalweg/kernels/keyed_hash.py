"""A keyed hash of join keys: SipHash-1-3, for texts and for several words together.

Answers: 64 bits for a text, or for two words. With the same salt, they are the same in every process and on every
machine.
Guarantee: equal keys have equal hashes. Collisions of different keys cannot be found without the salt. A hash that only
starts from a secret number does not guarantee this: its collisions are the same whatever the number is. If certainty is
needed, keys are compared by value.
Cost: 3 to 8 ns for a short text and about 1 ns for each additional eight bytes, compiled.
Differs from the paper: one round per eight bytes and three at the end, as Python and Rust hash the keys of their
dictionaries, instead of two and four.

Reference: Aumasson, Bernstein: SipHash: a fast short-input PRF. INDOCRYPT 2012, section 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from thalweg.kernels.compiled import compiled

_START = (
    np.uint64(0x736F6D6570736575),
    np.uint64(0x646F72616E646F6D),
    np.uint64(0x6C7967656E657261),
    np.uint64(0x7465646279746573),
)
_END = np.uint64(0xFF)
_LENGTH = np.uint64(56)
"""The shift that puts the length of the key into the highest byte of its last word."""

Words = NDArray[np.int64]


def _bytes_at(count: int) -> Any:
    """Return a function that reads `count` bytes at any address as one number.

    Reading byte by byte takes longer than hashing."""

    def read(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.IntType(8 * count)
            word = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1)
            return word if count == 8 else builder.zext(word, ir.IntType(64))

        return types.uint64(address), generate

    return intrinsic(read)


_eight, _four, _one = _bytes_at(8), _bytes_at(4), _bytes_at(1)


@compiled(inline="always")
def _few(address, count):  # type: ignore[no-untyped-def]
    """Return one to seven bytes as a number; some of them are read twice."""
    if count >= 4:
        return _four(address) | (_four(address + count - 4) << np.uint64(8 * (count - 4)))
    middle = count >> 1
    last = _one(address + count - 1) << np.uint64(8 * (count - 1))
    return _one(address) | (_one(address + middle) << np.uint64(8 * middle)) | last


@compiled(inline="always")
def _turned(word, bits):  # type: ignore[no-untyped-def]
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@compiled(inline="always")
def _round(a, b, c, d):  # type: ignore[no-untyped-def]
    a += b
    b = _turned(b, 13) ^ a
    a = _turned(a, 32)
    c += d
    d = _turned(d, 16) ^ c
    a += d
    d = _turned(d, 21) ^ a
    c += b
    b = _turned(b, 17) ^ c
    c = _turned(c, 32)
    return a, b, c, d


@compiled(inline="always")
def _taken(a, b, c, d, word):  # type: ignore[no-untyped-def]
    a, b, c, d = _round(a, b, c, d ^ word)
    return a ^ word, b, c, d


@compiled(inline="always")
def _ended(a, b, c, d):  # type: ignore[no-untyped-def]
    a, b, c, d = _round(a, b, c ^ _END, d)
    a, b, c, d = _round(a, b, c, d)
    a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@compiled()
def hash_texts(offsets, data, one, other, out):  # type: ignore[no-untyped-def]
    """Write the hash of each text of an Arrow array: bytes offsets[i] to offsets[i + 1]."""
    a0, b0, c0, d0 = one ^ _START[0], other ^ _START[1], one ^ _START[2], other ^ _START[3]
    address = data.ctypes.data
    for i in range(len(out)):
        start, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
        a, b, c, d = a0, b0, c0, d0
        at = start
        while at + 8 <= end:
            a, b, c, d = _taken(a, b, c, d, _eight(address + at))
            at += 8
        rest = end - at
        word = np.uint64(end - start) << _LENGTH
        if rest > 0:
            word |= _few(address + at, rest)
        a, b, c, d = _taken(a, b, c, d, word)
        out[i] = np.int64(_ended(a, b, c, d))


@compiled()
def combine(hashes, words, one, other):  # type: ignore[no-untyped-def]
    """Combine each hash with one more word, in place: the new hash is that of the sixteen bytes of both."""
    a0, b0, c0, d0 = one ^ _START[0], other ^ _START[1], one ^ _START[2], other ^ _START[3]
    length = np.uint64(16) << _LENGTH
    for i in range(len(words)):
        a, b, c, d = _taken(a0, b0, c0, d0, np.uint64(hashes[i]))
        a, b, c, d = _taken(a, b, c, d, np.uint64(words[i]))
        a, b, c, d = _taken(a, b, c, d, length)
        hashes[i] = np.int64(_ended(a, b, c, d))


@compiled(inline="always")
def hash_word(word, one, other):  # type: ignore[no-untyped-def]
    """Return the hash of the eight bytes of a word."""
    a, b, c, d = one ^ _START[0], other ^ _START[1], one ^ _START[2], other ^ _START[3]
    a, b, c, d = _taken(a, b, c, d, word)
    a, b, c, d = _taken(a, b, c, d, np.uint64(8) << _LENGTH)
    return _ended(a, b, c, d)
