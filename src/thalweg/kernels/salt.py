"""The secret numbers that key the hashes of join and group keys, so that an attacker cannot choose keys that collide.

Hash tables of windows use multiplicative hashing: the highest bits of a key times an odd number. If the number is
random, two keys share one of m buckets with a probability of at most 2 / m, whatever the keys are. So chains are short
even for chosen keys. Some numbers are bad for keys in steps, such as consecutive ids or times in whole seconds: these
would share few buckets. So numbers are drawn until one is good for the usual steps; about one in 200 is. For such a
number the bound is measured, not proved.

Reference: Dietzfelbinger, Hagerup, Katajainen, Penttonen: A Reliable Randomized Algorithm for the Closest-Pair Problem.
Journal of Algorithms 25, 1997; Knuth: TAOCP volume 3, section 6.4 (steps and continued fractions).

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

STEPS = (1, 10, 1000, 1_000_000)
"""Steps between keys for which a multiplier must be good."""
STEP_KEYS = 1 << 20
"""The number of keys in steps that must be spread evenly."""
MOST_QUOTIENT = 16
"""The largest quotient allowed in a multiplier's continued fraction.

The golden ratio has 1. The larger it is, the more keys in steps share a bucket."""


@dataclass(frozen=True, slots=True)
class Salt:
    """128 bits for the hashes of texts, bytes, decimals and several columns; 64 bits for the tables of windows."""

    one: np.uint64
    other: np.uint64
    multiplier: np.uint64
    """An odd number, which multiplicative hashing requires."""

    @classmethod
    def drawn(cls) -> Salt:
        """Return a new salt from the operating system's source of randomness."""
        return cls._of(secrets.token_bytes(32))

    @classmethod
    def of(cls, name: str) -> Salt:
        """Return the salt of a name, the same in every process. It is as secret as the name."""
        return cls._of(hashlib.blake2b(name.encode(), digest_size=32, person=b"thalweg salt").digest())

    @classmethod
    def of_seed(cls, seed: int | None) -> Salt:
        """Return the salt of a seed; None draws a new salt."""
        return cls.drawn() if seed is None else cls.of(f"seed {seed}")

    @classmethod
    def _of(cls, secret: bytes) -> Salt:
        one, other = np.frombuffer(secret[:16], "<u8")
        draws = np.random.default_rng(int.from_bytes(secret[16:]))
        while True:
            for odd in (draws.integers(0, 2**63, 256, np.uint64) * 2 + 1).tolist():
                if all(spreads(odd * step) for step in STEPS):
                    return cls(np.uint64(one), np.uint64(other), np.uint64(odd))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as Python integers, because NumPy scalars are large when pickled."""
        return _made, (int(self.one), int(self.other), int(self.multiplier))


def spreads(multiplier: int) -> bool:
    """Whether the multiples of a number, modulo 2^64, are spread evenly.

    They are if no quotient of its continued fraction is large.

    >>> spreads(0x9E3779B97F4A7C15), spreads(2**63 + 1), spreads(0)
    (True, False, False)
    """
    whole, part = 1 << 64, multiplier % (1 << 64)
    before, count = 0, 1  # denominators of convergents: after that many keys, the next one is close to the first
    while count < STEP_KEYS:
        if not part or whole // part > MOST_QUOTIENT:
            return False
        before, count = count, before + whole // part * count
        whole, part = part, whole % part
    return True


def _made(one: int, other: int, multiplier: int) -> Salt:
    return Salt(np.uint64(one), np.uint64(other), np.uint64(multiplier))


NO_SALT = Salt(np.uint64(0), np.uint64(0), np.uint64(0x9E3779B97F4A7C15))
"""A salt that is not secret, for simulations that count, and for keys that no other party can choose.

The multiplier is that of Fibonacci hashing (2^64 divided by the golden ratio; Knuth, TAOCP volume 3, section 6.4)."""
