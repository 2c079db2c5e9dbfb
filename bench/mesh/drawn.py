"""The scenarios of this benchmark, drawn from a seed, and those of other benchmarks with a column to classify by.

Eight predicates of 1 us pass .1, .3, .5, .6, .7, .8, .9 and .95 of the rows, each independently of the others.

- `classes`: four sources; the list is shifted by two places from each source to the next.
- `numbers`: the list or its reverse, by (x > .5) xor (y > .5).
- `many`: 200 sources of four classes, with the shifts of `classes`; the share of a source follows Zipf's law.
- `drift`: the sources of `classes` exchange their shifts every 500,000 rows.
- `none`: four sources that mean nothing.
- `cheap`: `classes` at 50 ns.
- `counter`: the scenario `drift` of bench-filters, classified by row number, which says nothing about the next rows.
- `calm`: the scenario of bench-filters, with sources that mean nothing.
- `rooms`, `rooms-text`: sensors of 45 rooms (see `rooms.py`), with the room's number as a number and as text.
- `kdd`: the scenario of bench-filters, by `protocol_type`.

The rows of `counter`, `rooms` and `kdd`, and the outcomes of `calm`, do not depend on the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench import kdd_checks, scenarios
from bench.check import UNIT_NS, Check
from bench.mesh.classed import Classed
from bench.mesh.rooms import rooms, rooms_file, rooms_text
from bench.scenario import Bits, Phase, Scenario
from bench.work import bit_of

PASS = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SOURCES, SHIFT = 4, 2
MANY, ZIPF = 200, 1.1
PHASE_ROWS = 500_000
US, CHEAP_NS = 1_000.0, 50.0
DRAWING = 20
"""Separates these draws from those of other benchmarks with the same seed."""

Codes = NDArray[np.int64]
Seed = int | tuple[int, ...]


def shifted(shifts: Codes) -> NDArray[np.float64]:
    """Return by row the shares that the predicates pass, if the list is shifted by so many steps of two places.

    >>> shifted(np.array([1]))[0].tolist()
    [0.9, 0.95, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8]
    """
    rolled = np.stack([np.roll(PASS, SHIFT * shift) for shift in range(SOURCES)])
    return np.asarray(rolled[shifts])


def classes(rows: int, steps: float, seed: Seed, ns: float = US, name: str = "classes") -> Classed:
    """Four sources with a list each."""
    rng = generator(seed)
    source = rng.integers(0, SOURCES, rows)
    return by_source(name, source, drawn(rng, shifted(source)), source, steps, ns)


def cheap(rows: int, steps: float, seed: Seed) -> Classed:
    """`classes` with predicates of 50 ns."""
    return classes(rows, steps, seed, CHEAP_NS, "cheap")


def none(rows: int, steps: float, seed: Seed) -> Classed:
    """Four sources with the same list."""
    rng = generator(seed)
    source = rng.integers(0, SOURCES, rows)
    return by_source("none", source, drawn(rng, shifted(np.zeros(rows, np.int64))), source, steps)


def many(rows: int, steps: float, seed: Seed) -> Classed:
    """200 sources, 50 of each class; the n-th most frequent source has a share proportional to 1 / n^1.1."""
    rng = generator(seed)
    share = np.arange(1, MANY + 1) ** -ZIPF
    source = rng.choice(MANY, rows, p=share / share.sum())
    kind = rng.permutation(np.arange(MANY) % SOURCES)[source]
    return by_source("many", source, drawn(rng, shifted(kind)), kind, steps)


def drift(rows: int, steps: float, seed: Seed, phase_rows: int | None = None) -> Classed:
    """In each phase, every source takes over the list of the next one. A quick run has four short phases."""
    rng = generator(seed)
    length = phase_rows or (PHASE_ROWS if rows >= 2 * PHASE_ROWS else -(-rows // 4))
    source = rng.integers(0, SOURCES, rows)
    kind = (source + np.arange(rows) // length) % SOURCES
    phases = tuple(Phase(start, min(length, rows - start)) for start in range(0, rows, length))
    return by_source("drift", source, drawn(rng, shifted(kind)), kind, steps, phases=phases)


def numbers(rows: int, steps: float, seed: Seed) -> Classed:
    """Two columns, neither of which says anything alone."""
    rng = generator(seed)
    x, y = rng.random(rows), rng.random(rows)
    kind = ((x > 0.5) ^ (y > 0.5)).astype(np.int64)
    passed = drawn(rng, np.stack([PASS, PASS[::-1]])[kind])
    return with_bits("numbers", passed, {"x": pa.array(x), "y": pa.array(y)}, kind, steps)


def counter(rows: int, steps: float, seed: Seed) -> Classed:
    """Phases of bench-filters' `drift`, by row number. There is one class: in a phase, one order is best for all."""
    found = replace(scenarios.drift(rows, steps), name="counter")
    return Classed(found, ("id",), np.zeros(found.table.num_rows, np.int64))


def calm(rows: int, steps: float, seed: Seed) -> Classed:
    """bench-filters' `calm`, by sources that mean nothing."""
    found = scenarios.calm(rows, steps)
    source = generator(seed).integers(0, SOURCES, rows)
    table = found.table.append_column("source", named(source))
    return Classed(replace(found, table=table), ("source",), source)


def kdd(rows: int, steps: float, seed: Seed) -> Classed:
    """bench-filters' `kdd`, by protocol."""
    found = kdd_checks.kdd(rows, steps)
    protocol = found.table.column("protocol_type").combine_chunks().dictionary_encode()
    return Classed(found, ("protocol_type",), protocol.indices.to_numpy().astype(np.int64))


def generator(seed: Seed) -> np.random.Generator:
    """Return the generator of a seed. A seed may have several numbers."""
    return np.random.default_rng([DRAWING, *(seed if isinstance(seed, tuple) else (seed,))])


def drawn(rng: np.random.Generator, shares: NDArray[np.float64]) -> Bits:
    """Return outcomes that are true with these probabilities."""
    return rng.random(shares.shape) < shares


def named(source: Codes) -> pa.Array:
    """Return the names of sources: s000, s001 and so on."""
    names = pa.array([f"s{n:03d}" for n in range(int(source.max(initial=0)) + 1)])
    return names.take(pa.array(source))


def by_source(
    name: str, source: Codes, passed: Bits, kind: Codes, steps: float, ns: float = US, *,
    phases: tuple[Phase, ...] | None = None,
) -> Classed:  # fmt: skip
    """Return a scenario whose rows have a source, a text."""
    return with_bits(name, passed, {"source": named(source)}, kind, steps, ns, phases=phases)


def with_bits(
    name: str, passed: Bits, columns: dict[str, pa.Array], kind: Codes, steps: float, ns: float = US, *,
    phases: tuple[Phase, ...] | None = None,
) -> Classed:  # fmt: skip
    """Return a scenario whose outcomes are bits of one column; every predicate takes `ns` per row."""
    rows, n = passed.shape
    units = ns / UNIT_NS
    bits: Codes = passed.astype(np.int64) @ (1 << np.arange(n))
    table = pa.table({"id": pa.array(np.arange(rows)), **columns, "bits": pa.array(bits)})
    spent = max(round(units * steps), 1)
    checks = tuple(Check(f"p{k}", ("bits",), partial(bit_of, k=k, steps=spent), units) for k in range(n))
    return Classed(Scenario(name, table, checks, passed, phases or (Phase(0, rows),)), tuple(columns), kind)


def room_scenario(read: Callable[[], tuple[Bits, dict[str, pa.Array], Codes]], name: str) -> Make:
    """Return the function that makes a scenario of real rooms."""

    def make(rows: int, steps: float, seed: Seed) -> Classed:
        passed, columns, kind = read()
        first = {column: values.slice(0, rows) for column, values in columns.items()}
        return with_bits(name, passed[:rows], first, kind[:rows], steps)

    return make


Make = Callable[[int, float, Seed], Classed]


@dataclass(frozen=True, slots=True)
class Item:
    """A scenario: its function, its rows and rounds, and whether its data is there."""

    make: Make
    rows: int
    rounds: int
    missing: Callable[[], str] = lambda: ""
    """Returns why the scenario cannot run, in one sentence; empty if it can."""


def _no_kdd() -> str:
    return "" if kdd_checks.kdd_file() else f"it needs --data DIR, a folder that contains {kdd_checks.FILE}"


def _no_rooms() -> str:
    return "" if rooms_file().is_file() else f"it needs the file {rooms_file()}; --data DIR names another folder"


AGENDA: dict[str, Item] = {
    "classes": Item(classes, 400_000, 5),
    "numbers": Item(numbers, 400_000, 5),
    "many": Item(many, 400_000, 3),
    "drift": Item(drift, 4 * PHASE_ROWS, 2),
    "none": Item(none, 400_000, 7),
    "counter": Item(counter, 4_000_000, 2),
    # a run takes a tenth of a second, so more rounds cost little
    "cheap": Item(cheap, 400_000, 9),
    "calm": Item(calm, 400_000, 7),
    "rooms": Item(room_scenario(rooms, "rooms"), 479_007, 3, _no_rooms),
    "rooms-text": Item(room_scenario(rooms_text, "rooms-text"), 479_007, 3, _no_rooms),
    "kdd": Item(kdd, 494_021, 7, _no_kdd),
}
"""All scenarios by name."""
