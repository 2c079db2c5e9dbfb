"""Random queries over random data, each in our words and in DuckDB's."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from tests.plan.sql.nasty_texts import TEXTS, quoted_text

BEGIN_US = 1_767_225_600 * 10**6
SECOND_US = 10**6
STREAMS = ("a", "b", "c", "d")
TABLE = "t"
NASTY = [text for text in TEXTS if "\0" not in text][::3]
"""With dollars, quotes, backslashes and control characters; DuckDB's texts end at a zero."""


def _of_duckdb(text: str) -> str:
    """In its words. What raises with us is NULL there, which makes no difference where a guard is false; so is what is
    divided by zero. `_Writer.literal` writes numbers for texts that are quoted differently."""
    for n, nasty in enumerate(NASTY):
        text = text.replace(f"'<{n}>'", "'" + nasty.replace("'", "''") + "'")
    text = text.replace(" DIV ", " // ").replace(" CAST(", " TRY_CAST(").replace("<=>", "IS NOT DISTINCT FROM")
    text = re.sub(r"\b(concat|l?r?trim|sqrt|ln|floor|ceil|substring)\(", r"our_\1(", text)
    text = text.replace("regexp_like(", "regexp_matches(").replace("nvl(", "ifnull(")
    return text.replace("startswith(", "starts_with(").replace("endswith(", "ends_with(")


def _of_ours(text: str) -> str:
    for n, nasty in enumerate(NASTY):
        text = text.replace(f"'<{n}>'", quoted_text(nasty))
    return text


@dataclass(frozen=True)
class RandomQuery:
    """The same question twice, and what it is asked of."""

    ours: str
    duckdb: str
    streams: dict[str, pa.Table]
    lateness_us: int
    table: pa.Table
    pieces: int


def _data(r: random.Random, rows: int, jitter_us: int, grid_us: int) -> pa.Table:
    true = sorted(r.randrange(0, 120 * SECOND_US, grid_us) for _ in range(rows))
    times = [None if r.random() < 0.04 else BEGIN_US + at - r.randint(0, jitter_us) for at in true]
    return pa.table({
        "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
        "k": pa.array([r.choice([0, 1, 2, None]) for _ in range(rows)], pa.int64()),
        "j": pa.array([r.choice([0, 1, 2, 3]) for _ in range(rows)], pa.int32()),
        "n": pa.array([r.choice([-7, -1, 0, 1, 2, 3, 5, None]) for _ in range(rows)], pa.int32()),
        "v": pa.array([r.choice([0.0, -0.0, 1.5, -2.25, math.nan, math.inf, None]) for _ in range(rows)], pa.float64()),
        "s": pa.array(
            [r.choice(["", "x", "X", "xy", "%", "12", "7", r.choice(NASTY), None]) for _ in range(rows)], pa.string()
        ),
        "m": pa.array([r.choice([Decimal("0.25"), Decimal("-1.50"), Decimal(3), None]) for _ in range(rows)],
                      pa.decimal128(8, 2)),
        "p": pa.array([r.choice([True, False, None]) for _ in range(rows)], pa.bool_()),
        "d": pa.array([r.choice([date(2026, 1, 1), date(1969, 12, 31), date(2024, 2, 29), None]) for _ in range(rows)],
                      pa.date32()),
    })  # fmt: skip


class _Writer:
    """Parts of queries that both understand alike."""

    def __init__(self, r: random.Random, aliases: list[str]) -> None:
        self.r, self.aliases = r, aliases

    def condition(self, depth: int = 2) -> str:
        kind = self.r.randrange(4 if depth else 1)
        if kind == 1:
            return f"NOT ({self.condition(depth - 1)})"
        if kind >= 2:
            word = "AND" if kind == 2 else "OR"
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        way = self.r.random()
        return self._guarded() if way < 0.2 else self.typed("truth", 2) if way < 0.6 else self._simple()

    def literal(self) -> str:
        """A text that means something to a parser."""
        return f"'<{self.r.randrange(len(NASTY))}>'"

    def _guarded(self) -> str:
        """What can raise, twice, after what keeps it from raising."""
        a, b = self.r.choice(self.aliases), self.r.choice(self.aliases)
        sign, number = self.r.choice(["=", "<>", "<", "<=", ">", ">="]), self.r.randint(-2, 9)
        return self.r.choice([
            f"({a}.n <> 0 AND 10 DIV {a}.n {sign} {number} AND 10 DIV {a}.n < 5)",
            f"({a}.n = 0 OR 10 DIV {a}.n {sign} {number} OR 10 DIV {a}.n < 2)",
            f"({a}.j > 0 AND {b}.n DIV {a}.j BETWEEN {number} AND 3)",
            f"({a}.s IN ('12', '7') AND CAST({a}.s AS INT) {sign} {number} AND CAST({a}.s AS INT) > {b}.j)",
            f"CASE WHEN {a}.n > 0 THEN 10 DIV {a}.n {sign} {number} ELSE {b}.j > 1 END",
        ])  # fmt: skip

    def _simple(self) -> str:
        a, b = self.r.choice(self.aliases), self.r.choice(self.aliases)
        sign = self.r.choice(["=", "<>", "<", "<=", ">", ">="])
        number = self.r.randint(-2, 4)
        return self.r.choice([
            f"{a}.n {sign} {number}", f"{a}.j {sign} {number}", f"{a}.k {sign} {number}", f"{a}.v {sign} 1.5e0",
            f"{a}.n {sign} {b}.j", f"{a}.v {sign} {b}.v", f"{a}.s {sign} {b}.s", f"{a}.ts {sign} {b}.ts",
            f"{a}.n + {b}.j {sign} {number}", f"{a}.n IS NULL", f"{a}.v IS NOT NULL", f"{a}.n BETWEEN {number} AND 3",
            f"{a}.j IN (1, {number})", f"{a}.n NOT IN (0, {number})", f"{a}.s LIKE 'x%'", f"{a}.s NOT LIKE '_'",
            f"CASE WHEN {a}.n > {number} THEN {b}.j ELSE {a}.n END {sign} 1", f"{number} {sign} 1",
            f"{a}.v {sign} {a}.n",
            f"coalesce({a}.n, {b}.j, 1) {sign} {number}",
            f"{a}.s {sign} {self.literal()}", f"{a}.s IN ({self.literal()}, {self.literal()})",
            f"startswith({a}.s, {self.literal()})",
        ])  # fmt: skip

    def typed(self, kind: str, depth: int) -> str:
        """An expression of a kind over all functions; it never raises, and both have the same value for it."""
        a = self.r.choice(self.aliases)
        if depth <= 0 or self.r.random() < 0.1:
            leaves = {"whole": [f"{a}.n", f"{a}.j", f"{a}.k", "2", "-3"], "real": [f"{a}.v", "1.5e0", "-0.25e0"],
                      "exact": [f"{a}.m", "1.5", "-0.25"], "text": [f"{a}.s", f"{a}.s", self.literal(), "'x'"],
                      "truth": [f"{a}.p", "TRUE", f"({a}.n > 1)"], "time": [f"{a}.ts"], "day": [f"{a}.d"]}  # fmt: skip
            return self.r.choice(leaves[kind])
        form = self.r.choice(GRAMMAR[kind] + ANY_KIND).replace("<same>", f"<{kind}>")
        form = re.sub("#", lambda _: str(self.r.randint(-3, 4)), form)
        return re.sub(r"<([a-z]+)>", lambda found: self.typed(found[1], depth - 1), form)

    def conditions(self, most: int) -> list[str]:
        return [self.condition(self.r.randint(0, 2)) for _ in range(self.r.choice([0, self.r.randint(0, most)]))]

    def value(self) -> str:
        if self.r.random() < 0.5:
            return self.typed(self.r.choice(KINDS), 3)
        a, b = self.r.choice(self.aliases), self.r.choice(self.aliases)
        return self.r.choice([
            f"{a}.n", f"{a}.k", f"{a}.v", f"{a}.s", f"{a}.ts", f"{a}.n + {b}.j", f"upper({a}.s)", f"{a}.n * 2 - 1",
            f"coalesce({a}.s, {b}.s)", f"{a}.v > {b}.n", f"CASE WHEN {a}.n > 0 THEN {a}.s ELSE 'no' END",
            f"coalesce({a}.s, {self.literal()})", f"CASE WHEN {a}.n <> 0 THEN 10 DIV {a}.n ELSE {b}.n END",
            self.literal(),
        ])  # fmt: skip


ANY_KIND = ["coalesce(<same>, <same>)", "CASE WHEN <truth> THEN <same> ELSE <same> END", "if(<truth>, <same>, <same>)",
            "nvl(<same>, <same>)", "ifnull(<same>, <same>)", "nullif(<same>, <same>)", "greatest(<same>, <same>)",
            "least(<same>, <same>, <same>)", "CASE <whole> WHEN # THEN <same> END"]  # fmt: skip
GRAMMAR = {
    "whole": ["(<whole> + <whole>)", "(<whole> - #)", "(<whole> * #)", "(<whole> DIV 2)", "(<whole> % 3)", "-(<whole>)",
              "abs(<whole>)", "length(<text>)", "instr(<text>, <text>)", "floor(<whole> / 4)", "ceil(<whole> / 4)",
              "year(<day>)", "month(<time>)", "day(<day>)", "hour(<time>)", "minute(<time>)", "second(<time>)",
              "extract(minute FROM <time>)", "round(<whole>, -1)", " CAST(<truth> AS INT)", " CAST(<whole> AS BIGINT)"],
    "real": ["(<real> + <real>)", "(<real> * <real>)", "(<real> - <whole>)", "(<whole> / 4)", "sqrt(<whole>)",
             "ln(<whole>)", "exp(<whole> % 5)", "power(<whole>, 2)", "abs(<real>)", "-(<real>)", "(<real> / 2)",
             "round(<whole> / 4, 1)", " CAST(<whole> AS DOUBLE)", " CAST(<exact> AS DOUBLE)", "(<real> % 2)"],
    "exact": ["(<exact> + <exact>)", "(<exact> * 2)", "(<exact> - <whole>)", "abs(<exact>)", "-(<exact>)",
              " CAST(<whole> AS DECIMAL(20, 2))"],
    "text": ["upper(<text>)", "lower(<text>)", "trim(<text>)", "ltrim(<text>)", "rtrim(<text>)",
             "concat(<text>, <text>)", "(<text> || <text>)", "substring(<text>, #, 2)",
             "substring(<text>,  CAST(<whole> AS INT), #)",
             "replace(<text>, 'x', <text>)", " CAST(<whole> AS STRING)", " CAST(<truth> AS STRING)",
             " CAST(<day> AS STRING)"],
    "truth": ["(<truth> AND <truth>)", "(<truth> OR <truth>)", "(NOT <truth>)", "(<whole> = <whole>)",
              "(<real> < <real>)", "(<exact> >= <exact>)", "(<text> <> <text>)", "(<time> > <time>)",
              "(<day> <= <day>)", "(<truth> = <truth>)", "(<whole> <=> <whole>)", "(<text> <=> <text>)",
              "(<real> <=> (<real>))",
              "(<truth> <=> (<truth>))", "(<whole> BETWEEN # AND <whole>)", "(<text> NOT BETWEEN 'a' AND <text>)",
              "(<whole> IN (#, #, NULL))", "(<text> NOT IN ('x', <text>))", "(<whole> IS NULL)", "(<text> IS NOT NULL)",
              "((<truth>) IS TRUE)", "((<truth>) IS NOT FALSE)", "startswith(<text>, <text>)",
              "endswith(<text>, <text>)",
              "contains(<text>, 'x')", "(<text> LIKE 'x%')", "(<text> NOT LIKE '%_y')", "(<text> LIKE '!%' ESCAPE '!')",
              "regexp_like(<text>, '^[a-x]+$')", " CAST(<whole> AS BOOLEAN)", "(<exact> > <whole>)",
              "(<time> - <time> > INTERVAL '5' SECONDS)", "(<real> > <whole>)", "(<time> >= '2026-01-01 00:00:30')",
              "(<day> = '2026-01-01')", "(<exact> IN (1.5, 0.25, #))"],
    "time": ["(<time> + INTERVAL '5' MINUTES)", "(<time> - INTERVAL 90 SECONDS)", "(<time> + - INTERVAL '1' HOUR)",
             "date_trunc('minute', <time>)", "date_trunc('hour', <time>)", "date_trunc('quarter', <time>)",
             "date_trunc('week', <time>)", "(<time> + (<time> - <time>))"],
    "day": [" CAST(<time> AS DATE)"],
}  # fmt: skip
"""Forms of expressions by the kind of their values: whole numbers, floating-point numbers, decimals, and so on."""
KINDS = tuple(GRAMMAR)


@st.composite
def queries(draw: st.DrawFn) -> RandomQuery:
    """One to four streams, perhaps a table; perhaps groups."""
    drawn = draw(st.integers(0, 2**32)), draw(st.integers(1, 4)), draw(st.integers(0, 60)), draw(st.integers(1, 8))
    count, few, pieces = drawn[1:]
    r = random.Random(str(drawn))  # Hypothesis draws the same numbers again and again, but not all of them
    many = {1: 60, 2: 40, 3: 30, 4: 24}[count]
    rows = r.choice([min(few, many), many, many])  # most queries should have an answer
    jitter_us = r.choice([0, 3 * SECOND_US])
    grid_us = r.choice([1, SECOND_US, 5 * SECOND_US])
    aliases = list(STREAMS[:count])
    # a stream may be read twice, under another name
    relations = {alias: r.choice(aliases[: n + 1]) if r.random() < 0.2 else alias for n, alias in enumerate(aliases)}
    joined_table = r.random() < 0.25
    streams = {alias: _data(r, rows, jitter_us, grid_us) for alias in aliases}
    table = pa.table({
        "k": pa.array([0, 1, 1, None, 9], pa.int32()), "j": pa.array([0, 1, 2, 3, 4], pa.int32()),
        "n": pa.array([1, None, 3, 4, 5], pa.int32()), "s": pa.array(["x", None, "xy", "", "z"]),
        "v": pa.array([0.0, math.nan, 1.5, None, 2.0]),
    })  # fmt: skip
    writer = _Writer(r, aliases)
    keys = _shape(r, aliases)
    if joined_table:
        keys.append(f"{r.choice(aliases)}.{r.choice('kj')} = {TABLE}.{r.choice('kj')}")
    conditions = writer.conditions(3 if count == 1 else 2)
    grouped = r.random() < 0.5
    windows = {alias: r.choice([0, 1, 5, 20, 60, 60, 120]) * SECOND_US for alias in relations}
    sources = [f"{relations[alias]} AS {alias}" for alias in aliases] + [TABLE] * joined_table
    trailing = count > 1 and r.random() < 0.2
    if trailing:
        windows = dict.fromkeys(aliases, windows["a"])
    ours, conditions = _from(r, relations, windows if count > 1 and not trailing else {}, keys, conditions)
    ours += f", {TABLE}" * joined_table
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    end = f" WINDOW {windows['a'] // SECOND_US} SECONDS" if trailing else ""
    latest = f"greatest({', '.join(f'{a}.ts' for a in aliases)})" if count > 1 else "a.ts"
    within = [f"{a}.ts IS NOT NULL AND epoch_us({latest}) - epoch_us({a}.ts) <= {windows[a]}" for a in aliases]
    # rows without a time are neither joined nor grouped
    kept = conditions + keys + (within if count > 1 else ["a.ts IS NOT NULL"] if joined_table else [])
    theirs = f"FROM {', '.join(sources)}" + (f" WHERE {' AND '.join(kept)}" if kept else "")
    if grouped:
        asked = _grouped(r, writer, ours, where, theirs, latest)
    else:
        selected = ", ".join(f"{writer.value()} AS c{n}" for n in range(r.randint(1, 4)))
        asked = f"SELECT {selected} FROM {ours}{where}", f"SELECT {selected} {theirs}"
    return RandomQuery(_of_ours(asked[0] + end), _of_duckdb(asked[1]), streams, jitter_us, table, pieces)


def _from(
    r: random.Random, relations: dict[str, str], windows: dict[str, int], keys: list[str], conditions: list[str]
) -> tuple[str, list[str]]:  # fmt: skip
    """FROM, and the conditions of WHERE: keys are in ON or in WHERE."""
    sources = []
    for alias, relation in relations.items():
        us = windows.get(alias)
        window = "" if us is None else "[NOW] " if not us else f"[RANGE {us // SECOND_US} SECONDS] "
        sources.append(f"{relation} {window}AS {alias}")
    joins = r.random() < 0.3
    if joins:
        for n, key in enumerate(keys[: len(sources) - 1], 1):
            sources[n] += f" ON {key}"
    left = conditions + (keys[len(sources) - 1 :] if joins else keys)
    r.shuffle(left)
    return (" JOIN " if joins else ", ").join(sources), left


def _shape(r: random.Random, aliases: list[str]) -> list[str]:
    """A chain, a star, or any tree, and perhaps an equality more."""
    shape = r.choice(["chain", "star", "tree"])
    keys = []
    for n in range(1, len(aliases)):
        other = aliases[{"chain": n - 1, "star": 0, "tree": r.randrange(n)}[shape]]
        one = f"{aliases[n]}.{r.choice('kjn')}" if r.random() < 0.8 else f"{aliases[n]}.s"
        side = f"{other}.s" if one.endswith(".s") else f"{other}.{r.choice('kjn')}"
        if one.endswith(".s") and r.random() < 0.5:
            one, side = f"upper({one})", f"lower(upper({side}))"
        keys.append(f"{one} = {side}" if r.random() < 0.5 else f"{side} = {one}")
    if len(aliases) > 1 and r.random() < 0.2:
        one, other = r.sample(aliases, 2)
        keys.append(f"{one}.j = {other}.j")
    return keys


def _grouped(
    r: random.Random, writer: _Writer, ours: str, where: str, theirs: str, latest: str
) -> tuple[str, str]:  # fmt: skip
    length = r.choice([1, 7, 30, 60]) * SECOND_US
    slide = length if r.random() < 0.5 else max(SECOND_US, length // r.choice([2, 3, 4]) // SECOND_US * SECOND_US)
    a = r.choice(writer.aliases)
    drawn = [writer.typed(r.choice(KINDS), 2) for _ in range(4)]
    keys = r.sample(
        [f"{a}.k", f"{a}.s", f"{a}.n % 3", f"upper({a}.s)", f"{a}.v > 0", f"{writer.aliases[0]}.j",
         *(key for key in drawn if f"{a}." in key)], r.randint(0, 2)
    )  # fmt: skip
    sums = [f"sum({a}.n)", f"sum({a}.k * 2)", f"sum({writer.typed('whole', 2)})"]
    aggregates = r.sample(
        ["count(*)", f"count({a}.n)", f"avg({a}.j)", f"min({a}.v)", f"max({a}.s)", f"max({a}.ts)",
         f"count(DISTINCT {a}.s)", f"sum({a}.v)", *sums, *(f"min({each})" for each in drawn),
         *(f"count(DISTINCT {each})" for each in drawn), f"sum({writer.typed('exact', 1)})",
         f"avg({writer.typed('whole', 2)})"], r.randint(1, 4),
    )  # fmt: skip
    # the sums of whole numbers are HUGEINT in DuckDB
    cast = [f"{each}::BIGINT" if each in sums else each for each in aggregates]
    having = f" HAVING {r.choice(['count(*) > 1', f'max({a}.j) >= 2', f'sum({a}.n) > 0 OR count(*) = 1'])}" * r.choice(
        [0, 0, 1]
    )
    bounds = r.choice([[], ["window_start"], ["window_start", "window_end"]])
    named = [f"{key} AS k{n}" for n, key in enumerate(keys)]
    lengths = f"{length // SECOND_US} SECONDS", f"{slide // SECOND_US} SECONDS"
    window = f"TUMBLE({lengths[0]})" if slide == length else f"HOP({lengths[0]}, {lengths[1]})"
    selected = [*named, *(f"{each} AS g{n}" for n, each in enumerate(aggregates)), *bounds]
    told = {
        "window_start": "make_timestamp(w) AS window_start",
        "window_end": f"make_timestamp(w + {length}) AS window_end",
    }
    of_duckdb = [*named, *(f"{each} AS g{n}" for n, each in enumerate(cast)), *(told[bound] for bound in bounds)]
    # every row beside every window that covers it; a row without a time is in none
    tick = f"epoch_us({latest})"
    starts = f"unnest(range({tick} // {slide} * {slide}, {tick} - {length}, -{slide}))"
    source, _, rest = theirs.removeprefix("FROM ").partition(" WHERE ")
    condition = f"{latest} IS NOT NULL" + (f" AND ({rest})" if rest else "")
    return (
        f"SELECT {', '.join(selected)} FROM {ours}{where} GROUP BY {', '.join([*keys, window])}{having}",
        f"SELECT {', '.join(of_duckdb)} FROM {source}, LATERAL (SELECT {starts} AS w) WHERE {condition} "
        f"GROUP BY {', '.join([*keys, 'w'])}{having}",
    )
