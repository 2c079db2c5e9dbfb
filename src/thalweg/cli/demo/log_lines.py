"""Generates realistic log lines of several services quickly: text is drawn from pools and joined column by column.

Phase 0 is an ordinary day. Phase 1 is an incident: bots flood the shop, many requests fail, and requests with a payload
become rare. Predicates that dropped most rows before now drop few, and vice versa.

>>> table = make_lines(1000, seed=7)
>>> table.column_names
['line', 'service', 'ip', 'size', 'payload']
>>> table.equals(make_lines(1000, seed=7))
True
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from thalweg.cli.demo import log_text


@dataclass(frozen=True, slots=True)
class Mix:
    """The composition of a phase of the stream. Tuples are by `log_text.SERVICES`."""

    services: tuple[float, ...]
    failed: tuple[float, ...]
    robots: float
    """The share of rows with the user agent of a bot, among the lines that have a user agent."""
    outside: float
    payload: tuple[float, ...]
    size_median: float
    began: str


PHASES = (
    Mix(
        services=(0.46, 0.12, 0.14, 0.18, 0.10),
        failed=(0.05, 0.16, 0.04, 0.08, 0.05),
        robots=0.14,
        outside=0.62,
        payload=(0.66, 0.35, 0.40, 0.92, 0.30),
        size_median=2_600.0,
        began="2026-03-02T08:00:00.000",
    ),
    Mix(
        services=(0.70, 0.16, 0.05, 0.07, 0.02),
        failed=(0.58, 0.70, 0.50, 0.55, 0.30),
        robots=0.80,
        outside=0.93,
        payload=(0.06, 0.04, 0.10, 0.60, 0.10),
        size_median=7_500.0,
        began="2026-03-02T14:30:00.000",
    ),
)

ROWS_A_SECOND = 2_500


def make_lines(rows: int, seed: int, phase: int = 0) -> pa.Table:
    """Return a table of `line`, `service`, `ip`, `size` and `payload` (JSON, null in a share of the rows)."""
    mix = PHASES[phase]
    rng = np.random.default_rng([seed, phase])
    service = rng.choice(len(log_text.SERVICES), size=rows, p=mix.services)
    failed = rng.random(rows) < np.array(mix.failed)[service]
    size = np.minimum(rng.lognormal(np.log(mix.size_median), 1.1, rows), 5e7).astype(np.int64)
    own = {
        "time": _times(rows, mix.began),
        "ip": _either(rng, rng.random(rows) < mix.outside, log_text.INSIDE, log_text.OUTSIDE),
        "size": pc.cast(pa.array(size), pa.string()),
        "agent": _either(rng, rng.random(rows) < mix.robots, log_text.PEOPLE, log_text.BOTS),
        "user": _draw(rng, tuple(log_text.USERS), rows),
    }
    names = pa.array(log_text.SERVICES)
    return pa.table(
        {
            "line": _lines(rng, service, failed, own),
            "service": names.take(pa.array(service)),
            "ip": own["ip"],
            "size": pa.array(size),
            "payload": _payloads(rng, rng.random(rows) < np.array(mix.payload)[service], own["user"]),
        }
    )


def _lines(
    rng: np.random.Generator, service: NDArray[np.int64], failed: NDArray[np.bool_], own: Mapping[str, Any]
) -> pa.Array:
    """Make all rows of a template together, then put them where they belong."""
    made: list[Any] = []
    places: list[NDArray[np.int64]] = []
    draw = rng.integers(0, 2**16, len(service))
    for number, name in enumerate(log_text.SERVICES):
        for wrong, texts in ((False, log_text.FINE[name]), (True, log_text.FAILED[name])):
            for which, template in enumerate(texts):
                rows = np.flatnonzero((service == number) & (failed == wrong) & (draw % len(texts) == which))
                if len(rows):
                    made.append(_fill(rng, template, own, rows))
                    places.append(rows)
    if not made:
        return pa.array([], pa.string())
    back = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_arrays(made).take(pa.array(back))


def _fill(rng: np.random.Generator, template: str, own: Mapping[str, Any], rows: NDArray[np.int64]) -> pa.Array:
    parts: list[Any] = []
    taken = pa.array(rows)
    for text, slot, _, _ in string.Formatter().parse(template):
        if text:
            parts.append(pa.scalar(text))
        if slot is not None:
            parts.append(
                own[slot].take(taken) if slot in own else _draw(rng, tuple(log_text.POOLS[slot]), len(rows))
            )  # fmt: skip
    return pc.binary_join_element_wise(*parts, "")


def _payloads(rng: np.random.Generator, present: NDArray[np.bool_], user: pa.Array) -> pa.Array:
    rows = np.flatnonzero(present)
    m = len(rows)
    cents = np.minimum(rng.lognormal(np.log(6_000.0), 1.0, m), 9_999_999.0).astype(np.int64)
    text = pc.binary_join_element_wise(
        '{"trace": "', _draw(rng, tuple(log_text.POOLS["hex"]), m), '", "user": "', user.take(pa.array(rows)),
        '", "amount": ', pc.cast(pa.array(cents // 100), pa.string()), ".",
        pc.utf8_lpad(pc.cast(pa.array(cents % 100), pa.string()), 2, padding="0"),
        ', "currency": "', _draw(rng, ("EUR", "EUR", "NOK", "CAD"), m), '", "items": ',
        _draw(rng, tuple(str(n) for n in range(1, 9)), m), "}", "",
    )  # fmt: skip
    place = np.full(len(present), -1, dtype=np.int64)
    place[rows] = np.arange(m)
    return text.take(pa.array(place, mask=~present))


def _times(rows: int, began: str) -> pa.Array:
    step = np.arange(rows, dtype=np.int64) * 1_000 // ROWS_A_SECOND
    return pc.cast(pa.array(np.datetime64(began, "ms") + step), pa.string())


def _either(rng: np.random.Generator, second: NDArray[np.bool_], a: list[str], b: list[str]) -> pa.Array:
    """Return random texts: of `b` where `second` is true, and of `a` elsewhere."""
    index = np.where(second, len(a) + rng.integers(0, len(b), len(second)), rng.integers(0, len(a), len(second)))
    return _pool((*a, *b)).take(pa.array(index))


def _draw(rng: np.random.Generator, texts: tuple[str, ...], rows: int) -> pa.Array:
    return _pool(texts).take(pa.array(rng.integers(0, len(texts), rows)))


@cache
def _pool(texts: tuple[str, ...]) -> pa.Array:
    return pa.array(texts, pa.string())
