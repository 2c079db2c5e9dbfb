"""Settings of filters, joins and SQL: from the argument, `spark.thalweg.*`, `THALWEG_*` or the default, in this order.

`FROM_OUTSIDE` is the only table of the settings that Spark's configuration and the environment can set. An object uses
those among its `names()`, and reads them when it is applied to data. The settings of a policy are part of the policy's
text, as in `mesh(routes=4)`, and are defined only in the policy's file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from thalweg.adapt import POLICIES, Chosen, PolicyChoice, Settings, chosen, setting_names
from thalweg.adapt.policy_choice import check_names
from thalweg.adapt.policy_text import read_policy, shown
from thalweg.errors import PlanError, nearest, warn_user
from thalweg.given_path import given_path


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


def _policy(text: str) -> PolicyChoice:
    name, parenthesis, settings = text.strip().partition("(")
    return PolicyChoice(*read_policy(f"{name.lower()}{parenthesis}{settings}"))


def _nowhere(key: str) -> str | None:
    """Look up a key where no configuration is."""
    return None


FROM_OUTSIDE: dict[str, Callable[[str], Any]] = {
    "policy": _policy, "budget": float, "slice_rows": int, "seed": int, "events": str.strip, "redact": _boolean,
    "time_limit": float, "max_matches": int, "max_bytes": int,
}  # fmt: skip
"""The function that parses each setting from text. None of these settings changes the rows of a result."""
IN_CODE_ALONE = {
    "buckets": "a checkpoint depends on it",
    "plan": "it names the streams of one join",
    "objective": "it belongs to one join",
    "on_error": "it changes which rows a query returns",
    "max_ahead": "it can change which rows are late",
    "idle_after": "it can change which rows are late",
}
"""Arguments that can be set only in code, and why."""
REFUSED_OUTSIDE = {
    "on_error": "tw.filters(..., on_error='dead-letter') or s.query(..., on_error='dead-letter')",
    "max_ahead": "tw.join(..., max_ahead='1 hour') or s.query(..., max_ahead='1 hour')",
    "idle_after": "tw.join(..., idle_after='1 hour') or s.query(..., idle_after='1 hour')",
    "lateness": "tw.join(..., lateness='1 minute') or s.stream(..., lateness='1 minute')",
}
"""Settings that would change the rows of a result. Outside the code they are refused, not ignored; the value says where
to write them instead."""
_KINDS: dict[Callable[[str], Any], str] = {_boolean: "true or false", float: "a number", int: "a whole number"}
SPARK, VARIABLE = "spark.thalweg.", "THALWEG_"
OTHER_VARIABLES = frozenset({"THALWEG_DATA", "THALWEG_WRITE_GOLDEN"})
"""Environment variables of Thalweg that are not settings."""

AUTO = PolicyChoice("auto")
"""The default policy."""
BUDGET = "budget"
"""The setting that several policies have, and that is an argument of its own because `auto` has it."""
DEAD_LETTER = "dead-letter"
MOST_TIME_LIMIT_S = 1_000_000_000
"""The greatest `time_limit`, about 32 years; timers of the operating system end at 292 years."""
ON_ERROR = ("raise", DEAD_LETTER)


@dataclass(frozen=True, slots=True)
class AdaptSettings:
    """Settings that filters and joins share. They are checked on construction."""

    policy: PolicyChoice = AUTO
    """A policy with its settings."""
    budget: float | None = None
    """The share of the time that adapting may take, for policies with such a setting; None for the policy's own."""
    slice_rows: int | None = None
    """Rows per slice; the order can change only between slices. If None, `auto` starts with 16 rows (1,024 in joins)
    and the paper's policies with 1,024, and slices grow up to 16,384 rows. With too few rows, calls cost more than
    rows. With too many, the policy reacts late."""
    seed: int | None = None
    """The seed of the sample of profiled rows and of the salt of hashes in joins; it never changes the result. If None,
    a new seed is used each time. An attacker who knows the seed can choose keys that make a join slow."""
    events: str | os.PathLike[str] | None = None
    """The file for event records (JSON lines), written by the driver."""
    redact: bool = False
    """Whether errors (also those of rows set aside), reports and event records contain no value of a row, and no
    message of an exception, which may contain one. Only the types of exceptions are shown."""

    def __post_init__(self) -> None:
        if self.budget is not None:
            check_names(self.policy.kind, {BUDGET: self.budget})
            if BUDGET in self.policy.given:
                what = f"policy {self.policy.text!r} has a budget already"
                raise PlanError(f"{what}; leave budget={self.budget!r} out, or the policy's")
        _ = self.profile
        rows = self.slice_rows
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise PlanError(f"slice_rows={self.slice_rows!r}: must be a whole number of rows, 1 or more")
        if self.seed is not None and (isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0):
            raise PlanError(f"seed={self.seed!r}: must be a whole number, 0 or more, or None")
        if self.events is not None and not isinstance(self.events, (str, os.PathLike)):
            raise PlanError(f"events={self.events!r}: must be the path of a file")
        if self.events is not None and re.search("[\0\ud800-\udc7f\udd00-\udfff]", str(self.events)):
            raise PlanError(f"events={self.events!r}: a file name cannot contain a null character or a lone surrogate")
        if self.events is not None:
            object.__setattr__(self, "events", given_path(self.events))
        if not isinstance(self.redact, bool):
            raise PlanError(f"redact={self.redact!r}: must be True or False")

    @property
    def policy_name(self) -> str:
        """The name of the policy in reports, event records and `explain`."""
        return self.policy.name

    @property
    def profile(self) -> Settings | None:
        """All settings of the policy; None if it takes none."""
        settings = self.policy.settings
        return settings if settings is None or self.budget is None else replace(settings, **{BUDGET: self.budget})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the settings, as users write them.

        >>> AdaptSettings.names()
        ('policy', 'budget', 'slice_rows', 'seed', 'events', 'redact')
        """
        return tuple(each.name for each in fields(cls))

    @classmethod
    def in_force(cls, given: Mapping[str, Any], conf: Mapping[str, str] | None = None, *, look: bool = True) -> Self:
        """Return the settings that apply now: the arguments, then the configuration of the Spark session if there is
        one (`runtime/spark/session_settings.py`), then the environment. If `look` is true, warn once about each name
        that looks like a setting but is none.
        """
        conf = conf or {}
        if look:
            _warn_of_unknown_settings(conf)
        return cls.resolve(given, conf.get)

    @classmethod
    def resolve(
        cls,
        given: Mapping[str, Any],
        conf: Callable[[str], str | None] = _nowhere,
        environ: Mapping[str, str] = os.environ,
    ) -> Self:
        """Return the settings from the arguments that are not None, then Spark's configuration, then the environment.
        Only the value that wins is parsed and checked.

        >>> spark = {"spark.thalweg.policy": "sweep(p=0.02)", "spark.thalweg.seed": "7"}
        >>> settings = FilterSettings.resolve({"seed": 5, "policy": None}, spark.get)
        >>> settings.policy, settings.seed, settings.on_error
        (tw.policy('sweep', p=0.02), 5, 'raise')
        """
        names = cls.names()
        values: dict[str, Any] = {name: given[name] for name in names if name in given and name in IN_CODE_ALONE}
        sources: dict[str, str] = {}
        for name in names:
            if given.get(name) is not None:
                values[name] = chosen(given[name]) if name == "policy" else given[name]
                continue
            if name not in FROM_OUTSIDE:
                continue
            found = _outside(name, _spark_key, conf) or _outside(name, _variable, environ.get)
            if found is not None:
                where, text = found
                sources[name] = f"{where}={shown(text)}"
                values[name] = _parse(name, sources[name], text)
        _refuse_outside(conf, environ)
        if BUDGET in values and not _budget_applies(values.get("policy", AUTO), sources):
            del values[BUDGET]
        try:
            return cls(**values)
        except PlanError as error:
            # the message starts with the setting and its value; if it was set outside the code, name the place
            about = next((name for name in names if str(error).startswith(f"{name}=")), "policy")
            text = str(error)
            if BUDGET in sources and about == "policy":  # it names the budget too
                text = text.replace(f"{BUDGET}={values[BUDGET]!r}", sources[BUDGET])
            raise PlanError(f"{sources[about]}: {text}" if about in sources else text) from None


def _budget_applies(policy: PolicyChoice, outside: Mapping[str, str]) -> bool:
    """Whether a budget is for the policy in force. If one of the two is set `outside` the code, the budget may be for
    other policies, and a budget from outside gives way to one in code. Otherwise what contradicts is refused."""
    if BUDGET in outside and "policy" not in outside and BUDGET in policy.given:
        return False
    return BUDGET in setting_names(policy.kind) or not outside.keys() & {BUDGET, "policy"}


def policy_in_code(given: Mapping[str, Any]) -> Chosen:
    """Return the policy among arguments, or the default, whatever is set outside the code.

    >>> policy_in_code({"policy": "mesh(routes=4)"}), policy_in_code({"policy": None, "redact": True})
    ('mesh', 'auto')
    """
    policy = given.get("policy")
    return AUTO.kind if policy is None else chosen(policy).kind


@dataclass(frozen=True, slots=True)
class FilterSettings(AdaptSettings):
    """Settings of a filter chain."""

    on_error: str = "raise"
    """What happens to a row on which a predicate raises and which no other predicate drops: it fails the query
    (`raise`), or it is set aside (`dead-letter`)."""
    time_limit: float | None = None
    """Seconds a predicate may take per slice. If the limit is too low, the query fails on a busy machine."""

    def __post_init__(self) -> None:
        AdaptSettings.__post_init__(self)  # super() without arguments fails in dataclasses with slots
        if self.on_error not in ON_ERROR:
            near = nearest(str(self.on_error), ON_ERROR)
            raise PlanError(f"on_error={self.on_error!r}: must be 'raise' or 'dead-letter'{near}")
        limit = self.time_limit
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit <= MOST_TIME_LIMIT_S
        ):
            raise PlanError(
                f"time_limit={limit!r}: must be a number of seconds above 0 and at most {MOST_TIME_LIMIT_S:,}, or None "
                "for no limit"
            )

    @property
    def dead_letter(self) -> bool:
        """Whether failed rows are set aside."""
        return self.on_error == DEAD_LETTER


def _refuse_outside(conf: Callable[[str], str | None], environ: Mapping[str, str]) -> None:
    for name, instead in REFUSED_OUTSIDE.items():
        key, variable = f"{SPARK}{name}", f"{VARIABLE}{name.upper()}"
        for where, text in ((key, conf(key)), (variable, environ.get(variable))):
            if text is not None and text.strip():
                raise PlanError(
                    f"{where}={text!r}: {name} changes the rows of a result, so it can be set only in code; "
                    f"unset it, and write {instead}"
                )


def _spark_key(name: str) -> str:
    return f"{SPARK}{name}"


def _variable(name: str) -> str:
    return f"{VARIABLE}{name.upper()}"


def _outside(
    name: str, spelled: Callable[[str], str], look_up: Callable[[str], str | None]
) -> tuple[str, str] | None:  # fmt: skip
    """Return the key under which a setting is set in one place, and its text; None if it is not set there."""
    key = spelled(name)
    text = look_up(key)
    return (key, text) if text and text.strip() else None  # empty is unset


def _parse(name: str, where: str, text: str) -> Any:
    try:
        return FROM_OUTSIDE[name](text)
    except PlanError as error:
        raise PlanError(f"{where}: {error}") from None
    except (ValueError, KeyError):
        raise PlanError(f"{where}: {name} takes {_KINDS[FROM_OUTSIDE[name]]}") from None


def unknown_settings(conf: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return a sentence for each name outside the code that looks like a setting but is none, and would otherwise be
    ignored silently.

    >>> unknown_settings({"spark.thalweg.polcy": "static", "spark.app.id": "1"}, {"THALWEG_BUDGET": "0.1"})
    ["spark.thalweg.polcy is not a Thalweg setting and is ignored (did you mean 'spark.thalweg.policy'?)"]
    >>> unknown_settings({}, {"THALWEG_BUCKETS": "8"})
    ['THALWEG_BUCKETS is ignored: a checkpoint depends on it, so it can be set only in code, with buckets=']
    >>> unknown_settings({}, {"THALWEG_ROUTES": "4"})
    ['THALWEG_ROUTES is ignored: it is a setting of a policy; set THALWEG_POLICY to mesh(routes=4) instead']
    """
    sentences = []
    for prefix, spelled, found in ((SPARK, str.lower, conf), (VARIABLE, str.upper, environ)):
        known = [f"{prefix}{spelled(name)}" for name in FROM_OUTSIDE]
        for key in sorted(found):
            if not key.lower().startswith(prefix.lower()) or key in OTHER_VARIABLES or key in known:
                continue
            name = key[len(prefix) :].lower()
            if name in REFUSED_OUTSIDE:
                continue
            if name in IN_CODE_ALONE:
                reason = IN_CODE_ALONE[name]
                sentences.append(f"{key} is ignored: {reason}, so it can be set only in code, with {name}=")
            elif instead := _as_policies(name, found[key]):
                where = f"{prefix}{spelled('policy')}"
                sentences.append(f"{key} is ignored: it is a setting of a policy; set {where} to {instead} instead")
            else:
                near = nearest(prefix + spelled(name), known)
                sentences.append(f"{key} is not a Thalweg setting and is ignored{near}")
    return sentences


def _as_policies(name: str, value: str) -> str:
    """Return the policies that have a setting, each with this value, as `policy` is set to them; empty if none has it.
    The setting may be named with its policy: `eddy_batch`.

    >>> _as_policies("search", "sa"), _as_policies("chart_parts", "20"), _as_policies("routes", "many")
    ("mesh(search='sa')", 'chart(parts=20)', 'mesh(routes=...)')
    """
    found = []
    for policy in POLICIES:
        for setting in setting_names(policy):
            if name in (setting, f"{policy.replace('-', '_')}_{setting}"):
                texts = (f"{policy}({setting}={written})" for written in (value.strip(), repr(value.strip().lower())))
                found.append(next(filter(_is_policy, texts), f"{policy}({setting}=...)"))
    return " or ".join(found)


def _is_policy(text: str) -> bool:
    try:
        _policy(text)
    except PlanError:
        return False
    return True


_WARNED: set[str] = set()


def _warn_of_unknown_settings(conf: Mapping[str, str]) -> None:
    for sentence in unknown_settings(conf):
        if sentence not in _WARNED:
            _WARNED.add(sentence)
            warn_user(sentence)
