"""A policy together with its settings, as users choose them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg.adapt.policy import Settings
from thalweg.adapt.policy_text import as_text, read_policy, shown
from thalweg.adapt.registry import Chosen, policy_class, policy_name, setting_names
from thalweg.errors import PlanError, nearest
from thalweg.formatting import listed
from thalweg.kernels.user_error import cause_of, error_text


@dataclass(frozen=True, slots=True, repr=False)
class PolicyChoice:
    """A policy and its settings, which are checked. Made with :func:`thalweg.policy`, or from text."""

    kind: Chosen
    """The name of a policy, or a user-defined class."""
    given: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The settings that were given, by name; the others have the policy's defaults."""
    settings: Settings | None = field(init=False, compare=False)
    """All settings of the policy. None: it takes none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", _settings(self.kind, self.given))

    @property
    def name(self) -> str:
        """The name in reports, event records and `explain`."""
        return policy_name(self.kind)

    @property
    def text(self) -> str:
        """The policy as it is written outside the code.

        >>> policy("mesh", routes=4).text, policy("auto").text
        ('mesh(routes=4)', 'auto')
        """
        return as_text(self.name, self.given)

    def __repr__(self) -> str:
        kind = repr(self.kind) if isinstance(self.kind, str) else self.kind.__name__
        return f"tw.policy({', '.join([kind, *(f'{name}={value!r}' for name, value in self.given.items())])})"


PolicyLike = Chosen | PolicyChoice
"""What users pass as `policy=`: a name, alone or with settings as in `mesh(routes=4)`; their own class; or what
:func:`thalweg.policy` returns."""


def policy(kind: Chosen, /, **settings: Any) -> PolicyChoice:
    """Return a policy with its settings, for ``policy=`` of filters, joins and queries.

    ``tw.policy("mesh", routes=4)`` is the same as the text ``"mesh(routes=4)"``, which can also be set outside the code
    (docs/settings.md).

    Parameters
    ----------
    kind
        The name of a policy, or your own class.
    settings
        Settings of the policy: those of docs/policies.md, or the fields of ``defaults`` of your own class.

    Returns
    -------
    PolicyChoice

    Raises
    ------
    PlanError
        If there is no such policy, or it has no such setting, or a value is not possible.

    Examples
    --------
    >>> import thalweg as tw
    >>> tw.policy("mesh", routes=4, search="sa").text
    "mesh(routes=4, search='sa')"
    >>> keep = tw.filters(tw.predicate(str.isdigit, "code"), policy=tw.policy("sweep", p=0.02))
    """
    return PolicyChoice(kind, settings)


def chosen(given: PolicyLike) -> PolicyChoice:
    """Return the policy that users chose as `policy=`, with its settings.

    >>> chosen("mesh(routes=4)") == policy("mesh", routes=4), chosen("auto").settings
    (True, BudgetSettings(budget=0.02))
    """
    if isinstance(given, PolicyChoice):
        return given
    if not isinstance(given, str):
        return PolicyChoice(given)
    try:
        name, settings = read_policy(given)
    except PlanError as error:
        raise PlanError(f"policy={shown(given)}: {error}") from None
    return PolicyChoice(name, settings)


def check_names(kind: Chosen, given: Mapping[str, Any]) -> None:
    """Raise a PlanError that lists the settings of a policy if one that is given is not among them."""
    names = setting_names(kind)
    for name, value in given.items():
        if name not in names:
            what = f"policy {policy_name(kind)!r} has no setting {name}={value!r}{nearest(name, names)}"
            raise PlanError(f"{what}; it {f'has {listed(names)}' if names else 'takes none'}")


def _settings(kind: Chosen, given: Mapping[str, Any]) -> Settings | None:
    """Return the settings with which a policy will run. Raise a PlanError for a name or value that is not possible."""
    check_names(kind, given)
    defaults: Settings | None = getattr(policy_class(kind), "defaults", None)
    if defaults is None:
        return None
    try:
        return replace(defaults, **given)
    except PlanError as error:
        raise PlanError(f"policy {policy_name(kind)!r}: {error}") from None
    except Exception as error:  # the dataclass of a user's own policy
        what = f"policy {policy_name(kind)!r} cannot have the settings {dict(given)!r}"
        raise PlanError(f"{what}: {error_text(error)}") from cause_of(error)
