"""For tests of what you add to Thalweg: `assert_policy` checks a policy of your own, with or without a test framework.

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
    """Raise an AssertionError that says what is wrong, if a class is no policy that a loop can rely on.

    Parameters
    ----------
    policy
        The class, as it is given to ``policy=`` of :func:`thalweg.filters`.
    examples
        Of pipelines and of what a loop shows, drawn at random for each check. 40 take a few seconds.
    seed
        Of the first example. An error names the seed that shows it again.
    leaves_out
        What the policy's snapshots leave out on purpose: ``"trial"``, what is under way when one is taken, which begins
        anew; ``"spending"``, what profiling has cost so far, on which the `p` that it wants depends.
    """
    unknown = set(leaves_out) - {TRIAL, SPENDING}
    if unknown:
        raise PlanError(f"leaves_out={sorted(unknown)!r}: a snapshot may leave out {TRIAL!r} and {SPENDING!r}")
    for checks, times in ((MANY, examples), (ONCE, 1), (FEW, min(examples, 5))):
        for check in checks:
            for at in range(seed, seed + times):
                try:
                    check(Example(policy, at, tuple(leaves_out)))
                except AssertionError as error:
                    raise AssertionError(f"{error} (check {check.__name__}, seed={at})") from None
                except Exception as error:
                    said = error if isinstance(error, PlanError) else f"policy {policy_name(policy)!r} raised {error!r}"
                    raise AssertionError(f"{said} (check {check.__name__}, seed={at})") from error
