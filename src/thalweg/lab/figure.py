"""Figures as data, and a function that draws them.

A figure has lines over a numeric axis, or stacked bars in groups. Colors are those of the pictures of traces, and lines
differ by their markers too. matplotlib is imported only to draw: it is part of the extra `lab`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import ThalwegError
from thalweg.simulation.picture import COLOURS, set_plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = {
    "blue": COLOURS[0], "orange": COLOURS[1], "green": COLOURS[2], "red": COLOURS[3], "black": "#333333",
}  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P")
INCHES = (6.4, 3.8)
DPI = 100
"""640 by 380 pixels: sharp enough for a page, about 15 kB."""
PALETTE = 128


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one layer of the bars."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str = ""
    """A name in `NAMED`, so that an algorithm has the same color in all figures of a paper."""
    dashed: bool = False
    faint: bool = False
    """Whether it is drawn in the background and left out of the legend."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with lines over a numeric axis."""

    name: str
    """The name of its file."""
    title: str
    """What the figure shows, in one sentence."""
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    timeline: bool = False
    """Whether it has many points, so that lines have no markers."""
    mark: tuple[float, str] | None = None
    """A position on the x axis, and what happens there."""
    from_zero: bool = False

    def draw(self, axes: Axes) -> None:
        """Draw the figure on matplotlib axes."""
        for i, line in enumerate(self.series):
            axes.plot(
                line.x, line.y, label="_" if line.faint else line.label,
                color=NAMED.get(line.colour) or COLOURS[i % len(COLOURS)],
                linestyle="--" if line.dashed else "-", linewidth=0.8 if line.faint else 1.8,
                alpha=0.35 if line.faint else 1.0,
                marker="" if self.timeline else MARKERS[i % len(MARKERS)], markersize=5,
            )  # fmt: skip
        if self.log_x:
            ticks = sorted({x for line in self.series for x in line.x})
            axes.set_xscale("log")
            axes.set_xticks(ticks, [f"{x:,.0f}" for x in ticks])
            axes.minorticks_off()
        elif self.timeline:
            axes.xaxis.set_major_formatter("{x:,.0f}")
        else:
            axes.set_xticks(sorted({x for line in self.series for x in line.x}))
        if self.mark:
            axes.axvline(self.mark[0], color="#777777", linestyle=":", linewidth=1)
            axes.annotate(self.mark[1], (self.mark[0], 0.02), (4, 0), ("data", "axes fraction"), "offset points",
                          va="bottom", fontsize=8, color="#555555")  # fmt: skip
        if self.from_zero:
            axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=8)


@dataclass(frozen=True, slots=True)
class Bars(Figure):
    """A figure with stacked bars in groups; `x` of a series is the number of the bar."""

    bars: tuple[str, ...] = ()
    """The label of each bar."""
    groups: tuple[str, ...] = ()
    """The names of the groups, which all have the same number of bars."""

    def draw(self, axes: Axes) -> None:
        """Draw the figure on matplotlib axes."""
        each = len(self.bars) // len(self.groups)
        places = [i + i // each for i in range(len(self.bars))]
        bottom = [0.0] * len(places)
        for i, layer in enumerate(self.series):
            colour = NAMED.get(layer.colour) or COLOURS[i % len(COLOURS)]
            axes.bar(places, layer.y, bottom=bottom, label=layer.label, color=colour, width=0.85)
            bottom = [under + here for under, here in zip(bottom, layer.y, strict=True)]
        axes.set_xticks(places, self.bars, rotation=90, fontsize=7)
        for i, group in enumerate(self.groups):
            axes.annotate(group, (i * (each + 1) + (each - 1) / 2, 1.0), (0, -4), ("data", "axes fraction"),
                          "offset points", ha="center", va="top", fontsize=8)  # fmt: skip
        axes.set_ylim(0, max(bottom) * 1.35)
        axes.legend(frameon=False, fontsize=8, ncols=len(self.series), loc="lower center", bbox_to_anchor=(0.5, 0.8))


def check_drawing() -> None:
    """Raise an error if matplotlib is missing, before minutes of measuring rather than after."""
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError as error:
        raise ThalwegError(
            f"cannot draw figures, because {error.name} is missing: install matplotlib with "
            "pip install 'thalweg[lab]', or leave out --out"
        ) from error


def save(figure: Figure, folder: Path) -> Path:
    """Save a figure as a PNG file named after it, and return the path."""
    check_drawing()
    from matplotlib.figure import Figure as Canvas
    from PIL import Image  # a dependency of matplotlib

    canvas = Canvas(figsize=INCHES, dpi=DPI, layout="constrained")
    axes = canvas.add_subplot()
    set_plain(axes)
    axes.set_axisbelow(True)
    figure.draw(axes)
    axes.set_title(figure.title, loc="left", fontsize=10, wrap=True)
    axes.set_xlabel(figure.x_label, fontsize=9)
    axes.set_ylabel(figure.y_label, fontsize=9)
    path = folder / f"{figure.name}.png"
    drawn = BytesIO()
    canvas.savefig(drawn, format="png")
    # a palette makes the file a third of the size, and equal pictures give equal files
    Image.open(drawn).convert("RGB").quantize(PALETTE, dither=Image.Dither.NONE).save(path, optimize=True)
    return path
