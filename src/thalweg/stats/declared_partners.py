"""The partners that a user declares for the edges of a join: how many rows of a window one row of another stream finds.

A pair of numbers is given under the text of an equality, in either order of its sides, or under the names of its two
streams, `"a, b"`, for all equalities between them. The first number is how many rows in the window of the second stream
one row of the first finds, the second number the reverse; None: unknown. Any two columns of a class of equal columns
are an equality. The facts are about the first column that each stream has in the class, by which windows are probed.

>>> graph = JoinGraph.of([("a", "k", "b", "k"), ("b", "k", "c", "id"), ("b", "m", "c", "m")])
>>> list(JoinEdges(graph).facts({"c.id = a.k": (30, None)}))
[Partners(of=('c', 'id'), among=('a', 'k'))]
>>> [(edge.of, edge.among, made.value) for edge, made in JoinEdges(graph).facts({"b, c": (2, None)}).items()]
[(('b', 'k'), ('c', 'id'), 2.0), (('b', 'm'), ('c', 'm'), 2.0)]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from thalweg.errors import PlanError, nearest
from thalweg.plan.estimate import Estimate
from thalweg.plan.joins.condition import parse
from thalweg.plan.joins.graph import JoinGraph
from thalweg.stats.declared_number import declared_number
from thalweg.stats.knowledge import Partners, Question

_PAIR = "a pair such as (30, 0.2): how many rows of the second stream one row of the first finds, and the reverse"
Column = tuple[str, str]
"""A column of a source, as (alias, column)."""
T = TypeVar("T")


def named(name: object, known: Mapping[str, T], *, exact: bool) -> T | None:
    """Return what is known by a name; None if nothing is. `exact`: names are case-sensitive."""
    if not isinstance(name, str):
        return None
    if name in known or exact:
        return known.get(name)
    return next((each for key, each in known.items() if key.lower() == name.lower()), None)


@dataclass(frozen=True)
class JoinEdges:
    """The edges of a join, for which partners may be declared."""

    graph: JoinGraph | None
    """None: the query joins nothing."""
    texts: tuple[tuple[str, Column, Column], ...] = ()
    """Equalities as written, whose sides may be computed, and their columns."""
    exact: bool = True
    """Whether names are case-sensitive."""

    def facts(self, given: Any) -> dict[Question, Estimate]:
        """Return the facts about these partners, given by the text of an equality or by two names."""
        if not isinstance(given, Mapping):
            raise PlanError(f"statistics: partners={given!r} must be a dict, such as {{'a.k = b.k': (30, 0.2)}}")
        if self.graph is None and given:
            raise PlanError("statistics: the query joins nothing, so its rows have no partners; remove 'partners'")
        facts: dict[Question, Estimate] = {}
        for key, pair in given.items():
            what = f"statistics: partners of {key!r}"
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise PlanError(f"{what} are {pair!r}; give {_PAIR}")
            for one, other in self._columns(key):
                for of, among, number in ((one, other, pair[0]), (other, one, pair[1])):
                    if number is None:
                        continue
                    made = declared_number(number, what, "at least 0")
                    if facts.setdefault(Partners(of, among), made) != made:
                        raise PlanError(f"{what} are given twice, with different numbers; remove one of them")
        return facts

    def _columns(self, key: object) -> list[tuple[Column, Column]]:
        """Return the pairs of columns that a key means, each with the stream first that is written first."""
        graph, text = self.graph, str(key)
        assert graph is not None
        aliases = {alias: alias for alias in graph.aliases}
        # names may contain commas and equals signs, and `statistics_from` writes them as they are
        pairs = {f"{one}, {other}": [one, other] for one in aliases for other in aliases if one != other}
        if "=" not in text or text in pairs:
            split = [named(name.strip().strip("`"), aliases, exact=self.exact) for name in text.split(",")]
            names = pairs.get(text, split)
            if len(names) == 2 and None not in names:
                one, other = map(str, names)
                shared = graph.shared(one, other) if one != other else ()
                if shared:
                    return [((one, graph.column_of[c][one]), (other, graph.column_of[c][other])) for c in shared]
            raise self._unknown(key)
        for written, one_side, other_side in self.texts:
            if (turned := _same_equality(text, written)) is not None:
                ends = self._first(one_side), self._first(other_side)
                return [ends[::-1] if turned else ends]
        try:
            equalities, residuals, _ = parse(text)
        except PlanError:
            raise self._unknown(key) from None
        found: list[tuple[Column, Column]] = []
        for alias, column, other, other_column in equalities:
            ends = self._first((alias, column)), self._first((other, other_column))
            if ends[0][0] == ends[1][0] or not self._is_equality(*ends):
                raise self._unknown(key)
            if found and ends[0][0] != found[0][0][0]:
                ends = ends[::-1]
            if found and (ends[0][0], ends[1][0]) != (found[0][0][0], found[0][1][0]):
                raise self._unknown(key)
            found.append(ends)
        if residuals or not found:
            raise self._unknown(key)
        return found

    def _first(self, end: Column) -> Column:
        """Return the first column of the same stream in the class of a column, with its spelling in the join; a column
        that is in no class as it is."""
        assert self.graph is not None
        alias = named(end[0], {each: each for each in self.graph.aliases}, exact=self.exact)
        if alias is None:
            return end
        columns = {members[alias]: members[alias] for members in self.graph.column_of if alias in members}
        columns |= {second: first for name, first, second in self.graph.within if name == alias and first in columns}
        return alias, named(end[1], columns, exact=self.exact) or end[1]

    def _is_equality(self, one: Column, other: Column) -> bool:
        assert self.graph is not None
        return any(one in members and other in members for members in self.graph.classes)

    def _unknown(self, key: object) -> PlanError:
        assert self.graph is not None
        known = [text for text, _, _ in self.texts] or [
            " = ".join(f"{alias}.{column}" for alias, column in members) for members in self.graph.classes
        ]
        pairs = [
            f"{one[0]}.{one[1]} = {other[0]}.{other[1]}"
            for members in self.graph.classes
            for one, other in combinations(members, 2)
        ]
        hint = nearest(str(key), [text for text, _, _ in self.texts] or pairs)
        return PlanError(
            f"statistics: partners of {key!r}: the query has no such equality{hint}, only {', '.join(known)}; give "
            "partners of these, or leave out the statistics of another query"
        )


def _same_equality(text: str, written: str) -> bool | None:
    """Return whether two texts are the same equality with its sides exchanged; None if they are not the same."""
    mine, theirs = _sides(text), _sides(written)
    if mine is None or theirs is None or set(mine) != set(theirs):
        return None
    return mine != theirs


def _sides(text: str) -> tuple[str, str] | None:
    """Return both sides of an equality in one spelling; None if the text is not an equality."""
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except sqlglot.errors.SqlglotError:
        return None
    if not isinstance(tree, exp.EQ):
        return None
    return tree.this.sql(dialect="spark").lower(), tree.expression.sql(dialect="spark").lower()
