"""Chains drawn from a seed: the same seed and number give the same chain on every machine.

The twenty chains of a seed are balanced: for each property a deck of twenty cards is shuffled, and chain k gets card k.
So every group of the summary has chains, for any seed. Costs are redrawn until the best order needs the drawn
work within the allowed number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.generated import drift as drifts
from bench.generated.best import extreme_order, hindsight
from bench.generated.columns import data_files, read
from bench.generated.conditions import Real, draw_real
from bench.generated.drift import Drift
from bench.generated.made import Made, draw_made
from bench.generated.spec import Chain, Codes, Order, Part, Phase, as_written
from thalweg.cost.pipeline import alive_after, cheapest_order
from thalweg.runtime.filters.filter_loop import MOST_SLICE_ROWS

CHAINS = 20
"""The number of chains of a seed."""
EVALUATION_FROM = 1000
"""The first seed for evaluation; lower seeds are for development."""
LEAST_COST_NS, MOST_COST_NS, EXPENSIVE_NS = 60.0, 60_000.0, 1_000_000.0
LEAST_ROW_COST_NS = 300.0
"""The least cost of a function that is called once per row."""
FIXED_NS = {"none": (0.0, 0.0), "below 100 µs": (2_000.0, 100_000.0), "above 100 µs": (100_000.0, 1_000_000.0)}
LEAST_ROWS, MOST_ROWS, MANY_ROWS = 10_000, 4_000_000, 10_000_000
WORK_S, SHORT_WORK_S = (1.1, 2.0), (0.09, 0.11)
MOST_BATCHES = 5_000
"""The most batches; more would measure the cost of passing batches."""
PREVIEW_ROWS = 20_000
COST_TRIES, TRIES, MOST_TRIES = 12, 40, 80
NEAR_WORK, NEAR_LITTLE_WORK = 0.09, 0.3
"""The largest logarithm of the ratio of the work to the drawn work; few rows make it uncertain in quick runs."""
MATTERS = 0.08
"""If a change of data is to matter, the best order of each phase saves at least this share of the work."""
MATTERS_TRIES = 8
"""The most attempts, because not every data set and not every kind of chain has such changes."""

SIZES = ("short",) * 3 + ("many",) + ("expensive",) * 2 + ("usual",) * 14
LIMITS = ("none",) * 12 + ("guards",) * 3 + ("profile=False",) * 3 + ("both",) * 2
FUNCTIONS = ("vectorized",) * 12 + ("mixed",) * 5 + ("row",) * 3
STRUCTURES = ("independent", "correlated", "duplicated")
PREDICATES = {"2-4": (2, 4), "5-8": (5, 8), "9-16": (9, 16)}


@dataclass(frozen=True)
class Sources:
    """The sources of real columns: `columns`, one file of the user, instead of the data sets in `data`."""

    data: Path
    columns: Path | None = None
    work: float = 1.0
    """The factor of the drawn work, for tests and quick runs."""

    def files(self, seed: int) -> list[tuple[str, Path]]:
        """Return the files that a seed may use, by name."""
        if self.columns is not None:
            return [(self.columns.stem, self.columns)]
        return sorted(data_files(self.data, seed >= EVALUATION_FROM).items())


@dataclass(frozen=True)
class Cards:
    """The cards that chain `number` of a seed was dealt."""

    predicates: str
    fixed: str
    drift: str
    real: bool
    written: str
    limits: str
    size: str
    functions: str
    structure: str
    file: int
    narrow: bool
    """Whether costs are within a factor of ten."""
    matters: bool
    """Whether the best order changes with the data, if such chains are found."""


def deal(seed: int, number: int) -> Cards:
    """Return the cards of a chain."""
    rng = np.random.default_rng([seed, 0xDEC5])

    def card(values: Sequence[str]) -> str:
        full = [values[i % len(values)] for i in range(CHAINS)]
        return full[int(rng.permutation(CHAINS)[number])]

    predicates, fixed = card(list(PREDICATES)), card(list(FIXED_NS))
    drift, columns = card(["still", "jump", "slide", "return"]), card(["real", "made"])
    written, limits = card(["best", "random", "worst"]), card(LIMITS)
    size, functions, structure = card(SIZES), card(FUNCTIONS), card(STRUCTURES)
    file = int(card([str(i) for i in range(CHAINS)]))
    narrow, matters = card(["wide", "narrow"]) == "narrow", card(["any"] * 2 + ["matters"] * 3) == "matters"
    if functions == "row" and fixed != "none":
        functions = "mixed"  # the fixed cost of a call is that of a vectorized function
    if size == "many":
        functions = "vectorized"
        predicates = "5-8" if predicates == "9-16" else predicates
    return Cards(
        predicates, fixed, drift, columns == "real", written, limits, size, functions, structure, file, narrow,
        matters and drift != "still",
    )  # fmt: skip


def draw(seed: int, number: int, sources: Sources) -> Chain:
    """Return chain `number` of a seed."""
    cards = deal(seed, number)
    rng = np.random.default_rng([seed, number])
    work_ns = 1e9 * sources.work * float(rng.uniform(*(SHORT_WORK_S if cards.size == "short" else WORK_S)))
    nearest: tuple[float, Chain] | None = None
    for attempt in range(MOST_TRIES):
        if attempt == MATTERS_TRIES:
            cards = replace(cards, matters=False)
        if attempt == TRIES:  # with these cards no costs lead to an allowed number of rows
            if nearest is not None:
                break
            cards = replace(cards, size="usual", narrow=False)
        chain = _try(rng, cards, seed, number, sources, work_ns)
        if chain is None:
            continue
        off = abs(float(np.log(hindsight(chain).fixed_ns / work_ns)))
        if nearest is None or off < nearest[0]:
            nearest = off, chain
        if off < (NEAR_WORK if sources.work >= 1.0 else NEAR_LITTLE_WORK):
            break
    assert nearest is not None, f"no costs were found for chain {number} of seed {seed}"
    chain = nearest[1]
    return as_written(chain, _written(rng, chain, cards.written))


def _try(
    rng: np.random.Generator, cards: Cards, seed: int, number: int, sources: Sources, work_ns: float
) -> Chain | None:
    """Return a chain, not yet in its written order; None if no costs lead to an allowed number of rows."""
    files = sources.files(seed)
    batch_rows = round(10.0 ** float(rng.uniform(4.0 if cards.size == "many" else 2.0, 5.0)))
    n = int(rng.integers(PREDICATES[cards.predicates][0], PREDICATES[cards.predicates][1] + 1))
    kinds = (drifts.EVALUATION if seed >= EVALUATION_FROM else drifts.DEVELOPMENT)[cards.drift]
    moves = kinds[int(rng.integers(len(kinds)))](rng)
    real = cards.real and bool(files)
    name, file = files[cards.file % len(files)] if real else (cards.structure, Path())
    outcomes: Made | Real
    outcomes = draw_real(rng, n, read(name, file), moves) if real else draw_made(rng, n, cards.structure, moves)
    least, most = LEAST_ROWS * min(sources.work, 1.0), float(MOST_ROWS)
    if cards.size == "many":
        least = most = MANY_ROWS * sources.work
    preview: Preview | None = None
    for _ in range(COST_TRIES):
        parts = _parts(rng, n, cards, outcomes.conditions())
        factors = _factors(rng, parts)
        rows = round(float(np.sqrt(least * most)))
        for _ in range(3 if real else 1):  # what is seen of a data set depends on the number of rows
            rows = round(min(max(rows, least), MANY_ROWS))
            if real or preview is None:
                preview = _preview(outcomes, rows, seed, number, sources, batch_rows)
            rows = round(work_ns / preview.rate_ns(parts, factors))
        assert preview is not None
        if least * 0.9 <= rows <= most * 1.1 and (not cards.matters or preview.gain(parts, factors) > MATTERS):
            break
    else:
        return None
    rows = round(min(max(rows, least), most))
    one = (1.0,) * n
    phases = tuple(Phase(start, count, factors if p.costs else one) for start, count, p in moves.phases(rows))
    groups = {
        "predicates": cards.predicates, "fixed": cards.fixed, "drift": cards.drift,
        "columns": "real" if real else "made", "written": cards.written,
        "limits": "none" if cards.limits == "none" else "guards or profile=False",
    }  # fmt: skip
    about = {
        "drift": moves.name, "functions": cards.functions, "limits": cards.limits, "size": cards.size, "data": name,
    }  # fmt: skip
    codes = outcomes.codes(np.arange(rows), rows, np.random.default_rng([seed, number, 1]))
    batch_rows = max(batch_rows, -(-rows // MOST_BATCHES))
    return Chain(
        seed, number, parts, codes, phases, batch_rows, groups, cards.size == "short", cards.size == "many", about,
        sources.work,
    )  # fmt: skip


def _parts(rng: np.random.Generator, n: int, cards: Cards, conditions: list[str]) -> tuple[Part, ...]:
    by_row = rng.random(n) < {"vectorized": 0.0, "mixed": 0.5, "row": 1.0}[cards.functions]
    if cards.functions == "mixed":
        by_row[rng.permutation(n)[:2]] = True, False
    # ten million rows leave each some hundred ns
    most = 600.0 if cards.size == "many" else MOST_COST_NS
    cheapest = np.where(by_row, LEAST_ROW_COST_NS, LEAST_COST_NS)
    if cards.narrow and cards.size != "many":
        low = float(np.exp(rng.uniform(np.log(LEAST_COST_NS), np.log(MOST_COST_NS / 10))))
        cheapest, most = np.maximum(cheapest, low), max(10.0 * low, 3.0 * LEAST_ROW_COST_NS)
    costs = np.exp(rng.uniform(np.log(cheapest), np.log(most)))
    if cards.size == "expensive":
        costs[int(rng.integers(n))] = EXPENSIVE_NS
    least, largest = FIXED_NS[cards.fixed]
    fixed = np.exp(rng.uniform(np.log(least), np.log(largest), n)) if largest else np.zeros(n)
    fixed = np.where(by_row, 0.0, fixed)
    rank = rng.permutation(n)
    after: list[tuple[int, ...]] = [()] * n
    if cards.limits in ("guards", "both"):
        for k in rng.permutation(n)[: max(1, n // 3)].tolist():
            before = np.flatnonzero(rank < rank[k])
            if len(before):
                after[k] = (int(rng.choice(before)),)
        if not any(after):
            after[int(rank.argmax())] = (int(rank.argmin()),)
    hidden: list[int] = []
    if cards.limits in ("profile=False", "both"):
        hidden = rng.permutation(n)[: max(1, n // 4)].tolist()
    return tuple(
        Part(
            f"P{k}", round(float(costs[k]), 1), round(float(fixed[k])), not by_row[k], after[k], k not in hidden,
            conditions[k],
        )
        for k in range(n)
    )  # fmt: skip


def _factors(rng: np.random.Generator, parts: tuple[Part, ...]) -> tuple[float, ...]:
    """Return factors of costs: one or two predicates become five to ten times more expensive or cheaper."""
    factors = [1.0] * len(parts)
    for k in rng.permutation(len(parts))[: int(rng.integers(1, 3))].tolist():
        factor = float(rng.uniform(5.0, 10.0))
        cheapest = LEAST_COST_NS if parts[k].vectorized else LEAST_ROW_COST_NS
        may_fall = parts[k].cost_ns / factor >= cheapest
        may_rise = parts[k].cost_ns < EXPENSIVE_NS
        factors[k] = 1.0 / factor if may_fall and (not may_rise or rng.random() < 0.5) else factor
    return tuple(factors)


def _preview(outcomes: Made | Real, rows: int, seed: int, number: int, sources: Sources, batch_rows: int) -> Preview:
    count = PREVIEW_ROWS if sources.work >= 1.0 else PREVIEW_ROWS // 5
    seen = np.linspace(0, rows, count, endpoint=False).astype(np.int64)
    codes = outcomes.codes(seen, rows, np.random.default_rng([seed, number, 2]))
    return Preview(codes, outcomes.drift, batch_rows)


class Preview:
    """Return evenly spread rows of a stream, to estimate the cost of orders."""

    def __init__(self, codes: Codes, moves: Drift, batch_rows: int) -> None:
        self.codes, self.slice_rows = codes, min(batch_rows, MOST_SLICE_ROWS)
        self.at = np.round(moves.position(np.arange(len(codes)), len(codes))).astype(np.int64)
        self.costs = np.zeros(len(codes), dtype=np.int64)
        for start, rows, piece in moves.phases(len(codes)):
            self.costs[start : start + rows] = piece.costs

    def rate_ns(self, parts: tuple[Part, ...], factors: tuple[float, ...]) -> float:
        """Return the cost per row in the best fixed order."""
        steps = sum(self._steps(parts, factors))
        return cheapest_order(np.asarray(steps), tuple(p.after for p in parts))[1]

    def gain(self, parts: tuple[Part, ...], factors: tuple[float, ...]) -> float:
        """Return the share of the work that the best order of each scene saves."""
        guards = tuple(p.after for p in parts)
        each = sum(cheapest_order(steps, guards)[1] for steps in self._steps(parts, factors))
        return 1.0 - each / self.rate_ns(parts, factors)

    def _steps(self, parts: tuple[Part, ...], factors: tuple[float, ...]) -> list[NDArray[np.float64]]:
        n = len(parts)
        dropped = ~self.codes & (1 << n) - 1
        found = []
        for scene, which in sorted(set(zip(self.at.tolist(), self.costs.tolist(), strict=True))):
            here = (self.at == scene) & (self.costs == which)
            alive = alive_after(dropped[here], n) / len(self.codes)
            per_slice = alive * self.slice_rows
            steps = np.outer([p.cost_ns * (factors[k] if which else 1.0) for k, p in enumerate(parts)], alive)
            calls = float(here.mean()) * (1.0 - np.exp(-per_slice / float(here.mean())))
            found.append(steps + np.outer([p.fixed_ns / self.slice_rows for p in parts], calls))
        return found


def _written(rng: np.random.Generator, chain: Chain, kind: str) -> Order:
    """Return the best, the worst or a random order; all respect the guards."""
    if kind == "random":
        order: list[int] = []
        left = rng.permutation(len(chain.parts)).tolist()
        while left:
            ready = next(k for k in left if all(g in order for g in chain.guards[k]))
            order.append(ready)
            left.remove(ready)
        return tuple(order)
    return extreme_order(chain, worst=kind == "worst")
