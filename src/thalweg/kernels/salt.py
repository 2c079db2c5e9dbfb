"""The secret numbers that hashes of keys are keyed with: who does not know them cannot choose keys that collide.

Tables of windows use multiplicative hashing: the highest bits of a key times an odd number. If the number is drawn, two
keys get one of m buckets with a probability of at most 2 / m, whatever the keys are, so that chains are short also for
chosen keys. Some numbers are bad for keys in steps, such as consecutive ids or times in whole seconds: these would
share few buckets. So numbers are drawn until one is good for the usual steps; about one in 200 is. For such a number
the bound is measured, not proved.

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
"""Between keys, for which a multiplier must be good."""
STEP_KEYS = 1 << 20
"""As many keys in steps are spread well."""
MOST_QUOTIENT = 16
"""Of a multiplier's continued fraction. Golden: 1. The larger, the more keys in steps share a bucket."""


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
        return cls._of(secrets.token_bytes(32))

    @classmethod
    def of(cls, name: str) -> Salt:
        """The same for the same name, in every process. As secret as the name is."""
        return cls._of(hashlib.blake2b(name.encode(), digest_size=32, person=b"thalweg salt").digest())

    @classmethod
    def of_seed(cls, seed: int | None) -> Salt:
        """Of a setting: the same for the same seed; None: a new one."""
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
        """As plain numbers: NumPy's own scalars are large when pickled."""
        return _made, (int(self.one), int(self.other), int(self.multiplier))


def spreads(multiplier: int) -> bool:
    """Whether the multiples of a number, modulo 2^64, are spread evenly: no quotient of its continued fraction is
    large.

    >>> spreads(0x9E3779B97F4A7C15), spreads(2**63 + 1), spreads(0)
    (True, False, False)
    """
    whole, part = 1 << 64, multiplier % (1 << 64)
    before, count = 0, 1  # denominators of convergents: after as many keys the next is close to the first
    while count < STEP_KEYS:
        if not part or whole // part > MOST_QUOTIENT:
            return False
        before, count = count, before + whole // part * count
        whole, part = part, whole % part
    return True


def _made(one: int, other: int, multiplier: int) -> Salt:
    return Salt(np.uint64(one), np.uint64(other), np.uint64(multiplier))


NO_SALT = Salt(np.uint64(0), np.uint64(0), np.uint64(0x9E3779B97F4A7C15))
"""Known to everybody: for simulations that count, and where keys are nobody else's. The multiplier is that of Fibonacci
hashing (2^64 divided by the golden ratio; Knuth, TAOCP volume 3, section 6.4)."""
