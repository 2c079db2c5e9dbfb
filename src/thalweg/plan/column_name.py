"""Column names as users write them, found in the data."""

from __future__ import annotations

from thalweg.errors import PlanError, nearest


def find_column(column: str, names: list[str]) -> str:
    """The column as it is spelled in the data; as in Spark, case matters only where it must.

    >>> find_column("Line", ["line", "size"])
    'line'
    """
    if names.count(column) == 1:
        return column
    alike = [name for name in names if name.lower() == column.lower()]
    if len(alike) == 1:
        return alike[0]
    if column in alike:
        raise PlanError(f"there are {alike.count(column)} columns {column!r}: give them names that can be told apart")
    if alike:
        raise PlanError(f"column {column!r} could be any of {', '.join(alike)}: spell it as one of them")
    struct, dot, _ = column.partition(".")
    if dot and struct.lower() in (name.lower() for name in names):
        raise PlanError(
            f"there is no column {column!r}: for a field of a struct name the struct, {struct!r} (a dict for row "
            "functions), or select the field as a column first"
        )
    raise PlanError(f"there is no column {column!r}{nearest(column, names)}; there are {', '.join(names) or 'none'}")
