"""The style sheet of everything that is drawn for browsers and notebooks: pictures of plans, pages, trees and tables.

The rules of pictures hold only below an element of class `thalweg-plans`, since the style of a picture within a page
applies to the whole page. They use no variables, which few programs other than browsers understand. A plan has the
class `p0` to `p7`. Colors have a contrast of at least 3:1 to their paper, texts of 4.5:1.

Trees and tables have the style in each element, because notebooks remove style sheets from what they show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

DRAWN = 8
"""The most plans that a picture shows: the best ones, and the chosen one."""
NAME_PX, SMALL_PX = 12.5, 11.5
"""Sizes of fonts: of the names of plans, and of all other texts but the title."""
LIGHT = ("#1d4ed8", "#c2410c", "#0f766e", "#a21caf", "#4d7c0f", "#b91c1c", "#6d28d9", "#57534e")
DARK = ("#7aa2ff", "#fb923c", "#2dd4bf", "#e879f9", "#a3e635", "#f87171", "#b39dfa", "#b8b0a8")
"""Colors of plans. The first is that of the chosen plan."""
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "14 4", "4 4", "9 3 2 3 2 3", "1 5")
PAPER = {"light": "#ffffff", "dark": "#14171c"}
INK = {"light": "#111827", "dark": "#f3f4f6"}
QUIET = {"light": "#4b5563", "dark": "#b6bdc9"}
_AXIS = {"light": "#9ca3af", "dark": "#6b7280"}
_GRID = {"light": "#e5e7eb", "dark": "#2b313b"}
_SANS = "system-ui,sans-serif"
_MONOSPACE = "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"


def _colours(scheme: str, plans: Sequence[str]) -> dict[str, str]:
    """Return the rules that differ between light and dark pages."""
    paper, ink = PAPER[scheme], INK[scheme]
    return {
        **{f".p{n}": f"stroke:{colour};fill:{colour}" for n, colour in enumerate(plans)},
        ".paper": f"fill:{paper};stroke:{_GRID[scheme]}",
        "text": f"fill:{ink}",
        ".small": f"fill:{QUIET[scheme]}",
        ".grid": f"stroke:{_GRID[scheme]}",
        ".axis": f"stroke:{_AXIS[scheme]}",
        ".leader": f"stroke:{_AXIS[scheme]}",
        ".mark": f"stroke:{QUIET[scheme]}",
        ".whisker": f"stroke:{ink}",
        ".measured": f"stroke:{ink}",
        ".measured-dot": f"fill:{ink};stroke:{paper}",
        ".crossing": f"fill:{paper};stroke:{ink}",
        ".number": f"stroke:{paper}",
    }


_SHAPES = {
    "": f"max-width:100%;height:auto;font-family:{_SANS}",
    ".title": "font-size:16px;font-weight:600",
    ".small": f"font-size:{SMALL_PX}px",
    ".name": f"font-size:{NAME_PX}px",
    "text.plan": f"stroke:none;font-size:{NAME_PX}px;font-family:{_MONOSPACE}",
    "text.plan.chosen": "font-weight:700",
    ".line": "fill:none;stroke-width:1.8;stroke-linejoin:round",
    ".line.chosen": "stroke-width:3.6",
    ".band": "stroke:none;fill-opacity:.09",
    ".band.chosen": "fill-opacity:.2",
    ".dot": "stroke:none",
    ".bar": "stroke:none;fill-opacity:.45",
    ".bar.chosen": "fill-opacity:.8",
    ".leader": "fill:none;stroke-width:.8",
    ".mark": "stroke-dasharray:2 3",
    ".measured": "fill:none;stroke-width:1",
    ".measured-dot": "stroke-width:1",
    ".crossing": "stroke-width:1.4",
    ".number": f"font-size:{SMALL_PX}px;font-weight:700;stroke-width:3px;paint-order:stroke",
    **{f".line.p{n}": f"stroke-dasharray:{dash}" for n, dash in enumerate(DASHES)},
}


def _rules(kinds: Mapping[str, str]) -> str:
    return "\n".join(f".thalweg-plans{f' {kind}' if kind else ''}{{{rule}}}" for kind, rule in kinds.items())


PICTURES = "\n".join(
    [
        _rules(_colours("light", LIGHT)),
        f"@media (prefers-color-scheme:dark){{\n{_rules(_colours('dark', DARK))}\n}}",
        _rules(_SHAPES),
        # on a narrow page, scrolling is better than texts that are too small to read; a file of its own is scaled
        "div>.thalweg-plans{min-width:560px}",
    ]
)
"""The rules of pictures."""
PAGES = f"""\
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.45 {_SANS}; max-width: 60em; margin: 2em auto; padding: 0 1em; }}
h1 {{ font-size: 1.3em; }}
h4 {{ font-size: 1em; margin: 1.4em 0 .3em; }}
ul {{ margin: .2em 0; }}
li {{ overflow-wrap: anywhere; }}"""
"""The rules of pages."""
BRANCHES = "list-style:none;padding-left:1.2em;border-left:1px solid #ccc"
"""The style of a list that is a branch of a tree."""
TABLE = "border-collapse:collapse"
SCROLLED = "overflow-x:auto;margin-top:1em"
"""The style of a box for a picture that may be wider than the page."""


def cell(*, is_left: bool, share: float | None = None) -> str:
    """Return the style of a cell of a table. `share`: how much of its width a bar fills; None for no bar.

    >>> cell(is_left=False)
    'padding:2px 12px;text-align:right'
    """
    style = f"padding:2px 12px;text-align:{'left' if is_left else 'right'}"
    if share is None:
        return style
    filled = f"{100 * share:.0f}%"
    return f"{style};background:linear-gradient(to right,rgba(70,130,180,.35) {filled},transparent {filled})"
