"""Numbers as estimates tell them."""

from __future__ import annotations


def few_digits(number: float) -> str:
    """Three, but all of a whole number.

    >>> few_digits(0.28571), few_digits(14.2857), few_digits(86_400)
    ('0.286', '14.3', '86,400')
    """
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


def percent(share: float) -> str:
    """Of one, with three digits.

    >>> percent(1 / 3), percent(1), percent(0.0002)
    ('33.3 %', '100 %', '0.02 %')
    """
    return f"{100 * share:.3g} %"
