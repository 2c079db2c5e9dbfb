"""The public face of continuous queries: `session(...)` makes a :class:`Session`, which knows streams by name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain, count
from typing import Any

import pyarrow as pa

from thalweg.adapt import Chosen
from thalweg.deprecated import current_arguments
from thalweg.errors import PlanError, nearest
from thalweg.optimizer import optimize
from thalweg.plan.relation import Catalog, Relation, UserFunction, never_answers
from thalweg.plan.sql.analysis import read_query
from thalweg.plan.sql.vocabulary import NAMES
from thalweg.plan.type_rules import type_of
from thalweg.plan.window import Length, length_of
from thalweg.session.continuous_query import ContinuousQuery, QueryOrigin
from thalweg.session.query_settings import QuerySettings
from thalweg.session.running import Running
from thalweg.stats import NOTHING_KNOWN, Knowledge

_registrations = count(1)
"""Of relations and functions, over all sessions of this process."""


def session(spark: Any = None) -> Session:
    """A session whose queries run on `spark`, or, without one, in this process.

    >>> import pyarrow as pa, thalweg as tw
    >>> from datetime import datetime
    >>> s = tw.session()
    >>> times = [datetime(2026, 1, 1, 12, 0, second) for second in (1, 2, 3)]
    >>> s.stream("packets", pa.table({"ts": times, "size": [40, 1500, 60]}), time="ts")
    >>> s.query("SELECT size * 8 AS bits FROM packets WHERE size < :most", args={"most": 100}).dataframe().to_pylist()
    [{'bits': 320}, {'bits': 480}]
    """
    if spark is not None and not (hasattr(spark, "createDataFrame") and hasattr(spark, "readStream")):
        raise PlanError(f"session() takes a SparkSession or nothing, not a {type(spark).__name__}; leave it out")
    return Session(spark)


class Session:
    """Register with ``s.stream``, ``s.table`` and ``s.function``; ask with ``s.query``. Names match without regard to
    case, and registering a name again replaces it: queries that were made keep what they had."""

    def __init__(self, spark: Any = None) -> None:
        self._spark = spark
        self._relations: dict[str, Relation] = {}
        self._data: dict[str, Any] = {}
        self._functions: dict[str, UserFunction] = {}
        self._declared: dict[str, Knowledge] = {}
        self._running = Running()

    def stream(
        self,
        name: str,
        data: Any,
        time: str,
        lateness: Length = "0 seconds",
        *,
        statistics: Mapping[str, Any] | None = None,
    ) -> None:
        """A stream, which counts as unbounded also where its data are finished.

        Parameters
        ----------
        data
            On Spark a DataFrame, streaming or finished; a watermark it has on `time` is kept. In this process a table
            or an iterable of Arrow record batches; an iterator can be read by one query.
        time
            The column with a row's time, a timestamp.
        lateness
            How far the stream may be out of order; a watermark that the DataFrame brings says it instead.
        statistics
            What is known beforehand, for the first plan: ``{"rows_per_second": 100, "distinct": {"sector": 12}}``.
        """
        data = self._begun(name, data)
        schema = self._schema(name, data)
        found = [column for column in schema.names if column == time] or [
            column for column in schema.names if isinstance(time, str) and column.lower() == time.lower()
        ]
        if len(found) != 1:
            hint = nearest(str(time), schema.names)
            raise PlanError(
                f"stream {name!r}: time={time!r} is no column of it{hint}; it has {', '.join(schema.names)}"
            )
        kind = schema.field(found[0]).type
        if not pa.types.is_timestamp(kind):
            raise PlanError(f"stream {name!r}: {found[0]} is {kind}; windows are of time: cast it to a timestamp")
        late_us = length_of(lateness, "us", "lateness")
        if self._spark is not None and data.isStreaming:
            from thalweg.runtime.spark.joins.marked import watermark_us

            own = watermark_us(data, found[0])
            late_us = late_us if own is None else own
        declared = _declared(name, statistics, schema, "rows_per_second")
        self._register(Relation(self._name(name), schema, found[0], late_us, next(_registrations)), data, declared)

    def table(self, name: str, data: Any, *, statistics: Mapping[str, Any] | None = None) -> None:
        """A finished relation: its rows have no time and join with rows of any time."""
        data = self._begun(name, data)
        schema = self._schema(name, data)
        if getattr(data, "isStreaming", False):
            raise PlanError(f"table {name!r} is a streaming DataFrame: register it by s.stream({name!r}, df, time=...)")
        if isinstance(data, Iterator):
            data = pa.Table.from_batches(list(data), schema)
        declared = _declared(name, statistics, schema, "rows")
        self._register(Relation(self._name(name), schema, registration=next(_registrations)), data, declared)

    def function(
        self,
        name: str,
        func: Callable[..., Any],
        returns: Any,
        vectorized: bool = False,
        cost: float | None = None,
        safe: bool = False,
    ) -> None:
        """A function that queries may call.

        Parameters
        ----------
        func
            Of one row's values (None for NULL); with ``vectorized=True`` of Arrow arrays, giving one value a row. It
            must be deterministic, and neither async nor a generator function.
        returns
            A type by its name in Spark, such as ``"boolean"`` or ``"decimal(10, 2)"``; or Spark's or Arrow's own.
        cost
            Of a call for one row, in microseconds, if you know: it decides where the function is tried first. What it
            really costs is measured.
        safe
            It never raises. This is a hint: rows on which a function raises before a join are kept until it is known
            whether a result would have them, which needs a column in the join's windows. A safe function needs none; if
            it raises nevertheless, the query fails.
        """
        import sqlglot

        key = self._name(name, "function").lower()
        if not callable(func):
            raise PlanError(f"function {name!r}: {func!r} cannot be called; give a function")
        if (why := never_answers(func)) is not None:
            raise PlanError(f"function {name!r} {why}")
        for word, value in (("vectorized", vectorized), ("safe", safe)):
            if not isinstance(value, bool):
                raise PlanError(f"function {name!r}: {word}={value!r} must be True or False")
        if not key.isidentifier():
            raise PlanError(f"function {name!r}: a name has letters, digits and _ alone; choose another")
        try:
            known = type(sqlglot.parse_one(f"{name}(x)", dialect="spark")).__name__ != "Anonymous"
        except sqlglot.errors.SqlglotError:
            known = True
        if known or key in NAMES or key in ("tumble", "hop"):
            raise PlanError(f"function {name!r}: SQL has a function or a word of that name; choose another")
        kind = type_of(returns)
        if kind is None:
            raise PlanError(
                f"function {name!r}: returns={returns!r} is no type here; write 'boolean', 'double', 'string'"
            )
        number = isinstance(cost, int | float) and not isinstance(cost, bool)
        if cost is not None and not (number and 0 <= cost < math.inf):
            raise PlanError(f"function {name!r}: cost={cost!r} must be a number of microseconds a row")
        self._functions[key] = UserFunction(name, func, kind, vectorized, cost, safe, next(_registrations))

    def query(
        self,
        text: str,
        name: str | None = None,
        args: Mapping[str, object] | None = None,
        policy: Chosen | None = None,
        redact: bool | None = None,
        *,
        budget: float | None = None,
        seed: int | None = None,
        events: str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        max_matches: int | None = None,
        max_bytes: int | None = None,
        max_ahead: Length | None = "1 day",
        idle_after: Length | None = None,
        on_error: str = "raise",
    ) -> ContinuousQuery:
        """A continuous query, read, checked and planned; nothing runs yet.

        Parameters
        ----------
        args
            The values of ``:parameters``.
        policy, redact, budget, seed, events
            As for :func:`thalweg.filters` and :func:`thalweg.join`, for all filters and joins of the query.
        time_limit
            As for :func:`thalweg.filters`, for the functions and conditions of the query's filters.
        max_matches, max_bytes, max_ahead, idle_after
            As for :func:`thalweg.join`.
        on_error
            ``"raise"`` (default): a row on which a condition of WHERE or ON raises, and which no other condition drops,
            fails the query. ``"dead-letter"``: it is left out of the results, and ``q.failed()`` gives it. What raises
            elsewhere (SELECT, GROUP BY, HAVING, a computed side of a join's equality) always fails the query.

        What is not given, but for `max_ahead`, `idle_after` and `on_error`, is taken from Spark's configuration
        (``spark.thalweg.policy``), then from the environment (``THALWEG_POLICY``), then from the default, each time the
        query is explained or run.
        """
        given = current_arguments({
            "policy": policy, "redact": redact, "budget": budget, "seed": seed, "events": events,
            "time_limit": time_limit, "max_matches": max_matches, "max_bytes": max_bytes,
            "max_ahead": max_ahead, "idle_after": idle_after, "on_error": on_error,
        })  # fmt: skip
        settings = QuerySettings.in_force(given, self._spark)
        if name is not None and (not isinstance(name, str) or not name.strip()):
            raise PlanError(f"name={name!r} must be a non-empty string; leave it out for a query without a name")
        if args is not None and not (isinstance(args, Mapping) and all(isinstance(key, str) for key in args)):
            raise PlanError(f"args={args!r} must give values by name: args={{'limit': 5}} for :limit")
        catalog = Catalog(dict(self._relations), dict(self._functions))
        try:
            engine = "local" if self._spark is None else "spark"
            known = reduce(
                Knowledge.merged, self._declared.values(), Knowledge.declared_costs(self._functions.values())
            )
            asked = read_query(text, catalog, dict(args or {}))
            plan = optimize(asked, engine, settings.policy_name, known, sets_aside=settings.sets_aside)
        except RecursionError:
            raise PlanError("the query nests hundreds of parts in each other; write x IN (...) for many ORs") from None
        data = {scan.alias: self._data[scan.source.relation.name.lower()] for scan in plan.scans}
        origin = QueryOrigin(name, dict(args or {}), self._spark, self._running)
        return ContinuousQuery(plan, dict(self._functions), given, data, known, origin)

    def _name(self, name: Any, what: str = "name") -> str:
        if not isinstance(name, str) or not name.strip():
            raise PlanError(f"a {what} must be a non-empty string, not {name!r}")
        return name

    def _register(self, relation: Relation, data: Any, declared: Knowledge) -> None:
        key = relation.name.lower()
        if self._spark is None and not isinstance(data, _Once):
            data = _Once(relation.name, data) if isinstance(data, Iterator) else data
        self._relations[key], self._data[key], self._declared[key] = relation, data, declared

    def _begun(self, name: str, data: Any) -> Any:
        """Of an iterator, the first batch is read, since it tells the columns. What other libraries hand over by
        Arrow's interface becomes a table."""
        if self._spark is None and hasattr(data, "__arrow_c_stream__") and not isinstance(data, _ARROW):
            return _table(name, data)
        if self._spark is not None or not isinstance(data, Iterator) or hasattr(data, "schema"):
            return data
        for first in data:
            return _Batches(name, first, data)
        raise PlanError(f"{name!r} gives no batch, so that its columns are not known: give an empty table")

    def _schema(self, name: str, data: Any) -> pa.Schema:
        schema = self._found_schema(name, data)
        for column in schema.names:
            if schema.names.count(column) > 1:
                raise PlanError(f"{name!r} has several columns {column!r}; rename all but one before it is registered")
        return schema

    def _found_schema(self, name: str, data: Any) -> pa.Schema:
        if self._spark is not None:
            if not (hasattr(data, "isStreaming") and hasattr(data, "mapInArrow")):
                given = f"{type(data).__module__.partition('.')[0]}'s {type(data).__name__}"
                raise PlanError(
                    f"{name!r}: a session on Spark takes Spark's DataFrames, not {given}: spark.createDataFrame(...) "
                    "makes one"
                )
            from thalweg.runtime.spark.joins.arrow_schema import arrow_schema

            schema = arrow_schema(data)
            for column in data.columns:
                if column not in schema.names:
                    raise PlanError(
                        f"{name!r}: {column} is {data.schema[column].dataType.simpleString()}, which Arrow does not "
                        "carry; drop it, or cast it to a string or a struct, before it is registered"
                    )
            return schema
        if hasattr(data, "isStreaming"):
            raise PlanError(f"{name!r} is a DataFrame of Spark, and this session has none: tw.session(spark)")
        if isinstance(data, pa.Table | pa.RecordBatch):
            return data.schema
        if hasattr(data, "schema") and isinstance(data.schema, pa.Schema):
            return data.schema
        if isinstance(data, list | tuple) and not data:
            raise PlanError(f"{name!r} has no batch, so that its columns are not known: give an empty table")
        if isinstance(data, list | tuple) and all(isinstance(batch, pa.RecordBatch) for batch in data):
            for n, batch in enumerate(data):
                if not batch.schema.equals(data[0].schema):
                    raise PlanError(f"{name!r}: batch {n} has other columns than the first; cast it to its schema")
            return data[0].schema
        raise PlanError(
            f"{name!r}: takes an Arrow table, record batches or a reader, not a {type(data).__name__}: "
            "pa.table(...) makes one"
        )


def _table(name: str, data: Any) -> pa.Table:
    """Of another library; the index of pandas is no column."""
    try:
        if type(data).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(data, preserve_index=False)
        return pa.table(data)
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise PlanError(f"{name!r} cannot be read as an Arrow table: {error}; make one: pa.table(...)") from error


_ARROW = (pa.Table, pa.RecordBatch, pa.RecordBatchReader)


class _Batches(Iterator[pa.RecordBatch]):
    """Batches of an iterator, of the first one's schema. Not Arrow's reader: its loop would be inside Arrow while it
    waits for Python's next batch, and a process that ends then aborts."""

    def __init__(self, name: str, first: Any, rest: Iterator[Any]) -> None:
        self._name = name
        self.schema: pa.Schema = self._checked(first).schema
        self._batches = chain([first], rest)

    def __next__(self) -> pa.RecordBatch:
        return self._checked(next(self._batches))

    def _checked(self, batch: Any) -> pa.RecordBatch:
        if not isinstance(batch, pa.RecordBatch):
            raise PlanError(f"{self._name!r} gives a {type(batch).__name__}, and Arrow record batches are needed")
        return batch


class _Once(Iterable[pa.RecordBatch]):
    """What can be read once."""

    def __init__(self, name: str, batches: Iterator[pa.RecordBatch]) -> None:
        self._name, self._batches = name, batches
        self._read = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._read:
            raise PlanError(f"{self._name} was read already, and gives its rows once: register it again, or a table")
        self._read = True
        return chain(self._batches)


def _declared(name: str, given: Mapping[str, Any] | None, schema: pa.Schema, size: str) -> Knowledge:
    """What `statistics` says. `size` is its key for the size of a stream or a table."""
    if given is None:
        return NOTHING_KNOWN
    known = (size, "distinct")
    if not isinstance(given, Mapping):
        raise PlanError(f"{name!r}: statistics={given!r} must be a dict, such as {{{size!r}: 100}}")
    for key, value in given.items():
        if key not in known:
            hint = nearest(str(key), known)
            raise PlanError(f"{name!r}: statistics has {key!r}{hint}; it may have {' and '.join(known)}")
        if key == "distinct" and not isinstance(value, Mapping):
            raise PlanError(f"{name!r}: statistics distinct={value!r} must be a dict: {{'a column': 12}}")
        numbers = value.values() if key == "distinct" else [value]
        if any(isinstance(v, bool) or not isinstance(v, int | float) or not 0 < v < math.inf for v in numbers):
            raise PlanError(f"{name!r}: statistics {key}={value!r} must be a number above 0")
        if key == "distinct" and any(v < 1 for v in numbers):
            raise PlanError(f"{name!r}: statistics distinct={value!r}: a column has at least one value")
    spelled = {column.lower(): column for column in schema.names}
    distinct: dict[str, float] = {}
    for column, values in given.get("distinct", {}).items():
        found = column if column in schema.names else spelled.get(str(column).lower())
        if found is not None:
            distinct[found] = values
        else:
            hint = nearest(str(column), schema.names)
            raise PlanError(
                f"{name!r}: statistics of {column!r}, which is no column{hint}; there are {', '.join(schema.names)}"
            )
    return Knowledge.declared(name, given.get("rows_per_second"), given.get("rows"), distinct)
