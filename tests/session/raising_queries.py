"""Random queries whose conditions raise on some rows, and their answers by brute force.

A combination of rows, one of each source, whose times are within the windows, is a result if all conditions are true;
it has failed if none is false or NULL and some raise, and the conditions that raise are named.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

BEGIN_US = 1_767_225_600 * 10**6
STREAMS = ("a", "b", "c")
TABLE = "t"
Row = dict[str, Any]
Outcomes = dict[Any, Any]


class Table(dict[Any, Any]):
    """A function given by its values; it raises what is an exception."""

    def __call__(self, value: Any) -> Any:
        found = self[value]
        if isinstance(found, Exception):
            raise found
        return found


@dataclass(frozen=True)
class Conjunct:
    """A condition as SQL, and as a function of the rows by source."""

    text: str
    holds: Callable[[dict[str, Row]], Any]


@dataclass
class RaisingQuery:
    """A question, what it is asked of, and what answers it."""

    text: str
    tables: dict[str, pa.Table]
    functions: dict[str, Table]
    safe: frozenset[str]
    windows_us: dict[str, int]
    conjuncts: list[Conjunct]
    sources: list[str]
    outputs: list[tuple[str, str]]
    passing: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    failing: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    """By the values of the outputs' columns and the conditions that raise."""

    def solve(self) -> None:
        """By looking at every combination."""
        rows = [[{"source": s, **row} for row in self.tables[s].to_pylist()] for s in self.sources]
        for combination in itertools.product(*rows):
            by = {row["source"]: row for row in combination}
            times = {s: row["ts"] for s, row in by.items() if s != TABLE}
            latest = max(times.values())
            if len(times) > 1 and any(
                (latest - time).total_seconds() * 1e6 > self.windows_us[s] for s, time in times.items()
            ):
                continue
            self._judge(by)

    def _judge(self, by: dict[str, Row]) -> None:
        raised = []
        for conjunct in self.conjuncts:
            try:
                if not conjunct.holds(by):
                    return
            except ArithmeticError:
                raised.append(conjunct.text)
        values = tuple(by[source][column] for source, column in self.outputs)
        if raised:
            self.failing[(*values, frozenset(raised))] += 1
        else:
            self.passing[values] += 1


def _data(r: random.Random, rows: int) -> pa.Table:
    times = sorted(r.randrange(0, 60) for _ in range(rows))
    return pa.table({
        "ts": pa.array([BEGIN_US + at * 10**6 for at in times], pa.int64()).cast(pa.timestamp("us", "UTC")),
        "k": pa.array([r.randrange(3) for _ in range(rows)], pa.int64()),
        "x": pa.array([r.choice([0, 1, 2, 3, 4, None]) for _ in range(rows)], pa.int64()),
        "id": pa.array(range(rows), pa.int64()),
    })  # fmt: skip


def _function(r: random.Random, raises: bool) -> Table:
    kinds = [True, True, False, None] + [ZeroDivisionError("it is zero"), OverflowError('it is "large"')] * raises
    return Table({value: r.choice(kinds) for value in (*range(-20, 20), None)})


def _condition(r: random.Random, sources: list[str], functions: dict[str, Table], *, built_in: bool) -> Conjunct:
    s, other = r.choice(sources), r.choice(sources)
    name, number = r.choice(list(functions)), r.randrange(5)
    f = functions[name]

    def called(by: dict[str, Row]) -> Any:
        return f(by[s]["x"])

    def of_both(by: dict[str, Row]) -> Any:
        one, two = by[s]["x"], by[other]["x"]
        return f(None if one is None or two is None else one - two)

    def above(by: dict[str, Row]) -> Any:
        return by[s]["x"] is not None and by[s]["x"] > number

    def divided(by: dict[str, Row]) -> Any:
        return None if by[s]["x"] is None else 6 // by[s]["x"] >= number

    made = [
        Conjunct(f"{name}({s}.x)", called), Conjunct(f"{name}({s}.x)", called),
        Conjunct(f"{name}({s}.x - {other}.x)", of_both), Conjunct(f"{s}.x > {number}", above),
    ]  # fmt: skip
    if built_in:
        made.append(Conjunct(f"6 DIV {s}.x >= {number}", divided))
    return r.choice(made)


def _same_key(one: str, other: str) -> Callable[[dict[str, Row]], Any]:
    return lambda by: by[one]["k"] == by[other]["k"]


def raising_query(seed: int, *, most_streams: int = 3, built_in: bool = True) -> RaisingQuery:
    """`built_in`: some conditions without functions can raise too."""
    r = random.Random(seed)
    count = r.randint(1, most_streams)
    sources = [*STREAMS[:count], *([TABLE] if r.random() < 0.4 else [])]
    rows = {1: 40, 2: 14, 3: 9, 4: 7}[len(sources)]
    tables = {s: _data(r, rows) for s in sources}
    if TABLE in tables:
        tables[TABLE] = tables[TABLE].drop_columns(["ts"])
    safe = frozenset({"calm"})
    functions = {name: _function(r, raises=name not in safe) for name in ("f", "g", "calm")}
    keys = [
        Conjunct(f"{one}.k = {s}.k", _same_key(one, s))
        for n, s in enumerate(sources[1:], 1)
        for one in [r.choice(sources[:n])]
    ]
    conjuncts = keys + [_condition(r, sources, functions, built_in=built_in) for _ in range(r.randint(1, 4))]
    conjuncts = list({c.text: c for c in conjuncts}.values())
    r.shuffle(conjuncts)
    windows = {s: r.choice([0, 5, 20, 60]) * 10**6 for s in STREAMS[:count]}
    listed = [f"{s} [RANGE {windows[s] // 10**6} SECONDS]" if s != TABLE and count > 1 else s for s in sources]
    outputs = [(s, "id") for s in sources]
    text = (
        f"SELECT {', '.join(f'{s}.{c} AS {s}_{c}' for s, c in outputs)} FROM {', '.join(listed)} "
        f"WHERE {' AND '.join(c.text for c in conjuncts)}"
    )
    made = RaisingQuery(text, tables, functions, safe, windows, conjuncts, sources, outputs)
    made.solve()
    return made
