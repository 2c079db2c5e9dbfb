"""The settings of a filter chain, from the argument, `spark.thalweg.*`, `THALWEG_*` or the default, in this order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from thalweg.adapt import POLICIES, Settings, check_policy, takes
from thalweg.errors import PlanError, nearest


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


_TEXT: dict[str, Callable[[str], Any]] = {
    "policy": str, "p": float, "window": int, "alpha": float, "budget": float, "slice_rows": int, "seed": int,
    "events": str, "on_error": str, "redact": _boolean, "time_limit": float,
}  # fmt: skip
_KINDS: dict[Callable[[str], Any], str] = {_boolean: "true or false", float: "a number", int: "a whole number"}
SPARK, VARIABLE = "spark.thalweg.", "THALWEG_"
OTHER_VARIABLES = frozenset({"THALWEG_DATA", "THALWEG_WHOLE_CORPUS", "THALWEG_WRITE_GOLDEN"})
"""Of Thalweg's own, and no settings of filters."""

DEFAULT_POLICY = "auto"
OF_THE_PAPER = "a-greedy"
"""Who sets p, window or alpha and names no policy means this one."""
DEAD_LETTER = "dead-letter"
ON_ERROR = ("raise", DEAD_LETTER)


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """Few, and checked when made."""

    policy: str = DEFAULT_POLICY
    p: float | None = None
    """Share of dropped rows to profile; None: the policy's own (a-greedy, table 1)."""
    window: int | None = None
    """Profile tuples remembered; None: the policy's own."""
    alpha: float | None = None
    """Thrashing avoidance; None: the policy's own."""
    budget: float | None = None
    """For `auto`: the share of the time that adapting may take; None: 0.02. Too low: drift is followed late. Too high:
    calm data pays for what it does not need."""
    slice_rows: int | None = None
    """Rows between two looks at the order; None: about a thousand, more while the order stands. Too few: calls cost
    more than rows. Too many: it reacts late."""
    seed: int | None = None
    """For the sample of profiled rows; it never changes the answer. None: another one each time."""
    events: str | os.PathLike[str] | None = None
    """A file for event records (JSON lines), written by the driver."""
    on_error: str = "raise"
    """A row on which a predicate raises and which no other drops fails the query (`raise`), or is set aside
    (`dead-letter`)."""
    redact: bool = False
    """Errors and rows set aside tell no value of a row, nor a message, which may hold one: only types of exceptions."""
    time_limit: float | None = None
    """Seconds a predicate may take for a slice. Too few: a busy machine fails the query."""

    def __post_init__(self) -> None:
        _ = self.profile
        rows = self.slice_rows
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise PlanError(f"slice_rows={self.slice_rows!r}: must be a whole number of rows, 1 or more")
        if self.seed is not None and (isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0):
            raise PlanError(f"seed={self.seed!r}: must be a whole number, 0 or more, or None")
        if self.events is not None and not isinstance(self.events, (str, os.PathLike)):
            raise PlanError(f"events={self.events!r}: must be the path of a file")
        if self.on_error not in ON_ERROR:
            near = nearest(str(self.on_error), ON_ERROR)
            raise PlanError(f"on_error={self.on_error!r}: must be 'raise' or 'dead-letter'{near}")
        if not isinstance(self.redact, bool):
            raise PlanError(f"redact={self.redact!r}: must be True or False")
        limit = self.time_limit
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < float("inf")
        ):
            raise PlanError(f"time_limit={limit!r}: must be a number of seconds above 0, or None")

    @property
    def dead_letter(self) -> bool:
        """Whether rows that fail are set aside."""
        return self.on_error == DEAD_LETTER

    @property
    def profile(self) -> Settings | None:
        """The profiling settings the policy will run with; None when it does not profile."""
        return check_policy(self.policy, p=self.p, window=self.window, alpha=self.alpha, budget=self.budget)


NAMES = tuple(f.name for f in fields(FilterSettings))


def resolve(
    given: Mapping[str, Any],
    conf: Callable[[str], str | None] = lambda key: None,
    environ: Mapping[str, str] = os.environ,
) -> FilterSettings:
    """Settings from the arguments that are not None, then Spark's configuration, then the environment; only what
    wins is looked at.

    >>> spark = {"spark.thalweg.policy": "written", "spark.thalweg.p": "0.02"}
    >>> settings = resolve({"policy": "sweep", "p": None}, spark.get)
    >>> settings.policy, settings.p, settings.on_error
    ('sweep', 0.02, 'raise')
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for name in NAMES:
        key, variable = f"{SPARK}{name}", f"{VARIABLE}{name.upper()}"
        if given.get(name) is not None:
            values[name] = given[name]
            continue
        for where, text in ((key, conf(key)), (variable, environ.get(variable))):
            if text is not None and text.strip():  # empty is unset
                sources[name] = f"{where}={text!r}"
                values[name] = _parse(name, sources[name], text)
                break
    arguments = {name for name in given if given[name] is not None}
    paper = {"p", "window", "alpha"} & values.keys()
    if "policy" not in values and (paper & arguments or (paper and "budget" not in arguments)):
        values["policy"] = OF_THE_PAPER
    policy = values.get("policy", DEFAULT_POLICY)
    if policy in POLICIES:
        # Whoever names a policy outside need not undo what the code says about profiling, nor the reverse; only who
        # contradicts himself in one call is told so.
        here = arguments if "policy" not in sources else set()
        unwanted = {"p", "window", "alpha", "budget"} - set(takes(policy)) - here
        values = {k: v for k, v in values.items() if k not in unwanted}
    try:
        return FilterSettings(**values)
    except PlanError as error:
        # the message begins with the setting and its value; who set it from outside must be told where
        about = next((name for name in NAMES if str(error).startswith(f"{name}=")), "policy")
        raise PlanError(f"{sources[about]}: {error}" if about in sources else str(error)) from None


def _parse(name: str, where: str, text: str) -> Any:
    try:
        return _TEXT[name](text)
    except (ValueError, KeyError):
        raise PlanError(f"{where}: {name} takes {_KINDS[_TEXT[name]]}") from None


def unknown_settings(keys: Iterable[str], environ: Mapping[str, str] = os.environ) -> list[str]:
    """Sentences about what looks like a setting and is none: it would be ignored without a word.

    >>> unknown_settings(["spark.thalweg.polcy", "spark.app.id"], {"THALWEG_BUDGET": "0.1"})
    ["spark.thalweg.polcy is no setting of Thalweg and is ignored (did you mean 'spark.thalweg.policy'?)"]
    """
    told = []
    for prefix, names, found in (
        (SPARK, NAMES, keys),
        (VARIABLE, [name.upper() for name in NAMES], environ),
    ):
        known = [f"{prefix}{name}" for name in names]
        told += [
            f"{key} is no setting of Thalweg and is ignored{nearest(key, known)}"
            for key in sorted(found)
            if key.startswith(prefix) and key not in known and key not in OTHER_VARIABLES
        ]
    return told
