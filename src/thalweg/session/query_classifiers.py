"""The columns by which the rows of a query are classified, for policies with several routes.

`classify_by` names columns of streams, as ``alias.column``. They classify the rows of the filters of their stream, and
the rows of their stream that probe the windows of a join. Filters over joined rows, and streams of which no column is
named, have one order.
"""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.errors import PlanError
from thalweg.optimizer.mesh.column_values import check_classified_type
from thalweg.plan.filters.filter_plan import checked_classifiers, find_column
from thalweg.plan.joins.join_plan import classified_columns
from thalweg.plan.query.nodes import SourceColumn
from thalweg.plan.query.query import Query


def query_classifiers(classify_by: Sequence[str], query: Query) -> tuple[SourceColumn, ...]:
    """Return the argument `classify_by` of a query as pairs of an alias and a column, spelled as in the query and in
    the data. As elsewhere in SQL, case is ignored. Raise a PlanError for what cannot be classified by."""
    spelled = {source.alias.lower(): source.alias for source in query.sources}
    texts = []
    for text in checked_classifiers(classify_by, "the columns that conditions read"):
        alias, dot, column = text.partition(".")
        texts.append(f"{spelled.get(alias.lower(), alias)}{dot}{column}")
    found = []
    for alias, column in classified_columns(texts, [s.alias for s in query.streams], [*spelled.values()]):
        schema = query.source(alias).relation.schema
        try:
            name = find_column(column, schema.names)
        except PlanError as error:
            raise error.within(f"classify_by: {alias}.{column}") from None
        check_classified_type(schema.field(name).type, f"{alias}.{name}")
        found.append((alias, name))
    return tuple(found)
