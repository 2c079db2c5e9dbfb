"""From which batch size a mesh pays: `classes` with predicates of 50 ns, 1 us and 10 us, and several batch sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench.mesh.contenders import AGAIN, AUTO, MESH
from bench.mesh.drawn import CHEAP_NS, US, classes
from bench.mesh.measured import CLAIRVOYANT, SINGLE, measure
from bench.rounds import ratio

COSTS_NS = (CHEAP_NS, US, 10 * US)
BATCH_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
ROWS, ROUNDS = 200_000, 3
CHEAP_ROUNDS = 9
"""At 50 ns a run takes 20 ms, and a single one may be off by half."""

Line = dict[str, Any]


def sizes(
    seed: int, steps: float, rows: int = ROWS, rounds: int | None = None, batch_sizes: Sequence[int] = BATCH_SIZES
) -> Iterator[Line]:
    """Yield the figures of each cost and batch size."""
    for ns in COSTS_NS:
        usual = CHEAP_ROUNDS if ns == CHEAP_NS else ROUNDS
        classed = classes(rows, steps, seed, ns, f"classes at {ns:g} ns")
        for batch_rows in batch_sizes:
            measured = measure(classed, rounds or usual, (AUTO, AGAIN, MESH), batch_rows)
            yield {
                **measured.figures(), "ns": ns, "batch_rows": batch_rows,
                "clairvoyant_over_single": round(ratio(measured.trials, CLAIRVOYANT, SINGLE), 4),
            }  # fmt: skip


def pays_from(figures: Sequence[Line], value: str = MESH.name) -> dict[float, int | None]:
    """Return by cost per row the least batch size from which on a mesh takes less CPU time than `auto`, beyond the A/A
    spread; None if it never does. `value`: the variant to look at."""
    found: dict[float, int | None] = {}
    for line in sorted(figures, key=lambda line: -float(line["batch_rows"])):
        if value not in line["variants"]:
            continue
        ns = float(line["ns"])
        found.setdefault(ns, None)
        own = [other for other in figures if other["ns"] == ns and other["batch_rows"] >= line["batch_rows"]]
        if all(other["variants"][value]["cpu_over_auto"] * other["aa"] < 1.0 for other in own):
            found[ns] = int(line["batch_rows"])
    return found
