"""Bucket ids that Spark distributes evenly over its partitions.

Spark hashes the grouping key to a partition, so buckets 0, 1, 2... may share a partition while others stay empty. The
ids are the first whole numbers that fill as many partitions as there are buckets, one each; then they also fill any
multiple of them evenly. They do not depend on the number of partitions, which only the checkpoint knows when a query is
restarted. Every number of buckets has 0 among its ids, so that a checkpoint written with another number is detected.

>>> bucket_ids(2), bucket_ids(4)
((0, 2), (0, 2, 6, 12))
>>> [partition_of(i, 4) for i in bucket_ids(4)]
[3, 2, 1, 0]
"""

from __future__ import annotations

import itertools

SEED = 42
"""The seed that Spark uses for partitioning."""
_WORD = 0xFFFFFFFF


def bucket_ids(buckets: int) -> tuple[int, ...]:
    """Return the ids for this number of buckets."""
    ids: dict[int, int] = {}
    for candidate in itertools.count():
        if len(ids) == buckets:
            return tuple(ids.values())
        ids.setdefault(partition_of(candidate, buckets), candidate)
    raise AssertionError("unreachable")


def partition_of(number: int, partitions: int) -> int:
    """Return Spark's partition for rows grouped by this INT: MurmurHash3 (x86, 32 bits; Appleby, 2011), modulo."""
    signed = _murmur3(number)
    signed -= (signed & 0x80000000) << 1
    return signed % partitions


def _murmur3(number: int) -> int:
    k = (number & _WORD) * 0xCC9E2D51 & _WORD
    k = _rotated(k, 15) * 0x1B873593 & _WORD
    h = (_rotated(SEED ^ k, 13) * 5 + 0xE6546B64) & _WORD
    h ^= 4  # bytes
    h = (h ^ (h >> 16)) * 0x85EBCA6B & _WORD
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & _WORD
    return h ^ (h >> 16)


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD
