"""Shows a value of a row in an error, whatever the value is.

>>> shown(pa.scalar("a key")), shown(pa.scalar(2**62, pa.timestamp("us")))
("'a key'", '4,611,686,018,427,387,904 µs after 1970')
"""

from __future__ import annotations

import pyarrow as pa

MOST_CHARACTERS = 200
"""The most characters of a value that an error shows."""
_UNITS = {"s": "s", "ms": "ms", "us": "µs", "ns": "ns", "day": "days"}


def shown(value: pa.Scalar, most: int = MOST_CHARACTERS) -> str:
    """Return a value as text of about `most` characters. Python has no value for times beyond the year 9999, nor for
    text that is not UTF-8, which Arrow does not check."""
    try:
        return cut(repr(value.as_py()), most)
    except Exception:
        return cut(_beyond_python(value), most)


def cut(text: str, most: int) -> str:
    """Shorten a text to about `most` characters.

    >>> cut("abcdefgh", 5)
    'abcde... (8 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def _beyond_python(value: pa.Scalar) -> str:
    kind = value.type
    if pa.types.is_temporal(kind):
        unit = _UNITS[getattr(kind, "unit", "day")]
        return f"{value.value:,} {unit}{'' if pa.types.is_duration(kind) else ' after 1970'}"
    if isinstance(value, pa.StringScalar):
        return repr(value.as_buffer().to_pybytes())
    try:
        return " ".join(str(pa.array([value], kind)).split())  # as Arrow prints it, in one line
    except Exception:
        return f"a {kind} that cannot be shown"
