"""Old public names that still work, with the names that replace them.

`RENAMED` is the only table of them: every DeprecationWarning is made from it. Event files and checkpoints that were
written with an old name are read without a warning, because the names in them cannot be changed afterwards.

>>> current_name("policy", "written"), current_name("policy", "sweep")
('static', 'sweep')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from thalweg.errors import PlanError, warn_user

Kind = Literal["policy", "argument", "setting", "attribute", "method", "class"]
"""What was renamed: a policy; an argument of a function; a setting in Spark's configuration and in the environment; an
attribute of a query's plan; a method of `tw.Filters`; a class of `thalweg.adapt`."""


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
    # only for tw.filters: the `window` of tw.join is a different argument and is not passed to `current_arguments`
    Renamed("argument", "window", "profile_window"),
    Renamed("setting", "window", "profile_window"),
    Renamed("method", "errors", "failed"),
    Renamed("method", "errors_over", "failed_over"),
    Renamed("class", "Seen", "Observation"),
    Renamed("class", "Wants", "ProfilingRequest"),
)


def current_name(kind: Kind, name: str) -> str:
    """Return the current name, without a warning."""
    return next((each.new for each in RENAMED if each.kind == kind and each.old == name), name)


def old_names(kind: Kind, name: str) -> tuple[str, ...]:
    """Return the old names of a current name.

    >>> old_names("setting", "profile_window"), old_names("setting", "p")
    (('window',), ())
    """
    return tuple(each.old for each in RENAMED if each.kind == kind and each.new == name)


def current_policy(policy: Any, where: str = "policy=") -> Any:
    """Return a policy under its current name, with a warning if it was given by an old one. `where`: what is set."""
    if not isinstance(policy, str) or (new := current_name("policy", policy)) == policy:
        return policy
    warn_deprecated(f"{where}{policy!r}", f"{where}{new!r}")
    return new


def current_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments under their current names, with a warning for each that was given by an old one.

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
    """Warn that an attribute was read by its old name."""
    warn_deprecated(old, current_name("attribute", old))


def refuse_both(old: str, new: str) -> None:
    """Raise an error, because one setting was given by its old and its new name."""
    raise PlanError(f"{old} and {new} are both set, and {old} is only the old name of {new}: remove {old}")


def warn_renamed_method(old: str) -> None:
    """Warn that a method was called by its old name."""
    warn_deprecated(f"Filters.{old}()", f"Filters.{current_name('method', old)}()")


def renamed_class(module: str, old: str) -> str:
    """Return the current name of a class that was looked up by its old name in a module, with a warning.

    Raises an AttributeError if the class never existed.
    """
    new = current_name("class", old)
    if new == old:
        raise AttributeError(f"module {module!r} has no attribute {old!r}")
    warn_deprecated(f"{module}.{old}", f"{module}.{new}")
    return new


def warn_deprecated(old: str, new: str) -> None:
    """Issue a DeprecationWarning for the line of the user's code that has the old name."""
    warn_user(f"{old} is deprecated: use {new}", DeprecationWarning)
