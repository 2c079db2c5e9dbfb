"""How data moves: a path through scenes, piece by piece.

A scene is a state of the data: selectivities of made columns, or a stretch of a real data set. At position 0.0 rows are
of scene 0, at 1.0 of scene 1, between them a mixture. Development (seeds below 1000) and evaluation draw from different
kinds; every kind belongs to one of the groups still, jump, slide and return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SLIDE_PHASES = 8
"""The number of phases into which a slide is cut, for the best order of each phase."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the stream: its share of the rows, and its path from scene to scene."""

    share: float
    start: float
    end: float
    power: float = 1.0
    """The exponent of the path; above 1 it accelerates."""
    costs: int = 0
    """The set of costs that applies: 0 for the drawn costs, 1 for those with some multiplied."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A path through scenes."""

    name: str
    group: str
    pieces: tuple[Piece, ...]
    as_it_comes: bool = False
    """Whether a real data set keeps the order of its rows, however they drift."""

    @property
    def scenes(self) -> int:
        """The number of scenes of the path."""
        return 1 + int(np.ceil(max(max(p.start, p.end) for p in self.pieces)))

    def phases(self, rows: int) -> list[tuple[int, int, Piece]]:
        """Return the start, the number of rows and the piece of each phase."""
        edges = np.round(np.cumsum([0.0, *(p.share for p in self.pieces)]) * rows).astype(int)
        edges[-1] = rows
        found = []
        for piece, start, end in zip(self.pieces, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            parts = SLIDE_PHASES if piece.start != piece.end or self.as_it_comes else 1
            inner = np.linspace(start, end, parts + 1).astype(int).tolist()
            found += [(a, b - a, piece) for a, b in pairwise(inner) if b > a]
        return found

    def position(self, numbers: NDArray[np.int64], rows: int) -> NDArray[np.float64]:
        """Return the positions on the path of these rows of a stream of `rows` rows."""
        ends = np.cumsum([p.share for p in self.pieces])
        at = numbers / rows
        which = np.minimum(np.searchsorted(ends, at, side="right"), len(self.pieces) - 1)
        share = np.array([p.share for p in self.pieces])[which]
        inside = np.clip((at - (ends[which] - share)) / share, 0.0, 1.0)
        start = np.array([p.start for p in self.pieces])[which]
        end = np.array([p.end for p in self.pieces])[which]
        power = np.array([p.power for p in self.pieces])[which]
        found: NDArray[np.float64] = start + (end - start) * inside**power
        return found


def _even(name: str, group: str, places: list[float]) -> Drift:
    return Drift(name, group, tuple(Piece(1 / len(places), place, place) for place in places))


def still(rng: np.random.Generator) -> Drift:
    """The data does not move."""
    return Drift("still", "still", (Piece(1.0, 0.0, 0.0),))


def jump(rng: np.random.Generator) -> Drift:
    """One or two jumps, at equal distances."""
    return _even("jump", "jump", [0.0, 1.0] if rng.random() < 0.5 else [0.0, 1.0, 2.0])


def slide(rng: np.random.Generator) -> Drift:
    """From one scene to another, evenly."""
    return Drift("slide", "slide", (Piece(1.0, 0.0, 1.0),))


def as_it_comes(rng: np.random.Generator) -> Drift:
    """A data set in its own order. Columns that are made slide instead."""
    return Drift("as it comes", "slide", (Piece(1.0, 0.0, 1.0),), as_it_comes=True)


def back(rng: np.random.Generator) -> Drift:
    """To another scene and back, two or three times."""
    return _even("return", "return", [0.0, 1.0] * int(rng.integers(2, 4)))


def uneven_jumps(rng: np.random.Generator) -> Drift:
    """Three to five jumps, at uneven distances."""
    shares = rng.dirichlet(np.full(int(rng.integers(4, 7)), 2.0)) * 0.8
    shares += 0.2 / len(shares)
    return Drift("uneven jumps", "jump", tuple(Piece(float(s), float(i), float(i)) for i, s in enumerate(shares)))


def cost_jump(rng: np.random.Generator) -> Drift:
    """A predicate becomes five to ten times more expensive or cheaper; the data does not change."""
    at = float(rng.uniform(0.25, 0.6))
    return Drift("cost jump", "jump", (Piece(at, 0.0, 0.0), Piece(1.0 - at, 0.0, 0.0, costs=1)))


def both_jump(rng: np.random.Generator) -> Drift:
    """Costs and data jump at once."""
    at = float(rng.uniform(0.3, 0.7))
    return Drift("data and cost jump", "jump", (Piece(at, 0.0, 0.0), Piece(1.0 - at, 1.0, 1.0, costs=1)))


def accelerating(rng: np.random.Generator) -> Drift:
    """A slide that begins slowly."""
    return Drift("accelerating slide", "slide", (Piece(1.0, 0.0, 1.0, power=3.0),))


def settling(rng: np.random.Generator) -> Drift:
    """A slide that ends half way through the stream."""
    return Drift("settling slide", "slide", (Piece(0.2, 0.0, 0.0), Piece(0.4, 0.0, 1.0), Piece(0.4, 1.0, 1.0)))


def quick_return(rng: np.random.Generator) -> Drift:
    """To another scene and back, five to eight times, the other scene being shorter."""
    times, share = int(rng.integers(5, 9)), float(rng.uniform(0.25, 0.5))
    pair = (Piece((1.0 - share) / times, 0.0, 0.0), Piece(share / times, 1.0, 1.0))
    return Drift("quick return", "return", pair * times)


def partial_return(rng: np.random.Generator) -> Drift:
    """The data comes back, but not all the way."""
    return _even("partial return", "return", [0.0, 1.0, 0.4, 1.0, 0.2])


def bursts(rng: np.random.Generator) -> Drift:
    """Short bursts of another scene, at random times."""
    times = int(rng.integers(3, 7))
    gaps = rng.dirichlet(np.full(times + 1, 3.0)) * 0.85
    pieces: list[Piece] = []
    for gap in gaps[:-1]:
        pieces += [Piece(float(gap), 0.0, 0.0), Piece(0.15 / times, 1.0, 1.0)]
    return Drift("bursts", "return", (*pieces, Piece(float(gaps[-1]), 0.0, 0.0)))


Kinds = dict[str, tuple[Callable[[np.random.Generator], Drift], ...]]
DEVELOPMENT: Kinds = {"still": (still,), "jump": (jump,), "slide": (slide, as_it_comes), "return": (back,)}
EVALUATION: Kinds = {
    "still": (still,),
    "jump": (uneven_jumps, cost_jump, both_jump),
    "slide": (accelerating, settling, as_it_comes),
    "return": (quick_return, partial_return, bursts),
}
