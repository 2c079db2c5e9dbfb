"""The lattice of partitions, compared with the paper's example and with brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from thalweg.optimizer.mesh.partitions import (
    Partition,
    neighbors,
    of_labels,
    partitions,
    random_neighbor,
    random_partition,
    written,
)

EXAMPLE_2 = "1234 1/234 2/134 3/124 4/123 12/34 13/24 14/23 12/3/4 1/23/4 1/2/34 13/2/4 14/2/3 24/1/3 1/2/3/4"


def test_example_2_has_fifteen_partitions() -> None:
    expected = {frozenset(text.split("/")) for text in EXAMPLE_2.split()}
    found = [frozenset(written(partition).split("/")) for partition in partitions(4)]
    assert len(found) == len(expected) == 15
    assert set(found) == expected


@pytest.mark.parametrize(("n", "bell"), [(1, 1), (2, 2), (3, 5), (5, 52), (8, 4_140)])
def test_there_are_as_many_partitions_as_bell_numbers_say(n: int, bell: int) -> None:
    found = list(partitions(n))
    assert len(found) == len(set(found)) == bell
    assert all(sum(partition) == 2**n - 1 for partition in found)


def one_step_apart(one: Partition, other: Partition) -> bool:
    """Whether one split leads from one to the other: written with sets, independently of the code."""
    fewer, more = sorted((set(one), set(other)), key=len)
    return len(fewer - more) == 1 and len(more - fewer) == 2


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_neighbors_are_one_split_or_merge_away(n: int) -> None:
    everything = list(partitions(n))
    for partition in everything:
        found = list(neighbors(partition))
        assert len(found) == len(set(found))
        assert set(found) == {other for other in everything if one_step_apart(partition, other)}


@pytest.mark.parametrize("most", [2, 3, 5])
def test_random_neighbors_are_neighbors_and_all_are_drawn(most: int) -> None:
    rng = np.random.default_rng(0)
    for partition in partitions(5):
        if len(partition) > most:
            continue
        allowed = {other for other in neighbors(partition) if len(other) <= most}
        drawn = {random_neighbor(partition, rng, most) for _ in range(60 * len(allowed) + 10)}
        assert drawn == allowed


def test_a_single_tuple_has_no_neighbor() -> None:
    assert random_neighbor((1,), np.random.default_rng(0), 8) is None
    assert random_neighbor((0b11,), np.random.default_rng(0), 1) is None


def test_random_partitions_have_no_more_subsets_than_allowed() -> None:
    rng = np.random.default_rng(0)
    sizes = {len(random_partition(12, rng, 4)) for _ in range(300)}
    assert sizes == {1, 2, 3, 4}


def test_labels_make_the_partition_of_equal_labels() -> None:
    for labels in product(range(3), repeat=4):
        subsets = {frozenset(t for t in range(4) if labels[t] == label) for label in labels}
        assert {frozenset(t for t in range(4) if s >> t & 1) for s in of_labels(labels)} == subsets
