"""The lattice of partitions: the search space of query meshes.

A partition divides the training tuples into subsets, one per route. A subset is a bit mask; the subsets of a partition
are sorted by their lowest member. Two partitions are neighbors if one is the other with one subset split in two.
There are B(n) partitions of n tuples (Bell numbers): 15 for 4, 4,140 for 8, 115,975 for 10.
Differs from the paper: equation 1 means C(k, j), not C(n, j). 1234 is a neighbor of 1/234 too (example 3 omits it).

>>> " ".join(written(partition) for partition in partitions(3))
'123 12/3 13/2 1/23 1/2/3'
>>> sorted(written(other) for other in neighbors((0b0001, 0b1110)))
['1/2/34', '1/23/4', '1/24/3', '1234']

Reference: Nehme et al. 2013, section 4.3, examples 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

Partition = tuple[int, ...]


def canonical(subsets: Iterable[int]) -> Partition:
    """Return the partition into these subsets. Empty ones are left out."""
    return tuple(sorted((subset for subset in subsets if subset), key=lambda subset: subset & -subset))


def of_labels(labels: Iterable[int]) -> Partition:
    """Return the partition in which tuples with the same label are together.

    >>> written(of_labels([7, 3, 7]))
    '13/2'
    """
    subsets: dict[int, int] = {}
    for t, label in enumerate(labels):
        subsets[label] = subsets.get(label, 0) | 1 << t
    return canonical(subsets.values())


def written(partition: Partition) -> str:
    """Return a partition as the paper writes it, for up to nine tuples."""
    return "/".join("".join(str(t + 1) for t in range(s.bit_length()) if s >> t & 1) for s in partition)


def partitions(n: int) -> Iterator[Partition]:
    """Return all partitions of n tuples, in the order of their restricted growth strings."""

    def grow(t: int, subsets: list[int]) -> Iterator[Partition]:
        if t == n:
            yield tuple(subsets)
            return
        for i in range(len(subsets)):
            subsets[i] |= 1 << t
            yield from grow(t + 1, subsets)
            subsets[i] ^= 1 << t
        subsets.append(1 << t)
        yield from grow(t + 1, subsets)
        subsets.pop()

    yield from grow(0, [])


def neighbors(partition: Partition) -> Iterator[Partition]:
    """Return all partitions that one split or one merge leads to: 2^(n-1) - 1 splits of a subset of n tuples."""
    for i, subset in enumerate(partition):
        rest = partition[:i] + partition[i + 1 :]
        lowest = subset & -subset
        others = subset ^ lowest
        part = others
        while part:  # the part without the lowest member
            yield canonical((*rest, part, subset ^ part))
            part = (part - 1) & others
        for j in range(i):
            yield canonical((*(s for k, s in enumerate(partition) if k not in (i, j)), partition[j] | subset))


def random_neighbor(partition: Partition, rng: np.random.Generator, most: int) -> Partition | None:
    """Return a random neighbor with at most `most` subsets, in O(n), or None if there is none.

    A split or a merge is equally likely if both are possible. A split takes away one tuple as often as a random half.
    """
    draw = rng.random(4).tolist()
    large = [subset for subset in partition if subset & (subset - 1)] if len(partition) < most else []
    if len(partition) > 1 and (not large or draw[0] < 0.5):
        i = int(draw[1] * len(partition))
        j = (i + 1 + int(draw[2] * (len(partition) - 1))) % len(partition)
        rest = (subset for k, subset in enumerate(partition) if k not in (i, j))
        return canonical((*rest, partition[i] | partition[j]))
    if not large:
        return None
    subset = large[int(draw[1] * len(large))]
    members = [t for t in range(subset.bit_length()) if subset >> t & 1]
    members.pop(int(draw[2] * len(members)))  # stays, so that something is left
    if draw[3] < 0.5:
        part = 1 << members[int(draw[3] * 2 * len(members))]
    else:
        taken = rng.random(len(members)).tolist()
        most_likely = min(taken)  # at least one is taken
        part = sum(1 << t for t, u in zip(members, taken, strict=True) if u < 0.5 or u == most_likely)
    return canonical((*(other for other in partition if other != subset), part, subset ^ part))


def random_partition(n: int, rng: np.random.Generator, most: int) -> Partition:
    """Return a random partition of n tuples with at most `most` subsets."""
    return of_labels(rng.integers(int(rng.integers(1, min(n, most) + 1)), size=n).tolist())
