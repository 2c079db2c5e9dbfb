"""Sizes as people read them, the same in errors, explanations and reports.

>>> size(0), size(500), size(1_234), size(999_999), size(3_450_000_000)
('0 bytes', '500 bytes', '1.2 kB', '1.0 MB', '3.5 GB')
"""

from __future__ import annotations

_UNITS = (("kB", 10**3), ("MB", 10**6), ("GB", 10**9))


def size(count: int) -> str:
    """Bytes, in the unit that leaves one to three digits before the point; what is beyond has more of them.

    >>> size(1), size(999), size(1_000), size(999_949), size(999_950), size(10**15)
    ('1 byte', '999 bytes', '1.0 kB', '999.9 kB', '1.0 MB', '1,000,000.0 GB')
    """
    if count < 1000:
        return f"{count} {'byte' if count == 1 else 'bytes'}"
    unit, per = next((named for named in _UNITS if round(count / named[1], 1) < 1000), _UNITS[-1])
    return f"{count / per:,.1f} {unit}"
