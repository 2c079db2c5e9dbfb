"""The columns of the result of a join, in order: the list that a user passes as `select=`.

An entry is a column (`"a.price"`), all columns of a stream (`"a.*"`), or a column by its name in the result
(`"a_price"`). The time of a result, `event_time`, comes last unless it is listed.

>>> columns = {"a": ["price", "k"], "b": ["k"]}
>>> selected(("b.k", "event_time", "a.*"), columns)
(('b', 'k'), ('', 'event_time'), ('a', 'price'), ('a', 'k'))
>>> [result_name(column) for column in selected(None, columns)]
['a_price', 'a_k', 'b_k', 'event_time']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from thalweg.errors import PlanError, nearest

EVENT_TIME = "event_time"
LOST = "lost"
"""The column with the reason why a row is not joined."""
Column = tuple[str, str]
"""The alias and the name of a column."""
TIME: Column = ("", EVENT_TIME)
"""The time of a result, which belongs to no stream."""


def result_name(column: Column) -> str:
    """Return the name of a column in the result."""
    return EVENT_TIME if column == TIME else f"{column[0]}_{column[1]}"


def entry_of(alias: str, column: str) -> str:
    """Return the entry of `select=` for one column of a stream, whatever its name is.

    >>> entry_of("a", "price"), entry_of("a", "*"), entry_of("a", "`k`")
    ('a.price', 'a.`*`', 'a.```k```')
    """
    plain = column != "*" and "`" not in column
    return f"{alias}.{column}" if plain else f"{alias}.`{column.replace('`', '``')}`"


def check_select(select: Sequence[str] | None, aliases: Sequence[str]) -> tuple[str, ...] | None:
    """Check `select=` as far as possible before the columns are known."""
    if select is None:
        return None
    if not isinstance(select, (list, tuple)):
        raise PlanError(f"select={select!r}: must be a list of columns, such as ['{aliases[0]}.*']")
    if not select:
        raise PlanError(
            f"select={select!r}: names no column; write ['{EVENT_TIME}'] for only the times, or None for all columns"
        )
    for n, entry in enumerate(select):
        if not isinstance(entry, str) or not entry:
            raise PlanError(f"select: {entry!r} is not a column; write '{aliases[0]}.price' or '{aliases[0]}.*'")
        if entry in select[:n]:
            raise PlanError(f"select: {entry!r} is listed twice; remove one")
        if entry != EVENT_TIME and not any(entry.startswith((f"{alias}.", f"{alias}_")) for alias in aliases):
            if "." not in entry:
                raise PlanError(f"select: {entry!r} has no stream; write '{aliases[0]}.{entry}'")
            alias = entry.partition(".")[0]
            raise PlanError(
                f"select: {alias!r} of {entry!r} is not a stream in on={nearest(alias, aliases)}; its streams are "
                f"{', '.join(aliases)}"
            )
    return tuple(select)


def selected(select: tuple[str, ...] | None, columns: Mapping[str, Sequence[str]]) -> tuple[Column, ...]:
    """Return the columns of the result, in order. `columns` are the columns of each stream."""
    entries = tuple(f"{alias}.*" for alias in columns) if select is None else select
    if EVENT_TIME not in entries:
        entries = (*entries, EVENT_TIME)
    found: dict[str, tuple[Column, str]] = {}
    for entry in entries:
        for column in _columns_of(entry, columns):
            name = result_name(column)
            if name == EVENT_TIME and column != TIME:
                raise PlanError(
                    f"{'.'.join(column)} would be {EVENT_TIME!r} in the result, the name of its time; rename it"
                )
            if name not in found:
                found[name] = column, entry
                continue
            before, by = found[name]
            if before == column and by != entry:
                raise PlanError(f"select: {by!r} and {entry!r} both give {'.'.join(column)}; remove one")
            raise PlanError(
                f"{'.'.join(before)} and {'.'.join(column)} would both be {name!r} in the result; rename one"
            )
    return tuple(column for column, _ in found.values())


def _columns_of(entry: str, columns: Mapping[str, Sequence[str]]) -> Iterator[Column]:
    if entry == EVENT_TIME:
        yield TIME
        return
    for alias, names in columns.items():
        if entry == f"{alias}.*":
            yield from ((alias, name) for name in names)
            return
    matches = [(a, name) for a, name in _readings(entry, columns) if name in columns[a]]
    if len(matches) > 1:
        ways = " or ".join(repr(".".join(column)) for column in matches)
        raise PlanError(f"select: {entry!r} is ambiguous; write {ways}")
    if not matches:
        raise PlanError(_unknown(entry, columns))
    yield matches[0]


def _readings(entry: str, aliases: Iterable[str]) -> list[Column]:
    """Return the possible meanings of an entry: the name of the stream ends at a dot, or else at a `_`."""
    for sign in "._":
        found = [(a, entry[len(a) + 1 :]) for a in aliases if entry.startswith(a + sign)]
        if found:
            return [(a, _unquoted(name)) for a, name in found]
    return []


def _unquoted(name: str) -> str:
    """Return a name without backticks. As in `on=`, a backtick inside a quoted name is written twice."""
    return name[1:-1].replace("``", "`") if len(name) > 2 and name[0] == name[-1] == "`" else name


def _unknown(entry: str, columns: Mapping[str, Sequence[str]]) -> str:
    alias, name = _readings(entry, columns)[0]
    if entry.startswith(f"{alias}."):
        has = ", ".join(columns[alias])
        return f"select: {alias} has no column {name!r}{nearest(name, columns[alias])}; it has {has}"
    known = [result_name((a, name)) for a, names in columns.items() for name in names]
    return f"select: {entry!r} is not a column of the result{nearest(entry, known)}; it may have {', '.join(known)}"
