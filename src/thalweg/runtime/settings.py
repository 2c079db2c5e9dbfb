"""Settings of filters, joins and SQL: from the argument, `spark.thalweg.*`, `THALWEG_*` or the default, in this order.

`FROM_OUTSIDE` is the only table of the settings that Spark's configuration and the environment can set. An object uses
those among its `names()`, and reads them when it is applied to data. The settings of a policy are defined only in the
policy's file (`thalweg.adapt.SETTINGS` collects them); this module reads them and passes them on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, fields
from typing import Any, Self

from thalweg.adapt import POLICIES, SETTINGS, Chosen, Settings, check_policy, policy_name, takes
from thalweg.errors import PlanError, nearest, warn_user
from thalweg.given_path import given_path


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


def _word(text: str) -> str:
    return text.strip().lower()


def _nowhere(key: str) -> str | None:
    """Look up a key where no configuration is."""
    return None


FROM_OUTSIDE: dict[str, Callable[[str], Any]] = {
    "policy": _word, **{name: {bool: _boolean, str: _word}.get(kind, kind) for name, kind in SETTINGS.items()},
    "slice_rows": int, "seed": int, "events": str.strip, "redact": _boolean, "time_limit": float,
    "max_matches": int, "max_bytes": int,
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

DEFAULT_POLICY = "auto"
OF_OTHERS = ("chart", "mesh", "eddy")
"""The policies that are used if only settings are set that no other policy takes."""
OF_THE_PAPER = "a-greedy"
"""The policy that is used if one of its settings is given and no policy is named."""
DEAD_LETTER = "dead-letter"
MOST_TIME_LIMIT_S = 1_000_000_000
"""The greatest `time_limit`, about 32 years; timers of the operating system end at 292 years."""
ON_ERROR = ("raise", DEAD_LETTER)


def _implied(names: Set[str], arguments: Set[str]) -> dict[str, str]:
    """Return the policy that settings imply if none is named. `arguments`: those of them that are given in code."""
    paper, budget = set(takes(OF_THE_PAPER)), {"budget"}
    others = {policy: set(takes(policy)) - budget for policy in OF_OTHERS}
    if paper & arguments or (paper & names and not set().union(budget, *others.values()) & arguments):
        return {"policy": OF_THE_PAPER}
    for within in (arguments, names):
        for policy, own in others.items():
            if own & within:
                return {"policy": policy}
    return {}


@dataclass(frozen=True, slots=True)
class AdaptSettings:
    """Settings that filters and joins share. They are checked on construction."""

    policy: Chosen = DEFAULT_POLICY
    """The name of a policy, or a user-defined class; outside the code only a name."""
    of_policy: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the policy that differ from its defaults, by name."""
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
        return policy_name(self.policy)

    @property
    def profile(self) -> Settings | None:
        """The profiling settings the policy will run with; None if it does not profile."""
        return check_policy(self.policy, **self.of_policy)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the settings, as users write them.

        >>> AdaptSettings.names()  # doctest: +NORMALIZE_WHITESPACE
        ('policy', 'budget', 'p', 'profile_window', 'alpha', 'chart_parts', 'chart_rounds', 'chart_decay',
         'chart_threshold', 'routes', 'search', 'search_from', 'eddy_batch', 'slice_rows', 'seed', 'events', 'redact')
        """
        return tuple(
            name for f in fields(cls) for name in ((f.name,) if f.name != "of_policy" else SETTINGS)
        )  # fmt: skip

    @classmethod
    def in_force(cls, given: Mapping[str, Any], spark: Any = None, *, look: bool = True) -> Self:
        """Return the settings that apply now: the arguments, then the configuration of the Spark session if there is
        one, then the environment. If `look` is true, warn once about each name that looks like a setting but is none,
        and about each setting of a policy that the policy in force does not take.
        """
        if look:
            _warn_of_unknown_settings(spark)
        conf = _nowhere if spark is None else _configuration(spark)
        return cls.resolve(given, conf, ignored=_warn_of_ignored if look else None)

    @classmethod
    def resolve(
        cls,
        given: Mapping[str, Any],
        conf: Callable[[str], str | None] = _nowhere,
        environ: Mapping[str, str] = os.environ,
        ignored: Callable[[str, str, Chosen], None] | None = None,
    ) -> Self:
        """Return the settings from the arguments that are not None, then Spark's configuration, then the environment.
        Only the value that wins is parsed and checked. `ignored` is called for each setting from outside the code that
        the policy does not take, with its name, its place and value, and the policy.

        >>> spark = {"spark.thalweg.policy": "static", "spark.thalweg.p": "0.02"}
        >>> settings = FilterSettings.resolve({"policy": "sweep", "p": None}, spark.get)
        >>> settings.policy, settings.of_policy, settings.on_error
        ('sweep', {'p': 0.02}, 'raise')
        """
        names = cls.names()
        values: dict[str, Any] = {name: given[name] for name in names if name in given and name in IN_CODE_ALONE}
        sources: dict[str, str] = {}
        for name in names:
            if given.get(name) is not None:
                values[name] = given[name]
                continue
            if name not in FROM_OUTSIDE:
                continue
            found = _outside(name, _spark_key, conf) or _outside(name, _variable, environ.get)
            if found is not None:
                where, text = found
                sources[name] = f"{where}={text!r}"
                values[name] = _parse(name, sources[name], text)
        _refuse_outside(conf, environ)
        arguments = {name for name in given if given[name] is not None}
        if "policy" not in values:
            values |= _implied(values.keys(), arguments)
        try:
            # A policy that is set outside the code may go with profiling settings in code, and the reverse. Only
            # arguments of one call that contradict each other are refused.
            here = arguments if "policy" not in sources else set()
            wanted = {*takes(values.get("policy", DEFAULT_POLICY)), *here}
            of_policy = {name: values.pop(name) for name in SETTINGS if name in values}
            left_out = [name for name in of_policy if name not in wanted and name in sources]
            of_policy = {name: value for name, value in of_policy.items() if name in wanted}
            made = cls(**values, of_policy=of_policy)
        except PlanError as error:
            # the message starts with the setting and its value; if it was set outside the code, name the place
            about = next((name for name in names if str(error).startswith(f"{name}=")), "policy")
            raise PlanError(f"{sources[about]}: {error}" if about in sources else str(error)) from None
        if ignored is not None:
            for name in left_out:
                ignored(name, sources[name], made.policy)
        return made


def policy_in_code(given: Mapping[str, Any]) -> Chosen:
    """Return the policy that arguments set or imply, or the default, whatever is set outside the code.

    >>> policy_in_code({"routes": 4, "policy": None}), policy_in_code({"redact": True})
    ('mesh', 'auto')
    """
    return AdaptSettings.resolve(given, environ={}).policy


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


def _configuration(spark: Any) -> Callable[[str], str | None]:
    """Return a function that looks up a key in the configuration of a Spark session. With Spark Connect every lookup is
    a call to the server, so the whole configuration is fetched at once."""
    if not hasattr(spark, "_jvm") and hasattr(spark.conf, "getAll"):
        found: Mapping[str, str] = spark.conf.getAll
        return found.get
    return lambda key: spark.conf.get(key, None)


def _names_in(conf: Any) -> Iterable[str]:
    """Return the names in a session's configuration that start with `spark.thalweg.`. Classic Spark is asked for all
    names in one call, because one call per name would take tens of milliseconds."""
    if hasattr(conf, "_jconf"):
        return re.findall(r"(?i)\bspark\.thalweg\.[^\s,\]]+", conf._jconf.getAllAsJava().keySet().toString())
    return getattr(conf, "getAll", ())  # not every session can list its configuration


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
    except (ValueError, KeyError):
        raise PlanError(f"{where}: {name} takes {_KINDS[FROM_OUTSIDE[name]]}") from None


def unknown_settings(keys: Iterable[str], environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return a sentence for each name outside the code that looks like a setting but is none, and would otherwise be
    ignored silently.

    >>> unknown_settings(["spark.thalweg.polcy", "spark.app.id"], {"THALWEG_BUDGET": "0.1"})
    ["spark.thalweg.polcy is not a Thalweg setting and is ignored (did you mean 'spark.thalweg.policy'?)"]
    >>> unknown_settings([], {"THALWEG_BUCKETS": "8"})
    ['THALWEG_BUCKETS is ignored: a checkpoint depends on it, so it can be set only in code, with buckets=']
    """
    sentences = []
    for prefix, spelled, found in ((SPARK, str.lower, keys), (VARIABLE, str.upper, environ)):
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
            else:
                near = nearest(prefix + spelled(name), known)
                sentences.append(f"{key} is not a Thalweg setting and is ignored{near}")
    return sentences


_WARNED: set[str] = set()


def _warn_of_unknown_settings(spark: Any) -> None:
    keys = () if spark is None else _names_in(spark.conf)
    for sentence in unknown_settings(keys):
        if sentence not in _WARNED:
            _WARNED.add(sentence)
            warn_user(sentence)


def _warn_of_ignored(name: str, where: str, policy: Chosen) -> None:
    """Warn once per process about a setting that a policy does not take. It is no error, so that an operator can choose
    a policy for a job whose environment has settings of another."""
    sentence = (
        f"{where} is ignored, because policy {policy_name(policy)!r} does not take {name}; unset it, or choose a "
        f"policy that takes it: {', '.join(each for each in POLICIES if name in takes(each))}"
    )
    if sentence not in _WARNED:
        _WARNED.add(sentence)
        warn_user(sentence)
