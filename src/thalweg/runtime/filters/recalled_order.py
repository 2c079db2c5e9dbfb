"""The last order and costs of a filter chain, read from the event records of an earlier run.

Answers: the order and costs with which a new start of a query begins, if `events=` names the file of an earlier run.
They come from the last record with the same predicates, by name, under a policy that changes orders.
Guarantee: never raises, whatever the file contains; the order respects the guards of the current plan. Wrong values in
the file cost time until the policy has corrected them, and never change the answer.
Cost: reads at most the last `TAIL_BYTES` of the file, and parses backwards until a record fits.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from thalweg.adapt.peers.eddy import Eddy
from thalweg.adapt.peers.eddy_cbr import EddyCbr
from thalweg.adapt.static import Static
from thalweg.errors import ThalwegError
from thalweg.events import Observed, from_json
from thalweg.plan.filters.pipeline import Pipeline

TAIL_BYTES = 8 << 20
"""Thousands of records; the last one that fits is usually among the last few."""
MOST_NS = 1e12
"""A cost above 1,000 seconds per row is taken to be wrong."""
KEEP_THEIR_ORDER = frozenset({Static.name, Eddy.name, EddyCbr.name})
"""The policies whose records say nothing about which order is good."""


@dataclass(frozen=True, slots=True)
class RecalledOrder:
    """The order and costs that were found. Costs are by predicate, in the written order of the current plan."""

    order: tuple[int, ...]
    cost_ns: tuple[float | None, ...]
    """The cost of one more row; None if unknown."""
    fixed_ns: tuple[float | None, ...]
    """The fixed cost of a call; None if unknown."""


def recalled(path: str | os.PathLike[str], pipeline: Pipeline) -> RecalledOrder | None:
    """Return what an earlier run learned about these predicates; None if there is no file or no record that fits."""
    if len(pipeline) < 2:
        return None
    names = [json.dumps(name).encode() for name in pipeline.names]
    for line in reversed(_tail(Path(path))):
        if b'"observed"' not in line or not all(name in line for name in names):
            continue
        try:
            record = from_json(line.decode("utf-8", "replace"))
        except ThalwegError:
            continue
        if isinstance(record, Observed) and (found := _fitting(record, pipeline)) is not None:
            return found
    return None


def _tail(path: Path) -> list[bytes]:
    try:
        if not path.is_file():  # opening a pipe would block
            return []
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - TAIL_BYTES, 0))
            return file.read(TAIL_BYTES).split(b"\n")
    except OSError:  # the file cannot be read; writing to it will report why
        return []


def _fitting(record: Observed, pipeline: Pipeline) -> RecalledOrder | None:
    if record.origin.policy in KEEP_THEIR_ORDER or not record.chain.rows:
        return None
    if sorted(record.predicates) != sorted(pipeline.names):
        return None
    order = tuple(pipeline.names.index(name) for name in record.order)
    if not pipeline.respects(order):
        return None
    place = [record.predicates.index(name) for name in pipeline.names]
    return RecalledOrder(
        order,
        tuple(_plausible(record.calls.cost_ns[k], least=0.0) for k in place),
        tuple(_plausible(record.calls.fixed_ns[k]) for k in place),
    )


def _plausible(ns: float | None, least: float = -1.0) -> float | None:
    """Return the cost, or None if it is implausible. A cost of 0 per row would make a predicate free."""
    return float(ns) if ns is not None and least < ns <= MOST_NS else None
