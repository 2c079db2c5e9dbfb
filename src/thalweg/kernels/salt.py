"""The secret numbers that hashes of keys are keyed with: who does not know them cannot choose keys that collide.

>>> Salt.of("a query") == Salt.of("a query"), Salt.of("a query") == Salt.of("another"), Salt.drawn() == Salt.drawn()
(True, False, False)
>>> bool(Salt.drawn().multiplier & np.uint64(1))
True
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np

_ODD = 1


@dataclass(frozen=True, slots=True)
class Salt:
    """128 bits for hashes of texts, bytes, decimals and several columns; 64 for the tables of windows."""

    one: np.uint64
    other: np.uint64
    multiplier: np.uint64
    """Odd, as multiplicative hashing needs it."""

    @classmethod
    def drawn(cls) -> Salt:
        """A new one, from the operating system's source of randomness."""
        return cls._from(secrets.token_bytes(24))

    @classmethod
    def of(cls, name: str) -> Salt:
        """The same for the same name, in every process. As secret as the name is."""
        return cls._from(hashlib.blake2b(name.encode(), digest_size=24, person=b"thalweg salt").digest())

    @classmethod
    def of_seed(cls, seed: int | None) -> Salt:
        """Of a setting: the same for the same seed; None: a new one."""
        return cls.drawn() if seed is None else cls.of(f"seed {seed}")

    @classmethod
    def _from(cls, data: bytes) -> Salt:
        one, other, multiplier = np.frombuffer(data, "<u8")
        return cls(np.uint64(one), np.uint64(other), np.uint64(int(multiplier) | _ODD))

    def __reduce__(self) -> tuple[Any, ...]:
        """As plain numbers: NumPy's own scalars are large when pickled."""
        return _made, (int(self.one), int(self.other), int(self.multiplier))


def _made(one: int, other: int, multiplier: int) -> Salt:
    return Salt(np.uint64(one), np.uint64(other), np.uint64(multiplier))


NO_SALT = Salt(np.uint64(0), np.uint64(0), np.uint64(0x9E3779B97F4A7C15))
"""Known to everybody: for simulations that count, and where keys are nobody else's. The multiplier is that of Fibonacci
hashing (2^64 divided by the golden ratio; Knuth, TAOCP volume 3, section 6.4)."""
