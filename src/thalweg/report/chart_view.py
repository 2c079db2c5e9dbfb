"""The chart of a query or a join, as a user sees it: text, a picture, and where the query is now."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg.adapt.chart import ChartSettings
from thalweg.errors import PlanError, nearest
from thalweg.formatting import listed
from thalweg.optimizer.join_estimates import JoinEstimates
from thalweg.optimizer.plan_chart import PARTS, PlanChart, make_chart
from thalweg.optimizer.plan_scores import plan_text
from thalweg.optimizer.search_plans import MOST_STREAMS
from thalweg.plan.join_shape import Shape
from thalweg.plan.objective import objective_of
from thalweg.report.chart_picture import ChartCells, ChartSide, chart_as_svg, chart_text
from thalweg.report.join_report import JoinReport
from thalweg.report.saved_file import PAGE, save_as
from thalweg.runtime.joins.join_settings import JoinSettings
from thalweg.stats.declared_number import LARGEST


def chart_of(
    title: str,
    estimates: JoinEstimates,
    settings: JoinSettings,
    report: JoinReport,
    k: int | None,
    ranges: Any,
    limit: int,
) -> ChartView:
    """Return the chart of a join, with the track of its last run. `k`: None for that of the settings. `limit`: the
    memory of one bucket."""
    graph = estimates.graph
    if not 3 <= len(graph.aliases) <= MOST_STREAMS:
        raise PlanError(
            f"chart(): the join of {listed(graph.aliases)} has one plan, because plans are compared for 3 to "
            f"{MOST_STREAMS} streams"
        )
    if len(estimates.streams) < 2:
        raise PlanError(
            f"chart(): a chart shows the rates of two streams, and this join has only {listed(estimates.streams)}, "
            "because the others are tables; use explain(), which compares the plans"
        )
    if k is None:
        k = settings.profile.chart_parts if isinstance(settings.profile, ChartSettings) else PARTS
    chart = make_chart(estimates, objective_of(settings.objective), k, ranges=ranges, max_bytes=limit)
    expected = {alias: estimates.quantities["rate", alias].value for alias in estimates.streams}
    last = report.sections[-1].plans if report.sections else None
    rates = [] if last is None else [each for _, each in last.rates]
    rates = [each for each in rates if len(each) == len(estimates.streams)]  # in a run, some may have been tables
    return ChartView(title, chart, expected, [dict(zip(estimates.streams, each, strict=True)) for each in rates])


class ChartView:
    """A chart of plans, which :meth:`Join.chart` and :meth:`ContinuousQuery.chart` return. It prints as text and is
    displayed as a picture in a notebook.

    With more than two streams, it shows two of them; the others have their present or expected rates.
    """

    def __init__(
        self, title: str, chart: PlanChart, expected: Mapping[str, float], track: Sequence[Mapping[str, float]] = ()
    ) -> None:
        self.title = title
        self._chart = chart
        self._expected = dict(expected)
        self.track = [dict(rates) for rates in track]
        """The estimated rates of the streams after each round of the last run, in rows per second."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams whose rates are the dimensions of the chart."""
        return tuple(each.stream for each in self._chart.dimensions)

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the largest rate of each stream in the chart, in rows per second."""
        return {each.stream: (each.low, each.high) for each in self._chart.dimensions}

    def plan_at(self, /, **rates: float) -> str:
        """Return the plan for rates in rows per second. Streams that are left out have their expected rates.

        Parameters
        ----------
        rates
            Rows per second by stream.

        Returns
        -------
        str
            A plan as `plan=` takes it.

        Raises
        ------
        PlanError
            If a name is not that of a stream, or a rate is below 0 or above 1e15.

        Examples
        --------
        >>> import thalweg as tw
        >>> known = {"a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
        ...          "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}}
        >>> j = tw.join("a.k = b.k AND b.m = c.m", window="10 seconds", time="ts", statistics=known)
        >>> j.chart(k=4).plan_at(a=40_000)
        '(a (b c))'
        """
        for stream, rate in rates.items():
            if stream not in self.streams:
                raise PlanError(f"plan_at({stream}=...): not a stream of this chart{nearest(stream, self.streams)}; it "
                                f"has {listed(self.streams)}")  # fmt: skip
            is_number = isinstance(rate, int | float | np.integer | np.floating) and not isinstance(rate, bool)
            if not is_number or not 0 <= rate <= LARGEST:
                raise PlanError(f"plan_at({stream}={rate!r}): must be a number of rows per second, from 0 to "
                                f"{LARGEST:g}")  # fmt: skip
        return plan_text(self._chart.at({**self._expected, **rates}).plan)

    def show(self, across: str | None = None, up: str | None = None) -> ChartView:
        """Return the chart with other streams on its sides.

        Parameters
        ----------
        across, up
            The streams whose rates are on the horizontal and on the vertical side; by default the first two.

        Returns
        -------
        ChartView

        Raises
        ------
        PlanError
            If one is not a stream of the chart, or if both are the same.

        Examples
        --------
        >>> import thalweg as tw
        >>> known = {"a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
        ...          "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}}
        >>> j = tw.join("a.k = b.k AND b.m = c.m", window="10 seconds", time="ts", statistics=known)
        >>> print(j.chart(k=3).show(across="c", up="a"))  # doctest: +ELLIPSIS
        rows per second of a, from 40,000 (top) to 10,000
        ...
        """
        names = [name for name in self.streams if name not in (across, up)]
        chosen = [name if name is not None else names.pop(0) for name in (across, up)]
        for name in chosen:
            if name not in self.streams:
                raise PlanError(f"show({name!r}): not a stream of this chart{nearest(name, self.streams)}; it has "
                                f"{listed(self.streams)}")  # fmt: skip
        if chosen[0] == chosen[1]:
            raise PlanError(f"show(across={chosen[0]!r}, up={chosen[1]!r}): the sides must be different streams")
        view = ChartView(self.title, self._chart, self._expected, self.track)
        view._sides = (chosen[0], chosen[1])
        return view

    _sides: tuple[str, str] | None = None

    def cells(self) -> ChartCells:
        """Return the data of the picture."""
        dimensions = {each.stream: each for each in self._chart.dimensions}
        across, up = self._sides or self.streams[:2]
        now = self.track[-1] if self.track else self._expected
        order = {stream: n for n, stream in enumerate(self.streams)}
        region = [dimensions[stream].part(now[stream]) for stream in self.streams]
        numbers: dict[Shape, int] = {}
        rows = []
        for row in range(dimensions[up].parts):
            line = []
            for column in range(dimensions[across].parts):
                region[order[across]], region[order[up]] = column, row
                line.append(numbers.setdefault(self._chart.plan(tuple(region)), len(numbers)))
            rows.append(tuple(line))
        sides = [ChartSide(each, dimensions[each].low, dimensions[each].high) for each in (across, up)]
        return ChartCells(
            self.title, sides[0], sides[1], tuple(rows), tuple(map(plan_text, numbers)), (now[across], now[up]),
            tuple((rates[across], rates[up]) for rates in self.track),
            tuple((stream, now[stream]) for stream in self.streams if stream not in (across, up)),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the chart as plain values, ready for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> import thalweg as tw
        >>> known = {"a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
        ...          "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}}
        >>> j = tw.join("a.k = b.k AND b.m = c.m", window="10 seconds", time="ts", statistics=known)
        >>> sorted(j.chart(k=2).to_dict())
        ['cells', 'dimensions', 'plans']
        """
        return self._chart.to_dict()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart to a file. An existing file is replaced.

        Parameters
        ----------
        path
            Its suffix sets the format: ``.svg`` (a picture), ``.html`` (a page with the picture) or ``.txt``.

        Raises
        ------
        PlanError
            If the suffix is none of these, or if the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile, thalweg as tw
        >>> known = {"a": {"rows_per_second": 20_000}, "b": {"rows_per_second": 3_000}, "c": {"rows_per_second": 300},
        ...          "partners": {"a.k = b.k": (30, None), "b.m = c.m": (0.01, None)}}
        >>> j = tw.join("a.k = b.k AND b.m = c.m", window="10 seconds", time="ts", statistics=known)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     j.chart(k=4).save(f"{folder}/chart.svg")
        ...     print(pathlib.Path(folder, "chart.svg").read_text()[:4])
        <svg
        """
        forms = {".svg": self._picture, ".html": self._page, ".txt": self.__str__}
        save_as(path, forms, ".svg (a picture), .html (a page) or .txt")

    def __str__(self) -> str:
        return chart_text(self.cells())

    __repr__ = __str__

    def _picture(self) -> str:
        return chart_as_svg(self.cells())

    def _repr_html_(self) -> str:
        return f"<div style='overflow-x:auto'>{self._picture()}</div>"

    def _page(self) -> str:
        return PAGE.format(title=html.escape(self.title), body=self._repr_html_())
