"""Keys that an attacker chooses who has read the code, and not the salt: against the hashes of earlier versions, which
had none, and against those of today with a salt that is known."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from thalweg.kernels.salt import Salt

KNOWN = Salt.of("a salt that got known")
FIBONACCI = 0x9E3779B97F4A7C15
_WORD = 2**64
_BACK = np.uint64(pow(FIBONACCI, -1, _WORD))
_ASCII = np.uint64(0x8080808080808080)
U64 = np.uint64


def _mixed(word: np.ndarray) -> np.ndarray:
    """Apply the finalizer of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        word = (word ^ (word >> U64(33))) * U64(factor)
    word = word ^ (word >> U64(33))
    return word


def _halves(count: int, ascii_only: bool) -> np.ndarray:
    """Keys of sixteen bytes, two words each: the second undoes what the first did to the hash, so that all are equal
    from there on."""
    rng = np.random.default_rng(3)
    found: list[np.ndarray] = []
    wanted = U64(0x0101010101010101)
    while sum(map(len, found)) < count:
        first = rng.integers(32, 127, (1 << 19, 8), np.uint8).view(U64)[:, 0]
        after = _mixed(U64(16 * FIBONACCI % _WORD) ^ first) * U64(FIBONACCI)
        second = after ^ wanted
        good = (second & _ASCII) == 0 if ascii_only else np.ones(len(second), bool)
        found.append(np.stack([first[good], second[good]], axis=1))
    return np.concatenate(found)[:count]


def texts(count: int) -> pa.Array:
    """Of one hash of 64 bits."""
    return pa.array([half.tobytes().decode("ascii") for half in _halves(count, True)])


def binaries(count: int) -> pa.Array:
    """Of one hash of 64 bits."""
    return pa.array([half.tobytes() for half in _halves(count, False)], pa.binary())


def integers(count: int) -> pa.Array:
    """Of one bucket of a table: the highest bits of their products are zero."""
    return pa.array((np.arange(count, dtype=U64) * _BACK).view(np.int64))


def integers_of_known_salt(count: int) -> pa.Array:
    """Of one bucket of today's tables, if the salt were `KNOWN`."""
    back = U64(pow(int(KNOWN.multiplier), -1, _WORD))
    return pa.array((np.arange(count, dtype=U64) * back).view(np.int64))


def pairs(count: int) -> tuple[pa.Array, pa.Array]:
    """Two whole numbers each, of one hash of 64 bits together."""
    second = np.arange(count, dtype=U64)
    first = (_mixed(second) ^ U64(7)) * _BACK
    return pa.array(first.view(np.int64)), pa.array(second.view(np.int64))


def decimals(count: int) -> pa.Array:
    """Of one hash of 64 bits: their halves are such pairs."""
    low, high = (half.to_numpy().view(U64) for half in pairs(count))
    values = [Decimal(int(h) * _WORD + int(w)) for w, h in zip(low, high, strict=True)]
    return pa.array(values, pa.decimal128(38, 0))


def for_one_bucket(count: int, buckets: int) -> pa.Array:
    """Whole numbers that earlier versions sent to the first of so many buckets."""
    numbers = np.arange(4 * count * buckets, dtype=U64)
    return pa.array(numbers[_mixed(numbers) % U64(buckets) == 0][:count].view(np.int64))


def for_arrow(count: int) -> pa.Array:
    """Whole numbers of one hash in Arrow's group_by, which multiplies by a number of its own and has no salt."""
    back = U64(pow(11400714785074694791, -1, _WORD))
    return pa.array((np.arange(count, dtype=U64) * back).view(np.int64))
