"""Divide a classifier column into categories: groups of texts with similar outcomes, and ranges of numbers.

Texts: a value that at least `LEAST_ROWS` sampled rows have is known, the rest are others. If there are more known
values than groups, values with similar outcomes are one group: the most frequent are clustered, and then every value
goes to the group under which its outcomes are most likely. So 200 values of four classes need four groups.
Numbers: quantile ranges. `sharpen` moves the cuts to where the outcomes change, given the categories of the other
columns: the best cuts among `FINE` quantiles, by dynamic programming (Fisher 1958), and then among values near these.
Cuts that explain no more than noise does are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.optimizer.mesh.clustering import likeliest, ward
from thalweg.optimizer.mesh.column_values import as_floats, column_codes, decoded, kind_of, text_keys
from thalweg.stats.training_set import Axis, effective_rows, sums_by

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]
LEAST_ROWS = 3
"""A text that fewer sampled rows have is one of the others."""
MOST_VALUES = 256
"""The most texts of a column that are known, so that trees stay small."""
CLUSTERED = 64
"""The most frequent texts, which make the groups."""
ROUNDS = 3
"""How often all texts are assigned to groups anew."""
FINE, CLOSER = 64, 32
"""Quantile ranges between which cuts may be, and then, around each cut, between which they are moved."""
DEVIATIONS = 3.0
"""A cut, or a column, counts if it explains more than noise does, by so many standard deviations."""
SHRUNK_BY = 2.0
"""Outcomes of few rows are shrunk as if so many more rows had the outcomes of all."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the sample with its categories."""

    axis: Axis
    codes: Codes
    """The category of each row."""
    floats: Numbers | None = None
    """Of numbers and times."""
    ungrouped: Codes | None = None
    """Of texts that were grouped by outcomes: the categories before."""


def categories(
    name: str, values: pa.Array, passes: Numbers, weights: Numbers, groups: int, parts: int
) -> Column | None:
    """Divide a column.

    Parameters
    ----------
    name
        The name of the column.
    values
        Its values.
    passes
        Rows by filters: the outcomes.
    weights
        The weights of the rows.
    groups
        The most groups of texts.
    parts
        The most ranges of numbers.

    Returns
    -------
    Column or None
        None if values of this type cannot be compared.
    """
    values = decoded(values)
    kind = kind_of(values.type)
    if kind is None:
        return None
    if kind == "bool":
        axis = Axis(name, kind, groups=((False,), (True,)))
        return Column(axis, column_codes(values, kind, (False, True), ()))
    if kind == "text":
        return _texts(name, values, passes, weights, groups)
    floats = as_floats(values)
    return ranges(Axis(name, kind), floats, quantile_cuts(floats, parts))


def ranges(axis: Axis, floats: Numbers, cuts: tuple[float, ...]) -> Column:
    """Return a column of numbers with these cuts."""
    codes = np.searchsorted(np.asarray(cuts), floats, side="left")
    codes[np.isnan(floats)] = len(cuts) + 1
    return Column(Axis(axis.column, axis.kind, cuts=cuts), codes, floats)


def quantile_cuts(floats: Numbers, parts: int) -> tuple[float, ...]:
    """Return the cuts between ranges with about as many rows each.

    >>> quantile_cuts(np.array([1.0, 2.0, 3.0, 4.0, np.nan]), 2), quantile_cuts(np.zeros(5), 4)
    ((2.5,), ())
    """
    known = np.sort(floats[~np.isnan(floats)])
    places = {round(len(known) * i / parts) for i in range(1, parts)}
    cuts = set()
    for place in places:
        if 0 < place < len(known):
            low = known[place - 1]
            higher = known[np.searchsorted(known, low, side="right") :]
            if len(higher):
                cuts.add(_between(float(low), float(higher[0])))
    return tuple(sorted(cuts))


def _between(low: float, high: float) -> float:
    middle = low + (high - low) / 2.0
    return middle if low <= middle < high else low  # also if one is infinite


def sharpen(column: Column, others: Codes, passes: Numbers, weights: Numbers, parts: int) -> Column:
    """Move the cuts of a column of numbers to where outcomes change, within the categories of the other columns."""
    floats = column.floats
    assert floats is not None, "a column of numbers"
    fine = quantile_cuts(floats, FINE)
    chosen = _best_cuts(fine, floats, others, passes, weights, parts)
    closer: set[float] = set()
    for place in chosen:  # look closer, between the fine cuts beside each of them
        low = fine[place - 1] if place else -np.inf
        high = fine[place + 1] if place + 1 < len(fine) else np.inf
        closer.update(quantile_cuts(floats[(floats > low) & (floats <= high)], CLOSER), (fine[place],))
    finer = tuple(sorted(closer))
    cuts = _best_cuts(finer, floats, others, passes, weights, len(chosen) + 1)
    return ranges(column.axis, floats, tuple(finer[place] for place in cuts))


def _best_cuts(
    fine: Sequence[float], floats: Numbers, others: Codes, passes: Numbers, weights: Numbers, parts: int
) -> list[int]:
    """Return which of the fine cuts divide the outcomes best, at most `parts` - 1, by dynamic programming."""
    known = ~np.isnan(floats)
    if not fine or not known.any():
        return []
    mean = weights @ passes / weights.sum()
    sizes = len(fine) + 1, int(others.max()) + 1
    places = np.searchsorted(np.asarray(fine), floats[known], side="left") * sizes[1] + others[known]
    heavy = weights[known]
    off = (passes[known] - mean) * heavy[:, None]
    # what is below each fine cut, by category of the others
    below = np.zeros((sizes[0] + 1, sizes[1], passes.shape[1] + 1))
    for k in range(passes.shape[1]):
        below[1:, :, k] = sums_by(places, off[:, k], sizes[0] * sizes[1]).reshape(sizes)
    below[1:, :, -1] = sums_by(places, heavy, sizes[0] * sizes[1]).reshape(sizes)
    below = below.cumsum(axis=0)
    shrunk = SHRUNK_BY * float(weights.mean())
    explained = np.full((sizes[0] + 1, sizes[0] + 1), -np.inf)
    for i in range(sizes[0]):
        inside = below[i + 1 :] - below[i]
        explained[i, i + 1 :] = ((inside[:, :, :-1] ** 2).sum(axis=2) / (inside[:, :, -1] + shrunk)).sum(axis=1)
    # what a cut that means nothing would explain: a cell more in each category of the others
    variance = float((weights @ (passes - mean) ** 2).sum()) / effective_rows(weights)
    cells = len(np.unique(others))
    noise = (cells + DEVIATIONS * (2.0 * cells) ** 0.5) * variance
    best = explained[0]
    scores, before = [float(best[-1])], []
    for number in range(1, min(parts, sizes[0])):
        through = best[:, None] + explained
        before.append(through.argmax(axis=0))
        best = through.max(axis=0)
        scores.append(float(best[-1]) - number * noise)
    cuts, at = [], sizes[0]
    for came in reversed(before[: int(np.argmax(scores))]):
        at = int(came[at])
        cuts.append(at - 1)
    return cuts[::-1]


def _texts(name: str, values: pa.Array, passes: Numbers, weights: Numbers, groups: int) -> Column:
    encoded = pc.dictionary_encode(text_keys(values))
    distinct = len(encoded.dictionary)
    of_row = encoded.indices.fill_null(distinct).to_numpy(zero_copy_only=False).astype(np.int64)
    rows = np.bincount(of_row, minlength=distinct + 1)[:distinct]
    known = np.argsort(-rows, kind="stable")[:MOST_VALUES]
    known = known[rows[known] >= LEAST_ROWS]
    group_of, ungrouped = np.arange(len(known)), None
    if len(known) > groups:
        place = np.full(distinct + 1, len(known))
        place[known] = np.arange(len(known))
        ungrouped = place[of_row]
        group_of = _grouped(ungrouped, len(known), passes, weights, groups)
    size = int(group_of.max(initial=-1)) + 1
    code = np.full(distinct + 1, size + 1)
    code[known] = group_of
    code[distinct] = size  # null
    members: list[list[bytes]] = [[] for _ in range(size)]
    for value, group in zip(encoded.dictionary.take(pa.array(known)).to_pylist(), group_of.tolist(), strict=True):
        members[group].append(value)
    return Column(Axis(name, "text", groups=tuple(map(tuple, members))), code[of_row], ungrouped=ungrouped)


def _grouped(value_of_row: Codes, values: int, passes: Numbers, weights: Numbers, groups: int) -> Codes:
    """Return the group of each value, by outcomes. The values are sorted by frequency, the most frequent first."""
    scale = weights / max(float(weights.mean()), 1e-300)  # in rows
    rows = sums_by(value_of_row, scale, values + 1)[:values]
    columns = [sums_by(value_of_row, scale * passes[:, k], values + 1)[:values] for k in range(passes.shape[1])]
    passed = np.stack(columns, axis=1)
    mean = scale @ passes / scale.sum()
    shares = (passed + SHRUNK_BY * mean) / (rows + SHRUNK_BY)[:, None]
    first = min(values, CLUSTERED)
    group_of = ward(shares[:first], rows[:first], min(groups, first))
    for _ in range(ROUNDS):
        made = int(group_of.max()) + 1
        within = np.stack([sums_by(group_of, passed[: len(group_of), k], made) for k in range(passes.shape[1])], 1)
        total = sums_by(group_of, rows[: len(group_of)], made)
        clusters = (within + SHRUNK_BY * mean) / (total + SHRUNK_BY)[:, None]
        group_of = np.unique(likeliest(passed, rows, clusters), return_inverse=True)[1].reshape(-1)
    return group_of
