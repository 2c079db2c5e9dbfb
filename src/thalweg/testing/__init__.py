"""Checks for code that extends Thalweg: `assert_policy` checks your own policy, with or without a test framework.

>>> from thalweg.adapt.sweep import Sweep
>>> assert_policy(Sweep, examples=2, leaves_out=["trial"])
"""

from __future__ import annotations

from collections.abc import Collection

from thalweg.adapt import Chosen, policy_name
from thalweg.errors import PlanError
from thalweg.testing.policy_checks import FEW, MANY, ONCE, SPENDING, TRIAL, Example

__all__ = ["assert_policy"]


def assert_policy(
    policy: Chosen, *, examples: int = 40, seed: int = 0, leaves_out: Collection[str] = ()
) -> None:  # fmt: skip
    """Check that a loop can rely on a policy class. The error says what is wrong.

    Parameters
    ----------
    policy
        The class, as it is passed to ``policy=`` of :func:`thalweg.filters`.
    examples
        The number of random examples per check, each with a pipeline and observations. 40 take a few seconds.
    seed
        The seed of the first example. An error names the seed that reproduces it.
    leaves_out
        What the policy's snapshots leave out on purpose. ``"trial"``: work in progress, which starts again after a
        restore. ``"spending"``: what profiling has cost so far, on which the requested `p` depends.

    Raises
    ------
    AssertionError
        If a check fails.
    PlanError
        If `leaves_out` contains anything else.

    Examples
    --------
    >>> from thalweg.adapt.sweep import Sweep
    >>> from thalweg.testing import assert_policy
    >>> assert_policy(Sweep, examples=2, leaves_out=["trial"])
    """
    unknown = set(leaves_out) - {TRIAL, SPENDING}
    if unknown:
        raise PlanError(f"leaves_out={sorted(unknown)!r}: only {TRIAL!r} and {SPENDING!r} are allowed")
    for checks, times in ((MANY, examples), (ONCE, 1), (FEW, min(examples, 5))):
        for check in checks:
            for at in range(seed, seed + times):
                try:
                    check(Example(policy, at, tuple(leaves_out)))
                except AssertionError as error:
                    raise AssertionError(f"{error} (check {check.__name__}, seed={at})") from None
                except Exception as error:
                    what = error if isinstance(error, PlanError) else f"policy {policy_name(policy)!r} raised {error!r}"
                    raise AssertionError(f"{what} (check {check.__name__}, seed={at})") from error
