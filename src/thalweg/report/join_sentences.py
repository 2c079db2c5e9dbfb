"""What a plan has decided about a join, in sentences: who joins, along which trees rows look for partners, where rows
go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from thalweg.plan.expression import text_of
from thalweg.plan.join_graph import JoinTree
from thalweg.plan.join_plan import join_graph
from thalweg.plan.nodes import Join, Key, WindowJoin
from thalweg.plan.query_plan import Branch
from thalweg.report.words import listed


def operator_sentence(join: Join) -> str:
    """Who joins on Spark, who decided it, and why."""
    if isinstance(join, WindowJoin):
        return "over windows, not by Spark's own join: rows of several streams meet (rule choose_operators)"
    return "by Spark's own join: one stream meets only tables, so nothing of it is kept (rule choose_operators)"


def probe_sentences(join: WindowJoin) -> Iterator[str]:
    """One per stream whose new rows look for partners."""
    graph, names = join_graph(join), _names(join)
    for root, _ in join.probe_trees:
        yield f"new rows of {root} look {probes(graph.tree(root), names)}"


def probes(tree: JoinTree, names: Mapping[Key, str] = MappingProxyType({})) -> str:
    """Where new rows of the root look for partners, in the order that is tried first. `names`: of computed columns.

    >>> from thalweg.plan.join_graph import JoinGraph
    >>> probes(JoinGraph.of([("a", "k", "b", "k"), ("b", "m", "c", "m")]).tree("a"))
    'in b by k, then from b in c by m'
    """
    pipeline, column_of = tree.pipeline(), tree.graph.column_of
    found = []
    for other in pipeline.label(pipeline.start):
        by = listed([names.get((other, column_of[c][other]), column_of[c][other]) for c in tree.key(other)])
        parent = tree.parents[other]
        found.append((f"from {parent} " if parent != tree.root else "") + f"in {other} by {by}")
    return ", then ".join(found)


def spread_sentence(join: WindowJoin, *, is_finished: bool) -> str | None:
    """Where rows go on Spark. `is_finished`: its data are, so that Spark knows their sizes."""
    by = join.spread_by
    if by is None:
        return None
    names = _names(join)
    columns = " = ".join(names.get(key, ".".join(key)) for key in by.columns)
    if is_finished and len(join_graph(join).classes) > 1:
        return (
            "Spark's estimates of the sizes in bytes decide, when it runs, which equal columns spread rows over "
            f"buckets; without estimates {columns}"
        )
    copied = ""
    if by.replicated:
        copied = f"; {listed(by.replicated)} {'is' if len(by.replicated) == 1 else 'are'} replicated to every bucket"
    return f"rows are spread over buckets by {columns}{copied}: {by.why}"


def _names(join: WindowJoin) -> dict[Key, str]:
    """Of computed columns: what they are computed from."""
    branches = map(Branch.of, join.inputs)
    return {(branch.alias, name): text_of(e) for branch in branches for name, e in branch.computed}
