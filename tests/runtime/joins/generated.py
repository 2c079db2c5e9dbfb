"""Join queries and streams, drawn: graphs, key types, windows, times, payloads, and where each stream is cut.

What is asked is drawn by Hypothesis, so that it shrinks; values come from a seed, since thousands of draws are slow.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.runtime.joins.oracle import expected_ids
from thalweg.plan.joins.graph import JoinGraph
from thalweg.plan.joins.join_plan import JoinPlan
from thalweg.plan.joins.shape import Shape, streams_of
from thalweg.runtime.joins.join_binding import JoinBinding

ALIASES = "abcde"
MOST_ROWS = {2: 25, 3: 16, 4: 10, 5: 8}
"""By number of streams: a cross product stays small."""
POLICIES = ("auto", "mesh", "a-greedy", "sweep", "independent", "local-swaps", "static")
_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}

# family: its types, and values that all of them, or some, can hold
_INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
_TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
          pa.dictionary(pa.int32(), pa.large_string())]  # fmt: skip
_BYTES = [pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view()]
_DECIMALS = [pa.decimal128(5, 2), pa.decimal128(10, 0), pa.decimal128(20, 4), pa.decimal256(36, 3)]
FAMILIES: dict[str, tuple[list[pa.DataType], list[Any]]] = {
    "integer": (_INTEGERS, [1, 2, 0, -1, -3, 2**63 - 1, 2**63, 2**64 - 1, 255, 2**32 - 1]),
    "text": (_TEXTS, ["a", "b", "", "nine bytes", "nine byteß", "a\0", "b" * 40]),
    "bytes": (_BYTES, [b"ab", b"\0\0", b"\xff\0", b"", b"a", b"longer than eight"]),
    "decimal": (_DECIMALS, [Decimal(1), Decimal("1.5"), Decimal("-2.25"), Decimal("1.125"), Decimal(10**8)]),
    "timestamp": ([pa.timestamp(u) for u in _NS], [10**9, -(10**9), 1_001_000_000, 1_000_001_000, 1_000_000_001]),
    "zoned": ([pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Berlin")],
              [10**9, 2 * 10**9, 1_001_000_000, 1_000_001_000]),
    "date": ([pa.date32(), pa.date64()], [0, 1, -400, 20_000]),
    "bool": ([pa.bool_()], [True, False]),
}  # fmt: skip


def _fits(kind: pa.DataType, value: Any) -> bool:
    try:
        return bool(array_of(kind, [value]).null_count == 0)
    except (pa.ArrowInvalid, OverflowError):
        return False


def array_of(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """Timestamps are in nanoseconds and dates in days; values that a unit cannot represent exactly are refused."""
    if pa.types.is_timestamp(kind):
        tick = _NS[kind.unit]
        if any(v is not None and v % tick for v in values):
            raise pa.ArrowInvalid("finer than the unit")
        return pa.array([None if v is None else v // tick for v in values], pa.int64()).cast(kind)
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).cast(pa.date32()).cast(kind)
    if pa.types.is_dictionary(kind):
        return encoded(pa.array(values, kind.value_type), kind)
    return pa.array(values, kind)


def encoded(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """With a dictionary of its own."""
    whole = array.dictionary_encode()
    return pa.DictionaryArray.from_arrays(whole.indices.cast(kind.index_type), whole.dictionary)


Maker = Callable[[random.Random], Any]
PAYLOADS: list[tuple[pa.DataType, Maker]] = [
    (pa.int16(), lambda r: r.randint(-9, 9)),
    (pa.float64(), lambda r: r.choice([0.5, float("nan"), -0.0, float("inf")])),
    (pa.float32(), lambda r: r.choice([0.5, float("nan")])),
    (pa.bool_(), lambda r: r.random() < 0.5),
    (pa.string(), lambda r: "x" * r.randint(0, 12)),
    (pa.string_view(), lambda r: "y" * r.randint(0, 20)),
    (pa.large_binary(), lambda r: bytes(r.randint(0, 4))),
    (pa.binary(3), lambda r: bytes([r.randint(0, 255)] * 3)),
    (pa.decimal128(12, 3), lambda r: Decimal(r.randint(-999, 999)) / 8),
    (pa.decimal256(50, 1), lambda r: Decimal(r.randint(-999, 999)) / 2),
    (pa.list_(pa.int8()), lambda r: [r.choice([None, 1, 2])] * r.randint(0, 3)),
    (pa.large_list(pa.string()), lambda r: ["z"] * r.randint(0, 3)),
    (pa.list_(pa.int32(), 2), lambda r: [r.randint(0, 5), None]),
    (pa.struct([("p", pa.int32()), ("q", pa.list_(pa.string()))]), lambda r: {"p": r.randint(0, 5), "q": ["w", None]}),
    (pa.struct([("p", pa.string_view())]), lambda r: {"p": "v" * r.randint(0, 20)}),
    (pa.list_(pa.binary_view()), lambda r: [b"v" * r.randint(0, 20), None]),
    (pa.list_view(pa.int8()), lambda r: [1] * r.randint(0, 3)),
    (pa.float16(), lambda r: 0.5),
    (pa.map_(pa.string(), pa.int64()), lambda r: [("one", r.randint(0, 9))] * r.randint(0, 1)),
    (pa.date64(), lambda r: r.randint(-9, 9)),
    (pa.timestamp("ns"), lambda r: r.randint(0, 10**9)),
    (pa.duration("ms"), lambda r: r.randint(0, 10**6)),
    (pa.time64("us"), lambda r: r.randint(0, 10**6)),
    (pa.month_day_nano_interval(), lambda r: (r.randint(0, 9), 1, 2)),
    (pa.dictionary(pa.int8(), pa.string()), lambda r: r.choice(["red", "green", "blue"])),
    (pa.null(), lambda r: None),
]
# rows of every stream have these, for further conditions
RESIDUALS = [
    "{0}.x < {1}.x + 1", "{0}.x <> {1}.x", "NOT ({0}.x = {1}.x OR {0}.x > 2)", "{0}.x BETWEEN -1 AND {1}.x",
    "{0}.x IN (0, 2, {1}.x)", "{0}.x IS NULL OR {1}.x IS NOT NULL", "{0}.x * 2 - {1}.x >= -3", "{0}.s <= {1}.s",
    "{0}.s = 'u'", "{0}.flag", "NOT {0}.flag OR {1}.flag", "{0}.flag IS TRUE", "{0}.flag IS NOT FALSE",
    "{0}.x NOT IN (1, {1}.x)", "-{0}.x < 0.5",
]  # fmt: skip


@dataclass(frozen=True)
class Stream:
    """A finished stream, and how it comes."""

    table: pa.Table
    ticks: list[int | None]
    """Of the finest unit of all streams' times."""
    batches: list[pa.RecordBatch]
    lateness: int


@dataclass(frozen=True)
class Case:
    """A join and its streams."""

    on: str
    streams: dict[str, Stream]
    """And tables, in the order `on` names them."""
    windows: dict[str, int]
    """Of streams; what has none is a table."""
    unit: str | None
    """Of the ticks; None: whole numbers."""
    select: list[str] | None = None
    columns: list[tuple[str, str]] | None = None
    """What is selected, alias and name, in the order of the result; its time is ("", "event_time")."""
    times_by_stream: bool = False
    """Whether `time` is a dict, too."""

    def length(self, ticks: int) -> int | str:
        """As a user would write it."""
        return ticks if self.unit is None else f"{ticks} {_UNIT_NAMES[self.unit]}"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments for `tw.join`."""
        return {
            "on": self.on,
            "window": {alias: self.length(window) for alias, window in self.windows.items()},
            "time": dict.fromkeys(self.windows, "t") if self.times_by_stream else "t",
            "lateness": {alias: self.length(self.streams[alias].lateness) for alias in self.windows},
            "select": self.select,
        }

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by their aliases."""
        streams = {alias: stream for alias, stream in self.streams.items() if alias not in self.windows}
        return {a: pa.Table.from_batches(stream.batches, stream.table.schema) for a, stream in streams.items()}

    @property
    def binding(self) -> JoinBinding:
        """For the loops below the public face."""
        return JoinBinding.of(JoinPlan.of(**self.arguments), {a: s.table.schema for a, s in self.streams.items()})

    def expected_ids(self) -> list[tuple[int, ...]]:
        """By DuckDB: row numbers and largest times."""
        return expected_ids(
            {a: s.table for a, s in self.streams.items()}, {a: s.ticks for a, s in self.streams.items()}, self.on,
            self.windows,
        )  # fmt: skip

    def expected(self) -> list[tuple[Any, ...]]:
        """By DuckDB: row numbers and largest times. Where columns are selected: their values in these rows, as text,
        since ids need not be among them, and NaN is NaN there."""
        ids = self.expected_ids()
        if self.columns is None:
            return list(ids)
        values = {
            (a, name): s.table[name].to_pylist() for a, s in self.streams.items() for name in s.table.column_names
        }
        place = {alias: n for n, alias in enumerate(self.streams)}
        return sorted(
            tuple(repr(values[a, name][row[place[a]]] if a else row[-1]) for a, name in self.columns) for row in ids
        )

    def found(self, out: list[pa.RecordBatch]) -> list[tuple[Any, ...]]:
        """What `expected` returns, sorted. Without select, every column must be that of the row with that number."""
        if len(out) != 1:  # a join without results gives one empty batch, for its columns
            assert all(batch.num_rows for batch in out)
        if self.columns is not None:
            names = [f"{alias}_{name}" if alias else name for alias, name in self.columns]
            assert all(batch.schema.names == names for batch in out)
        if not sum(batch.num_rows for batch in out):
            return []
        made = pa.Table.from_batches(out)
        times = made["event_time"].cast(pa.int64()).to_pylist()
        if self.columns is not None:
            values = [times if name == "event_time" else made[name].to_pylist() for name in names]
            return sorted(tuple(map(repr, row)) for row in zip(*values, strict=True))
        ids = [made[f"{alias}_id"].to_pylist() for alias in self.streams]
        for (alias, stream), rows in zip(self.streams.items(), ids, strict=True):
            for name in stream.table.column_names:
                values = stream.table[name].to_pylist()
                # as text: NaN is NaN there
                assert repr(made[f"{alias}_{name}"].to_pylist()) == repr([values[i] for i in rows]), name
        return sorted(zip(*ids, times, strict=True))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str, int]]]:
    """Streams, and edges with the number of the class of columns they equate."""
    n = draw(st.sampled_from([2, 2, 3, 3, 4, 5]))
    aliases = list(ALIASES[:n])
    shape = draw(st.sampled_from(["star", "chain", "tree", "cycle"]))
    if shape == "star":
        pairs = [(aliases[0], other) for other in aliases[1:]]
    elif shape == "tree":
        pairs = [(aliases[draw(st.integers(0, i - 1))], aliases[i]) for i in range(1, n)]
    else:
        pairs = list(itertools.pairwise(aliases)) + ([(aliases[-1], aliases[0])] if shape == "cycle" and n > 2 else [])
    edges: list[tuple[str, str, int]] = []
    for one, other in pairs:
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            near = sorted({c for a, b, c in edges if {a, b} & {one, other}})
            fresh = len({c for *_, c in edges})
            edge = one, other, draw(st.sampled_from([fresh, *near]))
            if edge not in edges:
                edges.append(edge)
    return aliases, draw(st.permutations(edges))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A join of up to five streams."""
    aliases, edges = draw(graphs())
    r = random.Random(draw(st.integers(0, 2**32)))
    rows = MOST_ROWS[len(aliases)]
    family_of = {c: draw(st.sampled_from(sorted(FAMILIES))) for c in sorted({c for *_, c in edges})}
    domain_of = {}
    for c, family in family_of.items():
        common, *others = FAMILIES[family][1]
        domain_of[c] = [common, *r.sample(others, min(len(others), r.randint(0, 3)))]
    conditions = [f"{one}.k{c} = {other}.k{c}" for one, other, c in edges]
    within = draw(st.booleans()) and draw(st.booleans())
    if within:  # two columns of one stream
        one, _, c = edges[0]
        conditions.append(f"{one}.k{c} = {one}.w{c}")
    further = draw(st.lists(st.sampled_from(RESIDUALS), max_size=2)) if draw(st.booleans()) else []
    conditions += [f"({text.format(*r.sample(aliases, 2))})" for text in further]
    unit = draw(st.sampled_from([None, None, "us", "ns", "ms"]))
    zone = r.choice([None, "UTC"])
    first_tick, span = r.choice([0, 0, -20, 1000]), r.choice([0, 5, 40])
    # a self-join: the same table under two names
    twins = draw(st.booleans()) and draw(st.booleans())
    owner = {alias: alias for alias in aliases} | ({aliases[1]: aliases[0]} if twins else {})

    tables: dict[str, tuple[pa.Table, list[int | None], int, int]] = {}
    for first in dict.fromkeys(owner.values()):
        mine = [alias for alias in aliases if owner[alias] == first]
        classes = sorted({c for one, other, c in edges if {one, other} & set(mine)})
        count = draw(st.sampled_from([rows] * 7 + [rows // 2, 1, 0]))
        wanted = [(f"k{c}", c) for c in classes] + [(f"w{c}", c) for c in classes if within]
        columns = {name: _keys(r, family_of[c], domain_of[c], count) for name, c in wanted}
        times, ticks, step, lateness = _times(r, unit, zone, count, first_tick, span)
        columns |= {
            "t": times,
            "id": pa.array(range(count), pa.int64()),
            "x": pa.array([r.choice([None, -2, 0, 1, 2, 3]) for _ in range(count)], r.choice([pa.int64(), pa.int16()])),
            "s": pa.array([r.choice([None, "u", "v"]) for _ in range(count)], pa.string()),
            "flag": pa.array([r.choice([None, True, False]) for _ in range(count)], pa.bool_()),
        }
        for n, (kind, make) in enumerate(r.sample(PAYLOADS, draw(st.integers(0, 3)))):
            columns[f"p{n}"] = array_of(kind, [make(r) if r.random() < 0.8 else None for _ in range(count)])
        names = r.sample(list(columns), len(columns))
        tables[first] = pa.table({name: columns[name] for name in names}), ticks, step, lateness

    timeless = draw(st.sets(st.sampled_from(aliases), max_size=len(aliases) - 1)) if draw(st.booleans()) else set()
    timed = [alias for alias in aliases if alias not in timeless]
    finest = max(tables[owner[a]][2] for a in timed)
    streams = {}
    # ticks of the finest unit in one of its own; not used for tables
    steps = {a: max(finest // tables[owner[a]][2], 1) for a in aliases}
    for alias in aliases:
        table, ticks, _, lateness = tables[owner[alias]]
        step = steps[alias]
        scaled = [None if tick is None else tick * step for tick in ticks]
        streams[alias] = Stream(table, scaled, cut(r, table), lateness * step)
    windows = {alias: r.choice([0, 0, 1, 3, 10, 40]) * steps[r.choice(timed)] + r.choice([0, 0, 1]) for alias in timed}
    units = [name for name, ns in _NS.items() if 10**9 // ns == finest]
    # in the order `on` names the streams, as results have them
    graph = JoinPlan.of(" AND ".join(conditions), 0, "t", 0).graph
    streams = {alias: streams[alias] for alias in graph.aliases}
    windows = {alias: windows[alias] for alias in graph.aliases if alias in windows}
    select, selected = _selected(r, streams) if draw(st.booleans()) else (None, None)
    return Case(
        " AND ".join(conditions), streams, windows, None if unit is None else units[0], select, selected,
        r.random() < 0.5,
    )  # fmt: skip


def _selected(r: random.Random, streams: dict[str, Stream]) -> tuple[list[str], list[tuple[str, str]]]:
    """Some columns of some streams, as a user may write them, and what that is."""
    entries: list[tuple[str, list[tuple[str, str]]]] = []
    for alias, stream in streams.items():
        names = stream.table.column_names
        how = r.choice(["none", "all", "some", "some", "some"])
        if how == "all":
            entries.append((f"{alias}.*", [(alias, name) for name in names]))
        elif how == "some":
            some = r.sample(names, r.randint(0, min(3, len(names))))
            entries += [(f"{alias}{r.choice('._')}{name}", [(alias, name)]) for name in some]
    r.shuffle(entries)
    time = ("event_time", [("", "event_time")])
    listed = not entries or r.random() < 0.5
    if listed:
        entries.insert(r.randint(0, len(entries)), time)
    columns = [column for _, found in entries for column in found] + ([] if listed else time[1])
    return [text for text, _ in entries], columns


def _keys(r: random.Random, family: str, domain: list[Any], count: int) -> pa.Array:
    kind = r.choice(FAMILIES[family][0])
    values = [v for v in domain if _fits(kind, v)]
    nulls = r.choice([0.0, 0.0, 0.0, 0.2])
    skewed = [v for n, v in enumerate(values) for _ in range(3 if n == 0 else 1)]
    return array_of(kind, [r.choice(skewed) if skewed and r.random() >= nulls else None for _ in range(count)])


def _times(
    r: random.Random, unit: str | None, zone: str | None, count: int, first: int, span: int
) -> tuple[pa.Array, list[int | None], int, int]:
    """The column, its ticks, how many of them a second has (1 for whole numbers), and a lateness that none exceeds."""
    unsigned = r.choice([pa.uint32(), pa.uint64()])
    kind = r.choice([pa.int64(), pa.int64(), pa.int32(), pa.int16(), unsigned if first >= 0 else pa.int64()])
    if unit is not None:
        kind = pa.timestamp(r.choice([unit, unit, unit, "ms" if unit == "us" else "us"]), zone)
        first, span = _coarser(first, kind.unit, unit), max(1, _coarser(span, kind.unit, unit))
    nulls = r.choice([0.0, 0.0, 0.1])
    ticks: list[int | None] = [first + r.randint(0, span) for _ in range(count)]
    lateness, order = 0, r.choice(["in order", "in order", "none", "nearly", "nearly"])
    if order == "none":
        lateness = span
    else:
        ticks.sort()
    if order == "nearly":  # each at most this much before those that precede it, and windows expire in between
        lateness = r.randint(0, span)
        ticks = [max(first, tick - r.randint(0, lateness)) for tick in ticks if tick is not None]
    ticks = [None if r.random() < nulls else tick for tick in ticks]
    per_second = 1 if unit is None else 10**9 // _NS[kind.unit]
    return pa.array(ticks, pa.int64()).cast(kind), ticks, per_second, lateness


def _coarser(ticks: int, unit: str, than: str) -> int:
    return ticks * _NS[than] // _NS[unit]


def cut(r: random.Random, table: pa.Table) -> list[pa.RecordBatch]:
    """At random places, some of them one: batches may be empty, and begin anywhere in their arrays; some have a
    dictionary of their own."""
    rows = table.num_rows
    whole = table.combine_chunks()
    edges = sorted([0, rows, *(r.randint(0, rows) for _ in range(r.choice([0, 1, 4])))])
    batches = []
    for start, end in itertools.pairwise(edges):
        arrays = []
        for column in whole.columns:
            array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
            array = array.slice(start, end - start)
            if pa.types.is_dictionary(array.type) and r.random() < 0.5:
                array = encoded(array.cast(array.type.value_type), array.type)
            elif r.random() < 0.2:
                array = pa.concat_arrays([array])  # a copy, which begins at 0
            arrays.append(array)
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=table.schema))
    return batches


@st.composite
def shapes(draw: st.DrawFn, graph: JoinGraph) -> tuple[Shape, dict[Shape, str]]:
    """A plan that keeps sub-joins: any tree of joins of two or more inputs, and the method of each join of two."""
    parts: list[Shape] = list(graph.aliases)
    methods: dict[Shape, str] = {}
    while len(parts) > 1:
        made: tuple[Shape, ...] = (draw(st.sampled_from(parts)),)
        for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
            near = [
                part
                for part in parts
                if part not in made and any(graph.shared(a, b) for a in streams_of(made) for b in streams_of(part))
            ]
            if near:
                made = (*made, draw(st.sampled_from(near)))
        parts = [part for part in parts if part not in made] + [made]
        methods[made] = draw(st.sampled_from(["hash", "loops"]))
    return parts[0], methods
