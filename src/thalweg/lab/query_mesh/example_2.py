"""The partitions of four training tuples, and equation 1 (query-mesh, section 4.3, example 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from thalweg.lab.claim import Number, Statement, judged
from thalweg.lab.experiment import Experiment, Outcome, Track
from thalweg.optimizer.mesh.partitions import Partition, canonical, neighbors, partitions, written

PRINTED = ("1234", "1/234", "2/134", "3/124", "4/123", "12/34", "13/24", "14/23", "12/3/4", "1/23/4", "1/2/34",
           "13/2/4", "14/2/3", "24/1/3", "1/2/3/4")  # fmt: skip
NUMBER = Number("partitions of four training tuples", "example 2: 15", 15.0, exact=True)


def read(text: str) -> Partition:
    """Return a partition that is written as the paper writes it.

    >>> read("24/13")
    (5, 10)
    """
    return canonical(sum(1 << int(digit) - 1 for digit in subset) for subset in text.split("/"))


def equation_1(n: int, as_printed: bool) -> float:
    """Return the Bell number of equation 1, with the binomial coefficient as printed or as it is meant.

    >>> equation_1(4, as_printed=False)
    15.0
    """
    total = 0.0
    for k in range(1, n + 1):
        terms = ((-1) ** (k - j) * math.comb(n if as_printed else k, j) * j**n for j in range(1, k + 1))
        total += sum(terms) / math.factorial(k)
    return total


@dataclass(frozen=True)
class Results:
    """What was enumerated and computed."""

    found: tuple[Partition, ...]
    by_equation: dict[int, tuple[float, float]]
    """For each number of tuples, equation 1 as printed and as meant."""
    counted: dict[int, int]
    """The number of partitions, enumerated."""


CLAIMS: tuple[Statement[Results], ...] = (
    Statement(
        "the fifteen partitions are those that the paper lists",
        "example 2",
        holds=lambda r: {read(text) for text in PRINTED} == set(r.found) and len(r.found) == len(PRINTED),
        measured=lambda r: f"{len(r.found)}: {', '.join(map(written, r.found))}",
    ),
    Statement(
        "24/13 and 24/1/3 are neighbors",
        "example 2",
        holds=lambda r: read("24/1/3") in set(neighbors(read("24/13"))),
        measured=lambda r: (
            f"24/13 has {len(set(neighbors(read('24/13'))))} neighbors: "
            + ", ".join(sorted(map(written, neighbors(read("24/13")))))
        ),
    ),
    Statement(
        "equation 1 gives the number of partitions",
        "equation 1, as printed, with C(n, j)",
        holds=lambda r: all(printed == r.counted[n] for n, (printed, _) in r.by_equation.items()),
        measured=lambda r: "; ".join(
            f"n = {n}: {printed:g} as printed, {meant:g} with C(k, j), {r.counted[n]} enumerated"
            for n, (printed, meant) in r.by_equation.items()
        ),
        why="an erratum: a Stirling number has the binomial coefficient C(k, j). With it, equation 1 gives the number "
        "of partitions.",
    ),
)


def measure(quick: bool, track: Track) -> Outcome:
    """Enumerate the partitions of four, six and eight tuples."""
    sizes = (4, 6, 8)
    results = Results(
        tuple(partitions(4)),
        {n: (equation_1(n, True), equation_1(n, False)) for n in sizes},
        {n: sum(1 for _ in partitions(n)) for n in track(sizes)},
    )
    return Outcome([NUMBER.judge(float(len(results.found))), *judged(CLAIMS, results)])


EXPERIMENT = Experiment(
    title="the partitions of four training tuples", reference="section 4.3, example 2, equation 1", measure=measure
)
