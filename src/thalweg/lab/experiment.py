"""A paper, its experiments, how each of them is run, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from thalweg.lab.claim import Finding
from thalweg.lab.figure import Figure

T = TypeVar("T")


class Track(Protocol):
    """Iterates over the cases of an experiment, and may show the progress."""

    def __call__(self, cases: Sequence[T], /) -> Iterable[T]:
        """Return the cases, in order."""
        ...


def untracked(cases: Sequence[T], /) -> Iterator[T]:
    """Iterate over the cases without showing progress."""
    return iter(cases)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The findings and figures of an experiment."""

    findings: list[Finding]
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of a paper, and how to run it."""

    title: str
    reference: str
    measure: Callable[[bool, Track], Outcome]
    """Runs the experiment; the first argument asks for a smaller, quick run."""
    setting: str = ""
    """What was run and on which clock, if the paper leaves it open; a paragraph of Markdown."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose claims are checked; each paper has one Markdown page."""

    name: str
    """The name as users write it: `a-greedy`."""
    reference: str
    experiments: Mapping[str, Experiment]
    """The experiments in the order of the paper, by short name: `figure-9`."""
    preface: str = ""
    """What applies to all experiments, in Markdown."""
