"""What a session knows by name: streams, tables and functions. Frozen; the data itself is the runtime's.

Names match without regard to case and keep their spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Relation:
    """A stream, which has a time, or a table, which has none."""

    name: str
    schema: pa.Schema
    time: str | None = None
    lateness_us: int = 0
    registration: int = 0
    """A number of its own for every registration in this process: what is registered again under the same name is
    another relation."""

    @property
    def is_stream(self) -> bool:
        """Unbounded, whatever its data are."""
        return self.time is not None

    def unused(self, name: str) -> str:
        """A name that no column has, for one that is made on the way.

        >>> Relation("a", pa.schema({"end": pa.int64()})).unused("end")
        'end 2'
        """
        names = (name if n == 1 else f"{name} {n}" for n in count(1))
        return next(each for each in names if each not in self.schema.names)


@dataclass(frozen=True)
class UserFunction:
    """A function of the user's, as `session.function` got it."""

    name: str
    func: Callable[..., Any]
    returns: pa.DataType
    vectorized: bool = False
    cost_us: float | None = None
    """Of a row, in microseconds; None: nobody knows yet."""
    safe: bool = False
    registration: int = 0
    """As of a relation."""


@dataclass(frozen=True)
class Catalog:
    """All of them; keys are names in lower case."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
