"""A continuous query, read and checked: sources with windows, conditions, groups and outputs. It is frozen data.

It says what is asked, not how it is computed: `optimizer` turns it into a plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import pyarrow as pa

from thalweg.plan.expressions.expression import AggregateCall, Expression, structure
from thalweg.plan.expressions.functions import can_raise
from thalweg.plan.expressions.type_rules import finer, plain_type
from thalweg.plan.joins.window import GroupWindow, StreamWindow
from thalweg.plan.query.relation import Relation

WINDOW_START, WINDOW_END = "window_start", "window_end"


@dataclass(frozen=True)
class QuerySource:
    """A stream or table, with its name in the query."""

    alias: str
    relation: Relation
    window: StreamWindow | None = None
    """The window; None: a table, or a stream of which no rows are kept."""
    offset: int = 0
    """The offset in the text."""


def time_type(sources: Iterable[QuerySource]) -> pa.DataType:
    """Return the type of the time of a result, which has the finest unit of the streams."""
    kinds = [plain_type(s.relation.schema.field(s.relation.time).type) for s in sources if s.relation.time is not None]
    return pa.timestamp(reduce(finer, (kind.unit for kind in kinds)), kinds[0].tz)


@dataclass(frozen=True)
class Condition:
    """A conjunct of WHERE or ON."""

    expression: Expression
    text: str
    """The condition as the user wrote it."""
    place: int
    """The position among all conjuncts, in the written order."""
    offset: int = 0
    """The offset in the text."""
    where: str = ""
    """What evaluates it: "arrow", "python" (a user function) or "jvm"; empty before this is chosen."""


@dataclass(frozen=True)
class OutputColumn:
    """A column of the result."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Grouping:
    """The groups of GROUP BY: windows and further keys. Without keys, each window is one group."""

    window: GroupWindow
    keys: tuple[Expression, ...]
    aggregates: tuple[AggregateCall, ...]
    """The aggregates of the outputs and of HAVING, each once."""
    having: Expression | None = None


@dataclass(frozen=True)
class Query:
    """A continuous query. With a grouping, outputs and HAVING read only keys, aggregates and the window's bounds."""

    text: str
    sources: tuple[QuerySource, ...]
    conditions: tuple[Condition, ...]
    outputs: tuple[OutputColumn, ...]
    grouping: Grouping | None = None

    @property
    def streams(self) -> tuple[QuerySource, ...]:
        """The sources that are streams."""
        return tuple(source for source in self.sources if source.relation.is_stream)

    def source(self, alias: str) -> QuerySource:
        """Return the source with this alias."""
        return next(source for source in self.sources if source.alias == alias)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        return pa.schema([pa.field(output.name, output.expression.type) for output in self.outputs])

    @cached_property
    def question(self) -> str:
        """A hash of what is asked, the same in every process: a checkpoint is bound to it. Spaces and comments in the
        text do not count, nor do the data of the sources, the code of functions, and the allowed lateness."""
        grouping = self.grouping
        asked = {
            "sources": [
                [s.alias, s.relation.name.lower(), s.relation.time, str(s.window)] for s in self.sources
            ],
            "conditions": [structure(condition.expression) for condition in self.conditions],
            "outputs": [[output.name, structure(output.expression)] for output in self.outputs],
            "grouping": grouping
            and [
                str(grouping.window), [structure(key) for key in grouping.keys],
                [structure(aggregate) for aggregate in grouping.aggregates],
                grouping.having and structure(grouping.having),
            ],
        }  # fmt: skip
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def guards_of(conditions: Sequence[Condition]) -> tuple[tuple[int, ...], ...]:
    """Return, for each condition of a filter, the numbers of the conditions that must be evaluated before it: a
    condition that Spark evaluates waits for those that keep it from raising.

    In an adaptive chain, the outcome of a row does not depend on the order: a condition that raises is unknown, and the
    row is dropped if any other condition is false. So no condition has to wait there. Spark fails the query at the
    first row on which a condition raises. So there, a condition that can raise waits for all that are written before
    it: in `x <> 0 AND 10 / x > 2`, nothing is divided by zero.
    """
    in_jvm = [condition.where == "jvm" for condition in conditions]

    def guards(n: int) -> tuple[int, ...]:
        condition = conditions[n]
        if not (in_jvm[n] and can_raise(condition.expression)):
            return ()
        return tuple(k for k, other in enumerate(conditions) if in_jvm[k] and other.place < condition.place)

    return tuple(map(guards, range(len(conditions))))
