"""Sessions: `session(...)` returns a :class:`Session`, in which streams are registered and queried by name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import chain, count
from typing import Any

import pyarrow as pa

from thalweg.adapt import PolicyLike, check_classified
from thalweg.errors import PlanError, nearest
from thalweg.optimizer import optimize
from thalweg.plan.expressions.type_rules import type_of
from thalweg.plan.joins.join_plan import join_graph
from thalweg.plan.joins.window import Length, length_of
from thalweg.plan.objective import Objective
from thalweg.plan.query.nodes import WindowJoin
from thalweg.plan.query.relation import Catalog, Relation, UserFunction, never_answers
from thalweg.plan.sql.analysis import read_query
from thalweg.plan.sql.vocabulary import NAMES
from thalweg.runtime.settings import policy_in_code
from thalweg.session.continuous_query import ContinuousQuery, QueryOrigin
from thalweg.session.query_classifiers import query_classifiers
from thalweg.session.query_rounds import QueryRounds, Turns
from thalweg.session.query_run import QuerySettings
from thalweg.session.running import Running
from thalweg.stats import Knowledge
from thalweg.stats.declared_statistics import plan_statistics, relation_statistics

_registrations = count(1)
"""Numbers for registered relations and functions, over all sessions of this process."""


def session(spark: Any = None) -> Session:
    """Return a session whose queries run on Spark or in this process.

    Parameters
    ----------
    spark
        A SparkSession. Without one, queries run in this process.

    Returns
    -------
    Session

    Raises
    ------
    PlanError
        If `spark` is not a SparkSession.

    Examples
    --------
    >>> import pyarrow as pa, thalweg as tw
    >>> from datetime import datetime
    >>> s = tw.session()
    >>> times = [datetime(2026, 1, 1, 12, 0, second) for second in (1, 2, 3)]
    >>> s.stream("packets", pa.table({"ts": times, "size": [40, 1500, 60]}), time="ts")
    >>> s.query("SELECT size * 8 AS bits FROM packets WHERE size < :most", args={"most": 100}).dataframe().to_pylist()
    [{'bits': 320}, {'bits': 480}]
    """
    if spark is not None and not (hasattr(spark, "createDataFrame") and hasattr(spark, "readStream")):
        raise PlanError(
            f"session() takes a SparkSession, not a {type(spark).__name__}; leave it out to run without Spark"
        )
    return Session(spark)


class Session:
    """A set of named streams, tables and functions, and the queries over them. Made with :func:`session`.

    Register data with ``s.stream`` and ``s.table`` and functions with ``s.function``, and query them with ``s.query``.
    Names are not case-sensitive. Registering a name again replaces it, but existing queries keep what they had.
    """

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
        """Register a stream. It counts as unbounded even if its data are finished.

        Parameters
        ----------
        name
            The name of the stream in queries.
        data
            On Spark, a DataFrame, streaming or finished; if it has a watermark on `time`, the watermark is kept. In
            this process, a table or an iterable of Arrow record batches; an iterator can be read by only one query.
        time
            The column with the time of a row, a timestamp.
        lateness
            How far the stream may be out of order. A watermark of the DataFrame takes precedence.
        statistics
            What is known in advance, for the first plan: ``{"rows_per_second": 100, "distinct": {"sector": 12}}``. A
            number may be an interval, as for :func:`thalweg.join`.

        Raises
        ------
        PlanError
            If the data, the time column or the statistics cannot be used.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> packets = pa.table({"ts": [datetime(2026, 1, 1)], "size": [40]})
        >>> s.stream("packets", packets, time="ts", lateness="5 seconds", statistics={"rows_per_second": 100})
        """
        data = self._begun(name, data)
        schema = self._schema(name, data)
        found = [column for column in schema.names if column == time] or [
            column for column in schema.names if isinstance(time, str) and column.lower() == time.lower()
        ]
        if len(found) != 1:
            hint = nearest(str(time), schema.names)
            raise PlanError(f"stream {name!r} has no column time={time!r}{hint}; it has {', '.join(schema.names)}")
        kind = schema.field(found[0]).type
        if not pa.types.is_timestamp(kind):
            raise PlanError(f"stream {name!r}: the time column {found[0]} is {kind}; cast it to a timestamp")
        late_us = length_of(lateness, "us", "lateness")
        if self._spark is not None and data.isStreaming:
            from thalweg.runtime.spark.joins.stream_watermarks import watermark_us

            own = watermark_us(data, found[0])
            late_us = late_us if own is None else own
        declared = relation_statistics(name, statistics, schema.names, is_stream=True)
        self._register(Relation(self._name(name), schema, found[0], late_us, next(_registrations)), data, declared)

    def table(self, name: str, data: Any, *, statistics: Mapping[str, Any] | None = None) -> None:
        """Register a table: finished data whose rows have no time and join with rows of any time.

        Parameters
        ----------
        name
            The name of the table in queries.
        data
            On Spark, a finished DataFrame. In this process, an Arrow table, record batches or a reader.
        statistics
            What is known in advance, for the first plan: ``{"rows": 100, "distinct": {"sector": 12}}``. A number may be
            an interval, as for :func:`thalweg.join`.

        Raises
        ------
        PlanError
            If the data or the statistics cannot be used.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> s = tw.session()
        >>> s.table("ports", pa.table({"port": [22, 80], "service": ["ssh", "http"]}), statistics={"rows": 2})
        """
        data = self._begun(name, data)
        schema = self._schema(name, data)
        if getattr(data, "isStreaming", False):
            raise PlanError(
                f"table {name!r} is a streaming DataFrame; register it with s.stream({name!r}, df, time=...)"
            )
        if isinstance(data, Iterator):
            data = pa.Table.from_batches(list(data), schema)
        declared = relation_statistics(name, statistics, schema.names, is_stream=False)
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
        """Register a function that queries may call.

        Parameters
        ----------
        name
            The name of the function in queries.
        func
            A function of the values of one row (None for NULL). With ``vectorized=True``, a function of Arrow arrays
            that returns one value per row. It must be deterministic, and neither async nor a generator function.
        returns
            The type of its results: the name of a Spark type, such as ``"boolean"`` or ``"decimal(10, 2)"``, or a Spark
            or Arrow type.
        vectorized
            Whether `func` takes Arrow arrays.
        cost
            The cost of a call for one row in microseconds, if you know it. It determines the place of the function in
            the first order, and whether it is called before a join or after it. The real cost is measured.
        safe
            Whether `func` never raises. This is a hint: rows on which a function raises before a join are kept until it
            is known whether they are part of a result, which needs a column in the windows of the join. A safe function
            needs no such column; if it raises nevertheless, the query fails.

        Raises
        ------
        PlanError
            If an argument is invalid, or SQL already has a function or keyword with this name.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 6]}), time="ts")
        >>> s.function("is_even", lambda n: n % 2 == 0, returns="boolean", cost=0.2)
        >>> s.query("SELECT n FROM events WHERE is_even(n)").dataframe().to_pylist()
        [{'n': 6}]
        """
        import sqlglot

        key = self._name(name, "function").lower()
        if not callable(func):
            raise PlanError(f"function {name!r}: {func!r} is not callable; give a function")
        if (why := never_answers(func)) is not None:
            raise PlanError(f"function {name!r} {why}")
        for word, value in (("vectorized", vectorized), ("safe", safe)):
            if not isinstance(value, bool):
                raise PlanError(f"function {name!r}: {word}={value!r} must be True or False")
        if not key.isidentifier():
            raise PlanError(
                f"function {name!r}: a name may contain only letters, digits and _, and must not begin with a digit; "
                "choose another name"
            )
        try:
            known = type(sqlglot.parse_one(f"{name}(x)", dialect="spark")).__name__ != "Anonymous"
        except sqlglot.errors.SqlglotError:
            known = True
        if known or key in NAMES or key in ("tumble", "hop"):
            raise PlanError(
                f"function {name!r}: SQL already has a function or keyword with this name; choose another name"
            )
        kind = type_of(returns)
        if kind is None:
            raise PlanError(
                f"function {name!r}: returns={returns!r} is not a supported type; use for example 'boolean', 'double' "
                "or 'string'"
            )
        number = isinstance(cost, int | float) and not isinstance(cost, bool)
        if cost is not None and not (number and 0 <= cost < math.inf):
            raise PlanError(f"function {name!r}: cost={cost!r} must be a number of microseconds per row")
        self._functions[key] = UserFunction(name, func, kind, vectorized, cost, safe, next(_registrations))

    def query(
        self,
        text: str,
        name: str | None = None,
        args: Mapping[str, object] | None = None,
        policy: PolicyLike | None = None,
        redact: bool | None = None,
        *,
        budget: float | None = None,
        seed: int | None = None,
        events: str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        max_matches: int | None = None,
        max_bytes: int | None = None,
        plan: str | None = None,
        objective: Objective | str | None = None,
        statistics: Mapping[str, Any] | None = None,
        max_ahead: Length | None = "1 day",
        idle_after: Length | None = None,
        on_error: str = "raise",
        classify_by: Sequence[str] | None = None,
    ) -> ContinuousQuery:
        """Return a continuous query that is parsed, checked and planned. Nothing runs yet.

        Parameters
        ----------
        text
            The query in SQL (docs/sql.md).
        name
            A name for the query. Two running queries of a session cannot have the same name.
        args
            The values of ``:parameters``.
        policy, redact, budget, seed, events
            As for :func:`thalweg.filters` and :func:`thalweg.join`, for all filters and joins of the query.
        time_limit
            As for :func:`thalweg.filters`, for the functions and conditions of the query's filters.
        max_matches, max_bytes, plan, objective, max_ahead, idle_after
            As for :func:`thalweg.join`.
        classify_by
            For ``policy="mesh"``: the columns by which the rows of streams are divided into classes, each with an order
            of its own: ``["s.sector"]``. They need not occur in the query. They apply to the conditions on their stream
            and to the probes of its rows in a join. Conditions on joined rows, and streams of which no column is named,
            have one order. By default, rows are classified by the columns that conditions read and joins compare.
        statistics
            What is known in advance about the sources of the query, by alias, and about the partners that their rows
            find, as for :func:`thalweg.join`. It replaces what `s.stream` and `s.table` declare.
        on_error
            ``"raise"`` (default): a row on which a condition of WHERE or ON raises, and which no other condition drops,
            stops the query. ``"dead-letter"``: the row is left out of the results, and ``q.failed()`` returns it. An
            error elsewhere (SELECT, GROUP BY, HAVING, a computed side of a join's equality) always stops the query.

        Returns
        -------
        ContinuousQuery

        Raises
        ------
        SqlError
            If the text cannot be run; the error has the line and the column.
        PlanError
            If a setting or a statistic is invalid, or the Spark session cannot run the query.

        Notes
        -----
        A setting that is not given, except `plan`, `objective`, `statistics`, `classify_by`, `max_ahead`, `idle_after`
        and `on_error`, is read from Spark's configuration (``spark.thalweg.policy``), then from the environment
        (``THALWEG_POLICY``), and then has its default. It is read each time the query is explained or run.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> q = s.query("SELECT n FROM events WHERE n > :least", name="large", args={"least": 5})
        >>> q.schema.names, q.dataframe().to_pylist()
        (['n'], [{'n': 7}])
        """
        given = {
            "policy": policy, "redact": redact, "budget": budget, "seed": seed, "events": events,
            "time_limit": time_limit, "max_matches": max_matches, "max_bytes": max_bytes,
            "plan": plan, "objective": objective, "max_ahead": max_ahead, "idle_after": idle_after,
            "on_error": on_error,
        }  # fmt: skip
        settings = QuerySettings.in_force(given, self._spark)
        if settings.join.policy.kind == policy_in_code(given):  # a policy from outside ignores it
            check_classified(classify_by, settings.join.policy.kind)
        if name is not None and (not isinstance(name, str) or not name.strip()):
            raise PlanError(f"name={name!r} must be a non-empty string; leave it out for a query without a name")
        if args is not None and not (isinstance(args, Mapping) and all(isinstance(key, str) for key in args)):
            raise PlanError(f"args={args!r} must be a dict of values by name, such as args={{'limit': 5}} for :limit")
        catalog = Catalog(dict(self._relations), dict(self._functions))
        try:
            engine = "local" if self._spark is None else "spark"
            known = reduce(
                Knowledge.merged, self._declared.values(), Knowledge.declared_costs(self._functions.values())
            )
            parsed = read_query(text, catalog, dict(args or {}))
            classified = None if classify_by is None else query_classifiers(classify_by, parsed)
            planned = partial(
                optimize, parsed, engine, settings.policy_name, sets_aside=settings.sets_aside,
                classify_by=classified if settings.classifies else None, wanted=settings.join.wanted,
            )  # fmt: skip
            made = planned(known=known)
            if statistics is not None:  # checked against the equalities of the plan, which do not depend on them
                known = known.updated(plan_statistics(statistics, made))
                made = planned(known=known)
        except RecursionError:
            raise PlanError(
                "the query is nested too deeply, by hundreds of levels; write x IN (...) instead of many ORs"
            ) from None
        if plan is not None:
            if not isinstance(made.join, WindowJoin):
                raise PlanError(f"plan={plan!r}: the query has no join of windows; leave plan= out")
            settings.join.wanted.shape(join_graph(made.join))
        data = {scan.alias: self._data[scan.source.relation.name.lower()] for scan in made.scans}
        origin = QueryOrigin(name, dict(args or {}), self._spark, self._running, classified)
        return ContinuousQuery(made, dict(self._functions), given, data, known, origin)

    def rounds(self, queries: Sequence[ContinuousQuery]) -> QueryRounds:
        """Run several queries in this process in turn, one round each, and collect their results.

        A round is the processing of one batch that a query has read. Queries wait for their turn in a queue, first in
        first out, so none waits longer than one round of each of the others. A query whose source has nothing to read,
        that fails, or that is stopped does not hold up the others. Each gets the rows that it gets alone.

        On Spark, start each query with :meth:`ContinuousQuery.start`: Spark schedules the jobs of all of them itself.

        Parameters
        ----------
        queries
            Queries of this session. Those without a name are called ``"query 1"``, ``"query 2"`` and so on, by their
            place.

        Returns
        -------
        QueryRounds
            The running queries.

        Raises
        ------
        PlanError
            If the session has a Spark session, if there is no query, if one is of another session or is no query, if
            two have the same name, or if two read the same iterator.

        Examples
        --------
        >>> import pyarrow as pa, thalweg as tw
        >>> from datetime import datetime
        >>> s = tw.session()
        >>> s.stream("events", pa.table({"ts": [datetime(2026, 1, 1)] * 2, "n": [5, 7]}), time="ts")
        >>> large = s.query("SELECT n FROM events WHERE n > 5", name="large")
        >>> small = s.query("SELECT n FROM events WHERE n <= 5", name="small")
        >>> rounds = s.rounds([large, small])
        >>> rounds.awaitTermination()
        >>> rounds.table("small").to_pylist()
        [{'n': 5}]
        """
        if self._spark is not None:
            raise PlanError(
                "rounds() shares this process, but this session runs queries on Spark, which has its own scheduler; "
                "start each query with q.start(...)"
            )
        given = list(queries) if isinstance(queries, Iterable) else [queries]
        if not given:
            raise PlanError("rounds([]): give at least one query")
        named: dict[str, ContinuousQuery] = {}
        for n, query in enumerate(given, 1):
            if not isinstance(query, ContinuousQuery) or not query.belongs_to(self._running):
                raise PlanError(
                    f"rounds(): item {n} must be a query of this session, made by s.query(...), not {query!r}"
                )
            name = query.name or f"query {n}"
            if name.lower() in (other.lower() for other in named):
                raise PlanError(f"rounds(): there are two queries {name!r}; give each its own name=")
            named[name] = query
        _refuse_shared(named)
        turns, results = Turns(), {name: list[pa.RecordBatch]() for name in named}
        with self._running.starting() as begin:
            for query in given:
                self._running.refuse(query.name)
            ready = {name: query.in_turn(name, turns, results[name]) for name, query in named.items()}
            return QueryRounds({name: begin(run) for name, run in ready.items()}, turns, results)

    def _name(self, name: Any, what: str = "name") -> str:
        if not isinstance(name, str) or not name.strip():
            raise PlanError(f"a {what} must be a non-empty string, not {name!r}")
        return name

    def _register(self, relation: Relation, data: Any, declared: Knowledge) -> None:
        key = relation.name.lower()
        if self._spark is None and not isinstance(data, _OneTimeBatches):
            data = _OneTimeBatches(relation.name, data) if isinstance(data, Iterator) else data
        self._relations[key], self._data[key], self._declared[key] = relation, data, declared

    def _begun(self, name: str, data: Any) -> Any:
        """Read the first batch of an iterator, which has the columns. Convert data of other libraries that have Arrow's
        C interface to a table."""
        if self._spark is None and hasattr(data, "__arrow_c_stream__") and not isinstance(data, _ARROW):
            return _table(name, data)
        if self._spark is not None or not isinstance(data, Iterator) or hasattr(data, "schema"):
            return data
        for first in data:
            return _Batches(name, first, data)
        raise PlanError(f"{name!r} has no batches, so its columns are not known; give an empty table instead")

    def _schema(self, name: str, data: Any) -> pa.Schema:
        schema = self._found_schema(name, data)
        for column in schema.names:
            if schema.names.count(column) > 1:
                raise PlanError(f"{name!r} has several columns {column!r}; rename all but one before registering it")
        return schema

    def _found_schema(self, name: str, data: Any) -> pa.Schema:
        if self._spark is not None:
            if not (hasattr(data, "isStreaming") and hasattr(data, "mapInArrow")):
                given = f"{type(data).__module__.partition('.')[0]}'s {type(data).__name__}"
                raise PlanError(
                    f"{name!r}: a session on Spark takes Spark DataFrames, not {given}; use spark.createDataFrame(...) "
                    "to make one"
                )
            from thalweg.runtime.spark.joins.arrow_schema import arrow_schema, unsupported

            schema = arrow_schema(data)
            for field in data.schema:
                if field.name not in schema.names:
                    raise PlanError(
                        f"{name!r}: {unsupported(field)}; drop it, or cast it to a string or a struct, before "
                        "registering it"
                    )
            return schema
        if hasattr(data, "isStreaming"):
            raise PlanError(f"{name!r} is a Spark DataFrame, but this session has no Spark; use tw.session(spark)")
        if isinstance(data, pa.Table | pa.RecordBatch):
            return data.schema
        if hasattr(data, "schema") and isinstance(data.schema, pa.Schema):
            return data.schema
        if isinstance(data, list | tuple) and not data:
            raise PlanError(f"{name!r} has no batches, so its columns are not known; give an empty table instead")
        if isinstance(data, list | tuple) and all(isinstance(batch, pa.RecordBatch) for batch in data):
            for n, batch in enumerate(data):
                if not batch.schema.equals(data[0].schema):
                    raise PlanError(
                        f"{name!r}: batch {n} has other columns than the first; cast it to the schema of the first"
                    )
            return data[0].schema
        raise PlanError(
            f"{name!r} must be an Arrow table, record batches or a reader, not a {type(data).__name__}; use "
            "pa.table(...) to make one"
        )


def _table(name: str, data: Any) -> pa.Table:
    """Convert data of another library to a table. The index of pandas does not become a column."""
    if type(data).__module__.partition(".")[0] == "pyspark":
        raise PlanError(f"{name!r} is a Spark DataFrame, and this session runs without Spark; write tw.session(spark)")
    try:
        if type(data).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(data, preserve_index=False)
        return pa.table(data)
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise PlanError(f"{name!r} cannot be read as an Arrow table: {error}; use pa.table(...) to make one") from error


_ARROW = (pa.Table, pa.RecordBatch, pa.RecordBatchReader)


class _Batches(Iterator[pa.RecordBatch]):
    """The batches of an iterator, with the schema of the first one. Arrow's own reader is not used: it would wait for
    Python's next batch inside Arrow, and a process that ends at that moment aborts."""

    def __init__(self, name: str, first: Any, rest: Iterator[Any]) -> None:
        self._name = name
        self.schema: pa.Schema = self._checked(first).schema
        self._batches = chain([first], rest)

    def __next__(self) -> pa.RecordBatch:
        return self._checked(next(self._batches))

    def _checked(self, batch: Any) -> pa.RecordBatch:
        if not isinstance(batch, pa.RecordBatch):
            raise PlanError(f"{self._name!r} yields a {type(batch).__name__}; it must yield Arrow record batches")
        return batch


class _OneTimeBatches(Iterable[pa.RecordBatch]):
    """Batches that can be read only once."""

    def __init__(self, name: str, batches: Iterator[pa.RecordBatch]) -> None:
        self.name, self._batches = name, batches
        self._read = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._read:
            raise PlanError(f"{self.name} is an iterator and was already read; register it again, or register a table")
        self._read = True
        return chain(self._batches)


def _refuse_shared(queries: Mapping[str, ContinuousQuery]) -> None:
    """Raise a PlanError if two queries read the same iterator, of which only one would get the rows."""
    readers: dict[int, str] = {}
    for name, query in queries.items():
        for source in query._data.values():
            if isinstance(source, _OneTimeBatches) and readers.setdefault(id(source), name) != name:
                raise PlanError(
                    f"rounds(): the queries {readers[id(source)]!r} and {name!r} both read {source.name}, an iterator, "
                    "which can be read only once; register a table instead"
                )
