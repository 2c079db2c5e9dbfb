"""Old public names that still work, with the names that replace them.

`RENAMED` is the only table of them: every DeprecationWarning is made from it. Event files and checkpoints that were
written with an old name are read without a warning, because nobody can edit them.

>>> current_name("policy", "written"), current_name("policy", "sweep")
('static', 'sweep')
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from thalweg.errors import PlanError

Kind = Literal["policy", "argument", "setting", "attribute", "method"]
"""A policy by its name; an argument of a function; a setting in Spark's configuration and in the environment; an
attribute of a query's plan; a method of `tw.Filters`."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """One public name that was replaced."""

    kind: Kind
    old: str
    new: str


RENAMED = (
    Renamed("policy", "written", "static"),
    Renamed("attribute", "plan.fingerprint", "plan.state"),
    Renamed("attribute", "query.fingerprint", "query.question"),
    # of tw.filters; the window of tw.join is another thing and is not passed to `current_arguments`
    Renamed("argument", "window", "profile_window"),
    Renamed("setting", "window", "profile_window"),
    Renamed("method", "errors", "failed"),
    Renamed("method", "errors_over", "failed_over"),
)


def current_name(kind: Kind, name: str) -> str:
    """The name in use today, without a warning."""
    return next((each.new for each in RENAMED if each.kind == kind and each.old == name), name)


def old_names(kind: Kind, name: str) -> tuple[str, ...]:
    """The names that stood for it before.

    >>> old_names("setting", "profile_window"), old_names("setting", "p")
    (('window',), ())
    """
    return tuple(each.old for each in RENAMED if each.kind == kind and each.new == name)


def current_policy(policy: Any, where: str = "policy=") -> Any:
    """A policy under the name in use today, with a warning if it was given by an old one. `where`: what is set."""
    if not isinstance(policy, str) or (new := current_name("policy", policy)) == policy:
        return policy
    warn_deprecated(f"{where}{policy!r}", f"{where}{new!r}")
    return new


def current_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments under the names in use today, with a warning for each that was given by an old one.

    >>> current_arguments({"window": None, "profile_window": 9, "p": None})
    {'profile_window': 9, 'p': None}
    """
    found = dict(given)
    for old in [name for name in found if current_name("argument", name) != name]:
        new, value = current_name("argument", old), found.pop(old)
        if value is None:
            continue
        if found.get(new) is not None:
            refuse_both(f"{old}=", f"{new}=")
        warn_deprecated(f"{old}=", f"{new}=")
        found[new] = value
    if "policy" in found:
        found["policy"] = current_policy(found["policy"])
    return found


def warn_renamed_attribute(old: str) -> None:
    """An attribute was read by its old name."""
    warn_deprecated(old, current_name("attribute", old))


def refuse_both(old: str, new: str) -> None:
    """One thing was given by two names."""
    raise PlanError(f"{old} and {new} are both set, and {old} is only the old name of {new}: remove {old}")


def warn_renamed_method(old: str) -> None:
    """A method was called by its old name."""
    warn_deprecated(f"Filters.{old}()", f"Filters.{current_name('method', old)}()")


def warn_deprecated(old: str, new: str) -> None:
    """Attributed to the first caller outside of Thalweg and PySpark, so that Python shows it where a user can act."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("thalweg", "pyspark"):
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{old} is deprecated: use {new}", DeprecationWarning, stacklevel=level)
