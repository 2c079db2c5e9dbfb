"""Sentences about the join of a plan: which operator joins, in which order new rows probe, and where rows go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from thalweg.formatting import listed
from thalweg.plan.expression import text_of
from thalweg.plan.join_graph import JoinTree
from thalweg.plan.join_plan import join_graph
from thalweg.plan.nodes import Join, SourceColumn, WindowJoin
from thalweg.plan.query_plan import Branch


def operator_sentence(join: Join) -> str:
    """Return which operator joins on Spark, which rule decided it, and why."""
    if isinstance(join, WindowJoin):
        return "by Thalweg, not by Spark's own join, because it joins several streams (rule choose_operators)"
    return "by Spark's own join, because it joins one stream with tables and needs no state (rule choose_operators)"


def probe_sentences(join: WindowJoin) -> Iterator[str]:
    """Yield one sentence per stream whose new rows look for partners."""
    graph, names = join_graph(join), _names(join)
    for root, _ in join.probe_trees:
        yield f"new rows of {root} probe {probes(graph.tree(root), names)}"


def probes(tree: JoinTree, names: Mapping[SourceColumn, str] = MappingProxyType({})) -> str:
    """Return what new rows of the root probe, in the order that is tried first. `names` are those of computed columns.

    >>> from thalweg.plan.join_graph import JoinGraph
    >>> probes(JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")]).tree("a"))
    'b by k, then c by m (from b)'
    """
    pipeline, column_of = tree.pipeline(), tree.graph.column_of
    found = []
    for other in pipeline.label(pipeline.start):
        by = listed([names.get((other, column_of[c][other]), column_of[c][other]) for c in tree.key(other)])
        parent = tree.parents[other]
        found.append(f"{other} by {by}" + (f" (from {parent})" if parent != tree.root else ""))
    return ", then ".join(found)


def spread_sentence(join: WindowJoin, *, is_finished: bool) -> str | None:
    """Return where rows go on Spark. `is_finished`: Spark knows the sizes of its data, because they are finished."""
    by = join.spread_by
    if by is None:
        return None
    names = _names(join)
    columns = " = ".join(names.get(key, ".".join(key)) for key in by.columns)
    if is_finished and len(join_graph(join).classes) > 1:
        return (
            "when it runs, Spark's estimates of the sizes in bytes decide which equal columns spread rows over "
            f"buckets; without estimates it is {columns}"
        )
    copied = ""
    if by.replicated:
        copied = f"; {listed(by.replicated)} {'is' if len(by.replicated) == 1 else 'are'} replicated to every bucket"
    return f"rows are spread over buckets by {columns}{copied}: {by.why}"


def _names(join: WindowJoin) -> dict[SourceColumn, str]:
    """Return, for each computed column, the expression that computes it."""
    branches = map(Branch.of, join.inputs)
    return {(branch.alias, name): text_of(e) for branch in branches for name, e in branch.computed}
