"""The scenarios, one small function each. They differ in what an order gains and in whether the best order changes.

`paper`: n = 8, four filters of cost 1 and four of cost 10, selectivity 50 %, correlation factor 2 (a-greedy, sections
9.2 and 9.3). `wide`: the same with 30 more columns. `drift`: group selectivities permuted as in section 9.4. `calm`:
nothing can be gained. `free`: predicates that cost next to nothing. `example6`: section 6.1. `logs` is in `log_checks`.

Each function takes the number of rows and the number of steps per unit of cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bench.check import Check
from bench.scenario import Bits, Phase, Scenario, truth_table
from bench.work import bit_of

AGREE = 0.8
"""The share of rows on which the filters of one group agree (a-greedy, section 9.2)."""
CHEAP, EXPENSIVE = 1, 10
DRIFT_SELECTIVITIES = (0.2, 0.4, 0.6, 0.8)
DRIFT_SQUARES = 2
"""The number of Latin squares. Each has four phases, so there are eight phases."""
CALM_SELECTIVITIES = (0.35, 0.45, 0.55, 0.65)
MORE_COLUMNS = 30
SEED = 20040613


def group(rng: np.random.Generator, rows: int, selectivity: float) -> Bits:
    """Return two filters of equal selectivity that agree on 80 % of the rows, as one column each."""
    apart = (1.0 - AGREE) / 2  # P(10) = P(01)
    draw = rng.random(rows)
    both = draw < selectivity - apart  # P(11); the rest up to 1, 0.9 - selectivity, is P(00)
    first = draw < selectivity
    second = both | ((draw >= selectivity) & (draw < selectivity + apart))
    return np.stack([first, second], axis=1)


def groups(rng: np.random.Generator, rows: int, selectivities: Sequence[float]) -> Bits:
    """Return groups of two filters; the groups are independent of each other."""
    return np.concatenate([group(rng, rows, s) for s in selectivities], axis=1)


def paper_expensive_first(rows: int, steps: float) -> Scenario:
    """The filters of section 9.2, with the expensive ones written first: a bad order."""
    return _bits("paper-expensive-first", _paper(rows), (EXPENSIVE,) * 4 + (CHEAP,) * 4, steps)


def paper_cheap_first(rows: int, steps: float) -> Scenario:
    """The same filters, with the cheap ones written first: nearly the best order."""
    return _bits("paper-cheap-first", _paper(rows), (CHEAP,) * 4 + (EXPENSIVE,) * 4, steps)


def wide(rows: int, steps: float) -> Scenario:
    """`paper-expensive-first` with more columns, which no predicate reads."""
    rng = np.random.default_rng(SEED + 1)
    words = pa.array([f"word-{n:05d}-{'x' * (n % 13)}" for n in range(1_000)])
    more: dict[str, pa.Array] = {}
    for k in range(MORE_COLUMNS):
        if k % 3 == 0:
            more[f"more_{k}"] = words.take(pa.array(rng.integers(0, len(words), rows)))
        elif k % 3 == 1:
            more[f"more_{k}"] = pa.array(rng.integers(0, 1 << 20, rows))
        else:
            more[f"more_{k}"] = pa.array(rng.integers(0, 1 << 16, rows) / 256.0)
    return _bits("wide", _paper(rows), (EXPENSIVE,) * 4 + (CHEAP,) * 4, steps, more=more)


def drift(rows: int, steps: float) -> Scenario:
    """Costs as in `paper`; the selectivity of each group changes at every phase."""
    rng = np.random.default_rng(SEED + 2)
    changes = balanced(rng, DRIFT_SELECTIVITIES, DRIFT_SQUARES)
    length = rows // len(changes)
    phases = tuple(Phase(i * length, length) for i in range(len(changes)))
    passed = np.concatenate([groups(rng, length, chosen) for chosen in changes])
    return _bits("drift", passed, (EXPENSIVE,) * 4 + (CHEAP,) * 4, steps, phases=phases)


def calm(rows: int, steps: float) -> Scenario:
    """Independent filters, already in the best order: by cost per dropped row."""
    rng = np.random.default_rng(SEED + 3)
    passed = np.stack([rng.random(rows) < s for s in CALM_SELECTIVITIES * 2], axis=1)
    return _bits("calm", passed, (CHEAP,) * 4 + (EXPENSIVE,) * 4, steps)


def example6(rows: int, steps: float) -> Scenario:
    """All filters but the last contain 1..49 and the last 50..100: Independent puts it last, where it saves nothing."""
    x = np.random.default_rng(SEED + 4).integers(1, 101, rows)
    passed = np.stack([x <= 49] * 7 + [x >= 50], axis=1)
    return _bits("example6", passed, (1,) * 8, steps)


def free(count: int, rows: int, steps: float) -> Scenario:
    """Comparisons that cost less than a call: nothing can be gained."""
    rng = np.random.default_rng(SEED + 5)
    table = pa.table(
        {"id": pa.array(np.arange(rows))} | {f"x{k}": pa.array(rng.integers(0, 100, rows)) for k in range(count)}
    )
    checks = tuple(Check(f"f{k}", (f"x{k}",), partial(above, least=50), units=1.0) for k in range(count))
    return Scenario(f"free-{count}", table, checks, truth_table(table, checks), (Phase(0, rows),))


def above(values: pa.Array, *, least: int) -> pa.Array:
    """Whether values are at least `least`: the predicate of `free`."""
    return pc.greater_equal(values, least)


def balanced(rng: np.random.Generator, values: Sequence[float], squares: int) -> list[tuple[float, ...]]:
    """Return random permutations in which every value changes its place each time and has every place equally often.

    They are the rows of random Latin squares. With freely drawn permutations, one fixed order can be nearly the best
    for many phases by luck, and the scenario then measures nothing.
    """
    n = len(values)
    made: list[tuple[float, ...]] = []
    while len(made) < squares * n:
        rows, columns, symbols = rng.permutation(n), rng.permutation(n), rng.permutation(np.array(values)).tolist()
        square = [tuple(symbols[(i + j) % n] for j in columns) for i in rows]
        if not made or all(a != b for a, b in zip(made[-1], square[0], strict=True)):
            made += square
    return made


def _paper(rows: int) -> Bits:
    return groups(np.random.default_rng(SEED), rows, (0.5,) * 4)


def _bits(
    name: str,
    passed: Bits,
    units: Sequence[int],
    steps: float,
    *,
    phases: tuple[Phase, ...] | None = None,
    more: dict[str, pa.Array] | None = None,
) -> Scenario:
    """A scenario whose outcomes are bits of one column. Names: d0 to d3 expensive, c0 to c3 cheap."""
    rows, n = passed.shape
    bits: NDArray[np.int64] = passed.astype(np.int64) @ (1 << np.arange(n))
    table = pa.table({"id": pa.array(np.arange(rows)), "bits": pa.array(bits)} | (more or {}))
    checks = tuple(
        Check(
            f"{'d' if cost == EXPENSIVE else 'c'}{k % 4 if EXPENSIVE in units else k}", ("bits",),
            partial(bit_of, k=k, steps=round(cost * steps)), float(cost),
        )
        for k, cost in enumerate(units)
    )  # fmt: skip
    return Scenario(name, table, checks, passed, phases or (Phase(0, rows),))
