"""An experiment of a paper: how it is run, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from thalweg.lab.claim import Finding
from thalweg.lab.figure import Figure

T = TypeVar("T")


class Track(Protocol):
    """Hands out the cases of an experiment one by one, and may show how far it is."""

    def __call__(self, cases: Sequence[T], /) -> Iterable[T]:
        """The cases, in order."""
        ...


def untracked(cases: Sequence[T], /) -> Iterator[T]:
    """Shows nothing."""
    return iter(cases)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment found."""

    findings: list[Finding]
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of a paper."""

    title: str
    reference: str
    measure: Callable[[bool, Track], Outcome]
    """Runs it, smaller when asked to be quick."""
    setting: str = ""
    """What was run and on which clock, where the paper leaves it open; a paragraph of Markdown."""
