"""A continuous query, read and checked: sources with their windows, conditions, groups, outputs. Frozen; nothing runs.

This is what was asked, not how it is done: `optimizer` turns it into a plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import pyarrow as pa

from thalweg.deprecated import warn_renamed_attribute
from thalweg.plan.expression import Aggregate, Expression, structure
from thalweg.plan.functions import can_raise
from thalweg.plan.relation import Relation
from thalweg.plan.type_rules import finer, plain_type
from thalweg.plan.window import GroupWindow, StreamWindow

WINDOW_START, WINDOW_END = "window_start", "window_end"


@dataclass(frozen=True)
class Source:
    """A stream or table under the name the query gives it."""

    alias: str
    relation: Relation
    window: StreamWindow | None = None
    """None: a table, or a stream that nothing is kept of."""
    offset: int = 0
    """Where it stands in the text."""


def time_type(sources: Iterable[Source]) -> pa.DataType:
    """Of a result's time: the finest of the streams'."""
    kinds = [plain_type(s.relation.schema.field(s.relation.time).type) for s in sources if s.relation.time is not None]
    return pa.timestamp(reduce(finer, (kind.unit for kind in kinds)), kinds[0].tz)


@dataclass(frozen=True)
class Condition:
    """A conjunct of WHERE or ON."""

    expression: Expression
    text: str
    """As the user wrote it."""
    place: int
    """Among all conjuncts, in the order they are written."""
    offset: int = 0
    """Where it stands in the text."""
    where: str = ""
    """Who evaluates it: "arrow", "python" (a function of the user's) or "jvm"; empty before that is chosen."""


@dataclass(frozen=True)
class Output:
    """A column of the result."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Grouping:
    """GROUP BY: windows, and further keys. Without keys a window is one group."""

    window: GroupWindow
    keys: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]
    """Each once; those of the outputs and of HAVING."""
    having: Expression | None = None


@dataclass(frozen=True)
class Query:
    """All of it. With a grouping, outputs and HAVING speak of keys, aggregates and the window's bounds alone."""

    text: str
    sources: tuple[Source, ...]
    conditions: tuple[Condition, ...]
    outputs: tuple[Output, ...]
    grouping: Grouping | None = None

    @property
    def streams(self) -> tuple[Source, ...]:
        """Those with a time."""
        return tuple(source for source in self.sources if source.relation.is_stream)

    def source(self, alias: str) -> Source:
        """By its alias."""
        return next(source for source in self.sources if source.alias == alias)

    @property
    def schema(self) -> pa.Schema:
        """Of the result."""
        return pa.schema([pa.field(output.name, output.expression.type) for output in self.outputs])

    @cached_property
    def question(self) -> str:
        """What is asked, as a hash that is the same in every process: a checkpoint is bound to it. Blanks and comments
        in the text do not count, nor do the data behind the names, the code of functions, and how late rows may be."""
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

    @property
    def fingerprint(self) -> str:
        """The old name of `question`."""
        warn_renamed_attribute("query.fingerprint")
        return self.question


def guards_of(conditions: Sequence[Condition]) -> tuple[tuple[int, ...], ...]:
    """For each condition of a filter, the numbers of those after which it is tried: what Spark evaluates waits for what
    keeps it from raising.

    In an adaptive chain the outcome of a row does not depend on the order: a condition that raises is unknown, and the
    row is dropped if any other condition is false. So nothing has to wait there. Spark fails the query at the first row
    on which a condition raises. So a condition that can raise waits there for all that are written before it: in
    `x <> 0 AND 10 / x > 2` nothing is divided by zero.
    """
    in_jvm = [condition.where == "jvm" for condition in conditions]

    def guards(n: int) -> tuple[int, ...]:
        condition = conditions[n]
        if not (in_jvm[n] and can_raise(condition.expression)):
            return ()
        return tuple(k for k, other in enumerate(conditions) if in_jvm[k] and other.place < condition.place)

    return tuple(map(guards, range(len(conditions))))
