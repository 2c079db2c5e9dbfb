"""The part of a picture that shows the memory of plans: a bar per plan, its 90 % band, and what was measured.

>>> memory_numbers(PlanMemory("multiway", 3e6, 2.5e6, 4e6, measured_bytes=3.1e6))
'3.0 (2.5 to 4.0 MB), measured 3.1 MB'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thalweg.draw.axis import Axis, byte_unit
from thalweg.draw.plan_curves import PlanMemory
from thalweg.draw.plan_label import LABEL_TALL, plan_label
from thalweg.draw.style_sheet import SMALL_PX
from thalweg.draw.svg import element, text
from thalweg.formatting import byte_size

_BAR = 12.0
_LARGEST = 1e18
"""A size in bytes from which on it is written with an exponent."""


@dataclass(frozen=True, slots=True)
class Bars:
    """The elements of the bars, and the height at which they end."""

    elements: list[str]
    bottom: float


def memory_numbers(memory: PlanMemory) -> str:
    """Return the memory of a plan as text: predicted, with its band, and measured."""
    value, low, high = map(_size, (memory.predicted_bytes, memory.low_bytes, memory.high_bytes))
    band = "" if low == high else f" ({_without_unit_of(high, low)} to {high})"
    measured = "" if memory.measured_bytes is None else f", measured {_size(memory.measured_bytes)}"
    return f"{value if not band else _without_unit_of(high, value)}{band}{measured}"


def memory_bars(
    memory: Iterable[PlanMemory],
    kinds: Mapping[str, str],
    max_bytes: float | None,
    across: Axis,
    top: float,
    labels_at: float,
) -> Bars:
    """Return the bars of the plans in `kinds`, which has the classes of each plan, in its order.

    The bars are as wide as `across`, and begin at the height `top`. Labels begin at `labels_at`.
    """
    by_plan = {each.plan: each for each in memory}
    shown = [(by_plan[plan], kind) for plan, kind in kinds.items() if plan in by_plan]
    most = [each for one, _ in shown for each in (one.high_bytes, one.measured_bytes) if each is not None]
    axis = Axis(across.start, across.end, max([*most, max_bytes or 0.0]))
    first, bottom = top + 36.0, top + 36.0 + LABEL_TALL * len(shown)
    unit = byte_unit(axis.most)
    out = [text(20, top, "Predicted memory", "small")]
    for value, words in axis.labels(unit, SMALL_PX):
        x = axis.at(value)
        out.append(element("line", class_="grid" if value else "axis", x1=x, x2=x, y1=first - 14, y2=bottom - 10))
        out.append(text(x, bottom + 6, words, "small", text_anchor="middle"))
    middle = (axis.start + axis.end) / 2
    out.append(text(middle, bottom + 24, f"memory ({unit.name})", "small", text_anchor="middle"))
    if max_bytes is not None:
        x = axis.at(max_bytes)
        out.append(element("line", class_="mark", x1=x, x2=x, y1=first - 20, y2=bottom - 10))
        aside, anchor = (-5.0, "end") if x > middle else (5.0, "start")
        words = f"max_bytes {_size(max_bytes)}"
        out.append(text(x + aside, first - 16, words, "small", text_anchor=anchor))
    for n, (each, kind) in enumerate(shown):
        y = first + n * LABEL_TALL + 4.0
        low, end, high = (axis.at(value) for value in (each.low_bytes, each.predicted_bytes, each.high_bytes))
        size = {"width": end - axis.start, "height": _BAR}
        out.append(element("rect", "", class_=f"bar {kind}", x=axis.start, y=y - _BAR / 2, **size))
        out.append(element("line", class_="whisker", x1=low, x2=high, y1=y, y2=y))
        out += [element("line", class_="whisker", x1=x, x2=x, y1=y - 4, y2=y + 4) for x in (low, high)]
        if each.measured_bytes is not None:
            out.append(element("circle", class_="measured-dot", cx=axis.at(each.measured_bytes), cy=y, r=3.4))
        out.append(plan_label(labels_at, y, each.plan, memory_numbers(each), kind))
    return Bars(out, bottom + 40.0)


def _size(number: float) -> str:
    return f"{number:.3g} bytes" if number >= _LARGEST else byte_size(round(number))


def _without_unit_of(other: str, size: str) -> str:
    """Return a size without its unit, if another size that is written next to it has the same one."""
    return size.removesuffix(f" {other.partition(' ')[2]}")
