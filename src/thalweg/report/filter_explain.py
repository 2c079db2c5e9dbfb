"""Explains what a filter set will do and, if it has run, what was counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thalweg.adapt.mesh import COLLECTING, MeshSettings
from thalweg.adapt.policy import Settings
from thalweg.adapt.profiling_budget import LOAN_NS
from thalweg.errors import PlanError
from thalweg.formatting import percent, plural, total_duration
from thalweg.plan import FilterPlan, NativePredicate, Predicate
from thalweg.plan.pipeline import Pipeline
from thalweg.report.explanation import ADAPTS, Explanation, Paragraph
from thalweg.report.mesh_view import MeshView
from thalweg.report.plan_tree import TreeItem
from thalweg.report.report import Report
from thalweg.report.run_report import in_runs
from thalweg.runtime.local.filters import refuse_native
from thalweg.runtime.settings import FilterSettings

IN_THIS_PROCESS, ON_FINISHED_DATA, ON_A_STREAM = "this process", "Spark, on finished data", "a Spark stream"


@dataclass(frozen=True)
class FilterInput:
    """What the filters are applied to."""

    where: str = ""
    """Where the filters run; empty if that is not known yet."""
    columns: tuple[str, ...] | None = None
    """The columns of the data; None if they are not known yet."""
    session: Any = None
    """The Spark session, if the data are a DataFrame."""

    @classmethod
    def of(cls, plan: FilterPlan, data: Any) -> FilterInput:
        """Describe a Spark DataFrame, Arrow data or None. Raise a PlanError if the filters cannot be applied to it."""
        if data is None:
            return cls()
        if hasattr(data, "observe") and hasattr(data, "sparkSession"):
            where = ON_A_STREAM if data.isStreaming else ON_FINISHED_DATA
            found = cls(where, tuple(data.columns), data.sparkSession)
        elif isinstance(data, (pa.Table, pa.RecordBatch)):
            refuse_native(plan)
            found = cls(IN_THIS_PROCESS, tuple(data.schema.names))
        else:
            raise PlanError(
                f"explain() takes a Spark DataFrame or an Arrow table, not {type(data).__name__}; leave it out, or "
                "convert it with pa.table(...)"
            )
        plan.columns_in(list(found.columns or ()))
        return found


@dataclass(frozen=True)
class FirstOrders:
    """The orders that the next pass starts with, as indices of predicates."""

    native: tuple[int, ...]
    chain: tuple[int, ...]
    why_native: str
    native_adapts: bool
    """Whether sampled rows may change the order of native predicates."""


def explain_filters(
    plan: FilterPlan, settings: FilterSettings, orders: FirstOrders, source: FilterInput, report: Report
) -> Explanation:
    """Explain a filter set. `report` has what was counted so far."""
    names = [*plan.native.names, *plan.pipeline.names]
    native = [_native(plan.native.predicates[k]) for k in orders.native]
    chain = [_python(plan.predicates[k]) for k in orders.chain]
    counted = rows_and_kept(report)
    outside = _outside_the_jvm(plan) if counted else ""
    details = (_how(plan, settings), *native, *chain, *([f"counted{outside}: {counted}"] if counted else []))
    tree = TreeItem("Filter", details, (_input(plan, source),))
    title = f"Plan, for {source.where}" if source.where else "Plan"
    paragraphs = (
        Paragraph(ADAPTS, tuple(_adapts(plan, settings, orders)), wrapped=True),
        Paragraph("Settings", tuple(_settings(settings, may_classify=_may_classify(settings, plan))), wrapped=True),
        Paragraph("Order", tuple(_orders(plan, orders, report)), wrapped=True),
    )
    return Explanation(
        f"Filters {', '.join(names)}", source.where, ((title, tree),), paragraphs, meshes=filter_meshes(report)
    )


def filter_meshes(report: Report, of: str = "") -> tuple[tuple[str, MeshView], ...]:
    """Return the mesh of the latest run with a title; none if all rows took one route. `of`: a name of the filters."""
    mesh = report.sections[-1].mesh if report.sections else None
    return ((latest_run(of), mesh),) if mesh is not None and len(mesh.routes) > 1 else ()


def most_routes(settings: Settings | None) -> int:
    """Return the most routes of a mesh under the settings of a policy; `auto` has no setting for it."""
    return int(getattr(settings, "routes", MeshSettings().routes))


def latest_run(of: str = "") -> str:
    """Return the title of a mesh in an explanation.

    >>> latest_run(), latest_run("filter of s")
    ('Routes in the latest run', 'Routes in the latest run, filter of s')
    """
    return f"Routes in the latest run, {of}" if of else "Routes in the latest run"


def rows_and_kept(report: Report) -> str:
    """Return what filters have counted over all their runs; empty if they have counted nothing."""
    rows, kept = (sum(getattr(section, name) for section in report.sections) for name in ("rows", "kept"))
    failed = sum(section.calls.failed for section in report.sections)
    raised = f", {failed:,} failed (a predicate raised and none was false)" if failed else ""
    return f"{plural(rows, 'row')} in, {kept:,} kept ({percent(kept / rows)}){raised}{in_runs(report)}" if rows else ""


def _how(plan: FilterPlan, settings: FilterSettings) -> str:
    if len(plan.native.predicates) + len(plan.predicates) == 1:
        return "one predicate"
    if settings.policy_name == "static":
        return "in the written order (policy static)"
    return f"adaptive ({settings.policy_name})" if plan.predicates else f"in the JVM ({settings.policy_name})"


def _native(predicate: NativePredicate) -> str:
    text = predicate.name if predicate.name == predicate.text else f"{predicate.name}: {predicate.text}"
    return f"{text}  ({', '.join(['JVM', *_after(predicate.after)])})"


def _python(predicate: Predicate) -> str:
    notes = ["Arrow arrays" if predicate.vectorized else "Python", *_after(predicate.after)]
    if not predicate.profile:
        notes.append("never called only for profiling")
    return f"{predicate.name}: reads {', '.join(predicate.columns)}  ({', '.join(notes)})"


def _after(guards: Sequence[str]) -> list[str]:
    return [f"after {' and '.join(guards)}"] if guards else []


def _input(plan: FilterPlan, source: FilterInput) -> TreeItem:
    if not plan.predicates:
        return TreeItem("Input", ("no row is sent to Python",))
    details = [f"reads {', '.join(plan.columns)}"]
    if plan.classify_by is not None:
        details.append(f"rows are classified by {', '.join(plan.classify_by)}")
    read = {column.lower() for column in plan.needed}
    others = [column for column in source.columns or () if column.lower() not in read]
    if others and source.session is not None:
        details.append(f"stays in the JVM: {', '.join(others)}")
    return TreeItem("Input", tuple(details))


def _outside_the_jvm(plan: FilterPlan) -> str:
    """Return a qualifier for counts: the chain does not see rows that native predicates dropped."""
    return " outside the JVM" if plan.native else ""


def _adapts(plan: FilterPlan, settings: FilterSettings, orders: FirstOrders) -> Iterator[str]:
    if settings.policy_name == "static":
        yield "nothing: policy static never changes an order"
        return
    chain = not _fixed(plan.pipeline, orders.chain)
    if chain:
        yield f"the order of the {len(plan.predicates)} predicates{_outside_the_jvm(plan)}"
        if _may_classify(settings, plan):
            yield f"which rows take which of at most {most_routes(settings.profile)} routes"
    if orders.native_adapts:
        yield f"when a query starts, the order of the {len(plan.native.predicates)} predicates in the JVM"
    if not chain and not orders.native_adapts:
        yield "nothing: only one order is possible"


def _fixed(pipeline: Pipeline, order: Sequence[int]) -> bool:
    """Whether guards allow no other order: each predicate comes directly after one of its guards."""
    return all(one in pipeline.guards[other] for one, other in itertools.pairwise(order))


def _may_classify(settings: FilterSettings, plan: FilterPlan) -> bool:
    """Whether rows may take different routes."""
    return settings.policy_name == "mesh" or (settings.policy_name == "auto" and plan.classify_by is not None)


def _settings(settings: FilterSettings, *, may_classify: bool) -> Iterator[str]:
    if settings.dead_letter:
        yield "rows that fail are set aside and counted; tagged() and failed() return them (on_error='dead-letter')"
    else:
        yield "a row that fails stops the query (on_error='raise')"
    if settings.time_limit is not None:
        yield f"the query fails if a predicate takes longer than {settings.time_limit:g} s for a slice (time_limit=)"
    budget = getattr(settings.profile, "budget", None)
    if budget is not None:
        yield (
            f"adapting takes at most {percent(budget)} of the time (budget=), plus up to {total_duration(LOAN_NS)} per "
            "worker at the start"
            + (f", and up to {COLLECTING:g} times that while rows are collected for a mesh" if may_classify else "")
        )
    yield from (f"{name}={value}" for name, value in settings.policy.given.items() if name != "budget")
    if settings.redact:
        yield "errors, also those of rows that are set aside, contain no values of rows (redact=)"
    if settings.events is not None:
        yield f"event records are appended to {settings.events} (events=)"


def _orders(plan: FilterPlan, orders: FirstOrders, report: Report) -> Iterator[str]:
    """Yield sentences about the orders that were decided or observed."""
    if len(plan.native.predicates) > 1:
        yield f"in the JVM: {', '.join(plan.native.names[k] for k in orders.native)}; {orders.why_native}"
    last = next((section.order for section in reversed(report.sections) if section.order), ())
    if len(plan.predicates) > 1 and last:
        yield f"in the latest run{_outside_the_jvm(plan)}: {', '.join(last)}"
