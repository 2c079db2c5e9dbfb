"""Condense sampled rows to a few training tuples.

Answers: a training set of at most so many tuples that says which rows have which outcomes (`condense`).
How: every column is divided into categories. The columns that say most about outcomes are taken, one or two at first
(a pair may say much if neither column alone does), then one by one, as long as they explain more than noise would. If
no column does, there is one training tuple, and one route. The cells are the combinations of the categories. Cells with
similar outcomes become one training tuple.
Guarantee: every sampled row belongs to one training tuple. The densities add up to the weights of the rows. There are
at most `most` tuples, and cells, texts and their lengths are bounded, however many values there are.
Cost: O(columns^2 * rows * filters).
Differs from the paper: it refers to others for condensing. A training tuple has the outcomes of all its rows.

>>> values = {"source": pa.array(["web"] * 30 + ["app"] * 30)}
>>> passes = np.repeat([[0.0, 1.0], [1.0, 0.0]], 30, axis=0)
>>> training = condense(Sample(values, passes, np.ones(60)))
>>> len(training), training.density.tolist(), training.means.tolist()
(2, [30.0, 30.0], [[0.0, 1.0], [1.0, 0.0]])

Reference: Nehme et al. 2013, sections 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from thalweg.optimizer.mesh.categories import DEVIATIONS, SHRUNK_BY, Codes, Column, categories, sharpen
from thalweg.optimizer.mesh.clustering import ward
from thalweg.stats.training_set import TrainingSet, effective_rows, sums_by

__all__ = ["Sample", "TrainingSet", "condense"]

Numbers = NDArray[np.float64]
MOST_CELLS = 128
"""The most cells, so that those of a usual sample of 1,000 rows have some rows each."""
MOST_COLUMNS = 8
"""The most columns of which pairs are tried: those that say most by themselves."""


@dataclass(frozen=True)
class Sample:
    """Sampled rows with their outcomes."""

    values: Mapping[str, pa.Array]
    """By classifier column, one value per row."""
    passes: Numbers
    """Rows by filters: 1 if the row passes, 0 if it is dropped, else the probability that it passes."""
    weights: Numbers
    """How many rows of the stream each row stands for."""


def condense(sample: Sample, most: int = 16, parts: int = 4) -> TrainingSet:
    """Condense sampled rows to training tuples.

    Parameters
    ----------
    sample
        The rows.
    most
        The most training tuples.
    parts
        The ranges of a column of numbers. If it is the only column, there are twice as many.

    Returns
    -------
    TrainingSet
        The training tuples. Without rows, or if no column explains more than noise does, it is one tuple.
    """
    passes, weights = np.asarray(sample.passes, np.float64), np.asarray(sample.weights, np.float64)
    alone = len(sample.values) == 1
    groups = max(most - 2 if alone else most // 2, 1)
    made = [categories(name, values, passes, weights, groups, parts) for name, values in sample.values.items()]
    columns = [column for column in made if column is not None] if len(weights) and weights.sum() > 0.0 else []
    chosen = _chosen(columns, passes, weights)
    chosen = _sharpened(chosen, passes, weights, parts if len(chosen) > 1 else 2 * parts)
    cells, cell_of_row = _cells(chosen, len(weights))
    density = sums_by(cell_of_row, weights, len(cells))
    tuple_of_cell = np.zeros(len(cells), np.int64)
    if len(cells) > 1:
        tuple_of_cell = _merged(cell_of_row, density, passes, weights, most)
    return TrainingSet(
        tuple(column.axis for column in chosen), cells, density, tuple_of_cell, passes, weights,
        tuple_of_cell[cell_of_row],
    )  # fmt: skip


def _chosen(columns: Sequence[Column], passes: Numbers, weights: Numbers) -> list[Column]:
    # groups of texts explain more than the texts do by chance, because they were made to
    optimism = [
        0.0 if column.ungrouped is None
        else _explained(column.codes, passes, weights) - _explained(column.ungrouped, passes, weights)
        for column in columns
    ]  # fmt: skip

    def score(places: tuple[int, ...]) -> float:
        if np.prod([_size(columns[i]) for i in places]) > MOST_CELLS:
            return -np.inf
        explained = _explained(_cells([columns[i] for i in places], len(weights))[1], passes, weights)
        return explained - sum(optimism[i] for i in places)

    scores: dict[tuple[int, ...], float] = {(): 0.0} | {(i,): score((i,)) for i in range(len(columns))}
    tried = sorted(range(len(columns)), key=lambda i: -scores[i,])[:MOST_COLUMNS]
    scores |= {pair: score(pair) for pair in combinations(tried, 2)}
    best = max(scores, key=scores.__getitem__)
    while True:
        more = {(*best, i): score((*best, i)) for i in tried if i not in best}
        if not more or max(more.values()) <= scores[best]:
            return [columns[i] for i in sorted(best)]
        scores |= more
        best = max(more, key=more.__getitem__)


def _size(column: Column) -> int:
    return len(np.unique(column.codes))


def _explained(cell_of_row: Codes, passes: Numbers, weights: Numbers) -> float:
    """Return the variance of outcomes that cells explain, without what noise would explain."""
    total = float(weights.sum())
    cells = int(cell_of_row.max()) + 1
    within = np.maximum(sums_by(cell_of_row, weights, cells), 1e-300)
    mean = weights @ passes / total
    variance = weights @ (passes - mean) ** 2 / total
    explained = 0.0
    for k in range(passes.shape[1]):
        sums = sums_by(cell_of_row, weights * (passes[:, k] - mean[k]), cells)
        explained += float((sums * sums / within).sum()) / total
    rows = max(effective_rows(weights), 1.0)
    noise = (cells - 1) * float(variance.sum()) / rows
    # filters may be correlated: at worst, all deviate together
    deviation = float(np.sqrt(2.0 * (cells - 1))) * float(variance.sum()) / rows
    return explained - noise - DEVIATIONS * deviation


def _sharpened(columns: Sequence[Column], passes: Numbers, weights: Numbers, parts: int) -> list[Column]:
    """Move the cuts of columns of numbers, twice if there are several, because cuts of one depend on the others'."""
    found = list(columns)
    numbers = [i for i, column in enumerate(found) if column.floats is not None]
    for i in numbers * (1 if len(numbers) == 1 else 2):
        others = _cells([column for j, column in enumerate(found) if j != i], len(weights))[1]
        found[i] = sharpen(found[i], others, passes, weights, parts)
    return found


def _cells(columns: Sequence[Column], rows: int) -> tuple[Codes, Codes]:
    """Return the occupied combinations of categories, and the combination of each row."""
    if not columns or not rows:
        return np.zeros((1, len(columns)), np.int64), np.zeros(rows, np.int64)
    combined = np.zeros(rows, np.int64)
    for column in columns:
        combined = combined * (column.axis.size + 2) + column.codes
    _, first, cell_of_row = np.unique(combined, return_index=True, return_inverse=True)
    return np.stack([column.codes[first] for column in columns], axis=1), cell_of_row.reshape(-1)


def _merged(cell_of_row: Codes, density: Numbers, passes: Numbers, weights: Numbers, most: int) -> Codes:
    """Return the training tuple of each cell."""
    if len(density) <= most:
        return np.arange(len(density))
    sums = [sums_by(cell_of_row, weights * passes[:, k], len(density)) for k in range(passes.shape[1])]
    shrunk = SHRUNK_BY * float(weights.mean())
    mean = weights @ passes / weights.sum()
    means = (np.stack(sums, axis=1) + shrunk * mean) / (density + shrunk)[:, None]
    return ward(means, density, most)
