"""What the plan of a join should be best at. `thalweg.objective` is this module.

Without an objective, the plan that needs the least CPU time is chosen, among those whose memory is within `max_bytes`.

>>> from thalweg import objective
>>> objective.most_results(by="10 seconds")
most_results(by='10 seconds')
>>> objective.steady_rate()
steady_rate()
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, get_args

import numpy as np

from thalweg.errors import PlanError, nearest
from thalweg.plan.estimate import is_real
from thalweg.plan.joins.window import Length, check_length, length_of

__all__ = ["Objective", "balance", "first_results", "least_memory", "most_results", "steady_rate"]

Name = Literal["least_cpu", "most_results", "first_results", "steady_rate", "least_memory", "balance"]
LOCAL_RATE, LOCAL_TIME = "local_rate_maximization", "local_time_minimization"
_IN_TIME = (str, timedelta, np.timedelta64)
MOST_RESULTS = 10**18
MOST_WEIGHT = 1e15
_WITHOUT_NUMBERS = ("steady_rate", "least_memory")


@dataclass(frozen=True, repr=False)
class Objective:
    """What a plan should be best at; made by the functions of `thalweg.objective`."""

    name: Name
    by: Length | None = None
    results: int | None = None
    search: str | None = None
    """The heuristic that finds the plan; None: all plans are compared."""
    rate: float | None = None
    memory: float | None = None
    """The weights of the output rate and of memory."""

    @property
    def seconds(self) -> float:
        """The time of `by`, in seconds."""
        assert self.by is not None
        return length_of(self.by, "us", "by") / 1e6 if isinstance(self.by, _IN_TIME) else float(self.by)

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in ("by", "results", "search", "rate", "memory")}
        return f"{self.name}({', '.join(f'{n}={v!r}' for n, v in given.items() if v is not None)})"


LEAST_CPU = Objective("least_cpu")


def most_results(by: Length, search: str | None = None) -> Objective:
    """Return the objective to have as many results as possible by a time after the start.

    Parameters
    ----------
    by
        The time: ``"10 seconds"``, a timedelta, or a whole number if the times of the streams are whole numbers.
    search
        None (default) compares all plans. ``"local_rate_maximization"`` uses the heuristic of Viglas and Naughton
        (SIGMOD 2002), which finds a tree of joins of two inputs.

    Returns
    -------
    Objective

    Raises
    ------
    PlanError
        If the time is not above 0, or the search is unknown.

    Examples
    --------
    >>> import thalweg as tw
    >>> tw.objective.most_results(by="10 seconds")
    most_results(by='10 seconds')
    """
    check_length(by, "by")
    if (length_of(by, "us", "by") if isinstance(by, _IN_TIME) else by) <= 0:
        raise PlanError(f"most_results(by={by!r}): the time must be above 0, such as '10 seconds'")
    return Objective("most_results", by=by, search=_search("most_results", search, LOCAL_RATE))


def first_results(results: int, search: str | None = None) -> Objective:
    """Return the objective to have the first results as soon as possible.

    Parameters
    ----------
    results
        How many results, from 1 to 10^18.
    search
        None (default) compares all plans. ``"local_time_minimization"`` uses the heuristic of Viglas and Naughton
        (SIGMOD 2002), which finds a tree of joins of two inputs.

    Returns
    -------
    Objective

    Raises
    ------
    PlanError
        If `results` is not a whole number from 1 to 10^18, or the search is unknown.

    Examples
    --------
    >>> import thalweg as tw
    >>> tw.objective.first_results(1000)
    first_results(results=1000)
    """
    if isinstance(results, bool) or not isinstance(results, int) or not 1 <= results <= MOST_RESULTS:
        raise PlanError(f"first_results({results!r}): must be a whole number of results, from 1 to 10^18")
    return Objective("first_results", results=results, search=_search("first_results", search, LOCAL_TIME))


def steady_rate() -> Objective:
    """Return the objective to have as many results per second as possible once all windows are full.

    Returns
    -------
    Objective

    Examples
    --------
    >>> import thalweg as tw
    >>> tw.objective.steady_rate()
    steady_rate()
    """
    return Objective("steady_rate")


def least_memory() -> Objective:
    """Return the objective to need as little memory as possible.

    Returns
    -------
    Objective

    Examples
    --------
    >>> import thalweg as tw
    >>> tw.objective.least_memory()
    least_memory()
    """
    return Objective("least_memory")


def balance(rate: float, memory: float) -> Objective:
    """Return the objective to weigh the output rate against memory.

    The output rate of a plan is the one that its workers can sustain: results per second of CPU time. A plan is scored
    by the weighted mean of by how many times its output rate is lower, and its memory larger, than those of the best
    plan at each. This is the utility of OM (Kulkarni and Ravishankar), which adds the rate and the memory themselves,
    without their units.

    Parameters
    ----------
    rate
        The weight of the output rate, 0 or more.
    memory
        The weight of memory, 0 or more. Only the ratio of the two weights matters.

    Returns
    -------
    Objective

    Raises
    ------
    PlanError
        If a weight is negative, above 1e15 or not a number, or if both are 0.

    Examples
    --------
    >>> import thalweg as tw
    >>> tw.objective.balance(rate=0.4, memory=0.6)
    balance(rate=0.4, memory=0.6)
    """
    for name, weight in (("rate", rate), ("memory", memory)):
        if not is_real(weight) or not 0 <= weight <= MOST_WEIGHT:
            raise PlanError(
                f"balance({name}={weight!r}): a weight must be a number of at least 0 and at most {MOST_WEIGHT:g}, "
                "such as 0.5"
            )
    if not rate and not memory:
        raise PlanError("balance(rate=0, memory=0): one of the weights must be above 0")
    return Objective("balance", rate=float(rate), memory=float(memory))


def _search(objective: str, given: Any, name: str) -> str | None:
    if given is None or given == name:
        return name if given is not None else None
    raise PlanError(f"{objective}(search={given!r}): must be {name!r}, or left out to compare all plans")


def objective_of(given: Any) -> Objective:
    """Return the objective for the value of an argument `objective=`; None: the least CPU time."""
    if given is None:
        return LEAST_CPU
    if isinstance(given, Objective):
        return given
    if isinstance(given, str):
        if given in _WITHOUT_NUMBERS:
            return Objective(given)  # type: ignore[arg-type]
        if given in get_args(Name):
            example = {
                "most_results": "by='10 seconds'", "first_results": "1000", "balance": "rate=1, memory=1",
            }.get(given)  # fmt: skip
            if example is not None:
                raise PlanError(f"objective={given!r}: it needs a number; write tw.objective.{given}({example})")
            return LEAST_CPU
    names = (*_WITHOUT_NUMBERS, "most_results", "first_results", "balance")
    close = nearest(given, names) if isinstance(given, str) else ""
    raise PlanError(
        f"objective={given!r}: must be one of tw.objective.most_results(by=...), .first_results(n), .steady_rate(), "
        f".least_memory(), .balance(rate=..., memory=...), or the text 'steady_rate' or 'least_memory'{close}"
    )
